"""Reading GitHub Copilot CLI: `--output-format json` lines. Its plain text: `copilot_text.py`.

Only the last line, `result`, has the session (copilot/1.0.102/start-json): of a run that was killed nothing names it.
Text mode tells it on stderr, below its statistics (copilot/1.0.102/start-text), with `--silent` not at all.
"""

from __future__ import annotations

import re

from git_agent_extractors.copilot_text import ERRORS, HINT, NETWORK, Statistics
from git_agent_extractors.model import Event
from git_agent_extractors.profile import (
    FAILED,
    NO_DATA,
    NOTHING,
    UUID,
    Events,
    Handler,
    Ignored,
    Object,
    Profile,
    by_code,
    end,
    failure,
    gist,
    numbers,
    refused,
    table,
    text,
)


def _of_subagent(obj: Object) -> bool:
    """`agentId` is in the events of sub-agents only: their answer comes as the tool's result."""
    return obj.get("agentId") is not None


def _message(obj: Object) -> Events:
    words = text(table(obj, "data"), "content")
    return (Event("message", words),) if words and not _of_subagent(obj) else NOTHING


def _reasoning(obj: Object) -> Events:
    words = text(table(obj, "data"), "content")
    return (Event("reasoning", words),) if words and not _of_subagent(obj) else NOTHING


def _tool_call(obj: Object) -> Events:
    data = table(obj, "data")
    return NOTHING if _of_subagent(obj) else (Event("tool_call", gist(data.get("arguments")), text(data, "toolName")),)


def _tool_result(obj: Object) -> Events:
    data = table(obj, "data")
    if _of_subagent(obj):
        return NOTHING
    words = text(table(data, "result"), "content") or text(table(data, "error"), "message")
    # A command that ran is a success to copilot, whatever it exited with (copilot/1.0.102/tools).
    failed = data.get("success") is False or table(data, "shellExecution").get("exitCode") not in (None, 0)
    result = Event("tool_result", words, data=FAILED if failed else NO_DATA)
    # copilot/1.0.102/start-json-tool-noallow
    return (result, refused()) if text(table(data, "error"), "code") == "denied" else (result,)


def _call(obj: Object) -> Events:
    return NOTHING if _of_subagent(obj) else (Event("usage", data={"model": text(table(obj, "data"), "model")}),)


def _failed(words: str, code: object, *, fatal: bool = True) -> Events:
    status = "network" if NETWORK.match(words.lstrip('"')) else by_code(code)
    return (failure(words, status, fatal=fatal),)


def _call_failure(obj: Object) -> Events:
    """copilot may try again; `session.error` is its last word."""
    data = table(obj, "data")
    return _failed(text(data, "errorMessage"), data.get("statusCode"), fatal=False)


def _error(obj: Object) -> Events:
    data = table(obj, "data")
    return _failed(text(data, "message"), data.get("statusCode"))


def _warning(obj: Object) -> Events:
    return (failure(text(table(obj, "data"), "message"), fatal=False),)


def _tokens(obj: Object) -> Events:
    """Of one call of the model; in the schema of 1.0.102, not seen with a model server of one's own."""
    names = {
        "input_tokens": "inputTokens",
        "output_tokens": "outputTokens",
        "cache_read_input_tokens": "cacheReadTokens",
    }
    return (Event("usage", data=numbers(table(obj, "data"), names)),)


def _abort(obj: Object) -> Events:
    return NOTHING if _of_subagent(obj) else (end("interrupted"),)


def _result(obj: Object) -> Events:
    """A failure was reported by `session.error` before, a Ctrl-C by `abort`: after that it says 0."""
    usage = Event("usage", data=numbers(table(obj, "usage"), {"premium_requests": "premiumRequests"}))
    return (usage, end("completed")) if obj.get("exitCode") == 0 else (usage,)


_PIECE = Ignored("a piece of what follows whole")
_STATE = Ignored("the state of copilot itself")
_AGENT = Ignored("a sub-agent's doing: the tool call that starts it is reported, and its result")
_ASKED = Ignored("a question that nobody is there to answer: the tool's result says so")

# The types of the schema that 1.0.102 unpacks (session-events.schema.json), as far as a prompt can lead to them.
KINDS: dict[str, Handler] = {
    "assistant.message": _message,
    "assistant.reasoning": _reasoning,
    "assistant.usage": _tokens,
    "tool.execution_start": _tool_call,
    "tool.execution_complete": _tool_result,
    "model.call_start": _call,
    "model.call_failure": _call_failure,
    "session.error": _error,
    "session.warning": _warning,
    "abort": _abort,
    "result": _result,
    "user.message": Ignored("the prompt, echoed"),
    "assistant.message_start": _PIECE,
    "assistant.message_delta": _PIECE,
    "assistant.reasoning_delta": _PIECE,
    "assistant.streaming_delta": _PIECE,
    "assistant.tool_call_delta": _PIECE,
    "tool.shell_output": _PIECE,
    "tool.execution_partial_result": _PIECE,
    "tool.execution_progress": _PIECE,
    "assistant.intent": Ignored("what the model said it is about, for a line of the screen"),
    "assistant.turn_start": Ignored("reports nothing about the turn"),
    "assistant.turn_end": Ignored("reports nothing about the turn"),
    "assistant.turn_retry": Ignored("the failed call is reported"),
    "assistant.idle": _STATE,
    "model.call_finished": Ignored("a failure is reported by model.call_failure"),
    "model.call_final_result": Ignored("a failure is reported by session.error"),
    "agent.interrupted": Ignored("reported by abort"),
    "assistant.server_tool_progress": _PIECE,
    "session.info": Ignored("a line for the screen: what went wrong has events of its own"),
    "session.idle": _STATE,
    "session.background_tasks_changed": _STATE,
    "session.skills_loaded": _STATE,
    "session.mcp_servers_loaded": _STATE,
    "session.mcp_server_status_changed": _STATE,
    "session.mcp_server_tools_loaded": _STATE,
    "session.custom_agents_updated": _STATE,
    "session.tools_updated": _STATE,
    "session.todos_changed": _STATE,
    "session.plan_changed": _STATE,
    "session.mode_changed": _STATE,
    "session.model_change": _STATE,
    "session.permissions_changed": _STATE,
    "session.mode_notice_delivered": _STATE,
    "session.context_changed": _STATE,
    "session.autopilot_stopped": _STATE,
    "session.autopilot_objective_changed": _STATE,
    "session.permission_recovery": _STATE,
    "session.completion_receipt": _STATE,
    "session.auto_mode_resolved": _STATE,
    "session.model_deselected": _STATE,
    "session.memory_changed": _STATE,
    "session.quota_observation": _STATE,
    "session.extensions_loaded": _STATE,
    "session.indexed_search": _STATE,
    "session.managed_settings_resolved": _STATE,
    "session.managed_settings_enforced": _STATE,
    "session.mcp_server_removed": _STATE,
    "session.mcp_server_needs_reconnect": _STATE,
    "mcp.tools.list_changed": _STATE,
    "mcp.prompts.list_changed": _STATE,
    "mcp.resources.list_changed": _STATE,
    "capabilities.changed": _STATE,
    "commands.changed": _STATE,
    "pending_messages.modified": _STATE,
    "prompt_cache_break": _STATE,
    "tool_search.activated": _STATE,
    "session.title_changed": Ignored("for the list of sessions"),
    "session.usage_info": Ignored("how full the context is"),
    "session.usage_checkpoint": Ignored("the sum of what assistant.usage reports"),
    "session.compaction_start": Ignored("the conversation was shortened: no message of it"),
    "session.compaction_complete": Ignored("the conversation was shortened: no message of it"),
    "session.truncation": Ignored("the conversation was shortened: no message of it"),
    "session.workspace_file_changed": Ignored("the tool that changed it is reported"),
    "session.task_complete": Ignored("its summary is the answer again"),
    "session.shutdown": Ignored("numbers of the whole session"),
    "hook.start": Ignored("of the person's own hooks"),
    "hook.progress": Ignored("of the person's own hooks"),
    "hook.end": Ignored("of the person's own hooks, whose output may hold anything"),
    "skill.invoked": Ignored("the text of a skill, which the model is given"),
    "skill.context_delivered": Ignored("the text of a skill, which the model is given"),
    "system.message": Ignored("copilot's own instructions to the model"),
    "system.notification": Ignored("copilot's message to the model: a task in the background ended"),
    "subagent.started": _AGENT,
    "subagent.configured": _AGENT,
    "subagent.selected": _AGENT,
    "subagent.deselected": _AGENT,
    "subagent.completed": _AGENT,
    "subagent.failed": _AGENT,
    "permission.requested": _ASKED,
    "permission.completed": _ASKED,
    "user_input.requested": _ASKED,
    "user_input.completed": _ASKED,
    "elicitation.requested": _ASKED,
    "elicitation.completed": _ASKED,
    "exit_plan_mode.requested": _ASKED,
    "exit_plan_mode.completed": _ASKED,
    "auto_mode_switch.requested": _ASKED,
    "auto_mode_switch.completed": _ASKED,
    "session_limits_exhausted.requested": _ASKED,
    "session_limits_exhausted.completed": _ASKED,
}


def _session(obj: Object, _first: bool) -> object:
    return obj.get("sessionId") if obj.get("type") == "result" and "exitCode" in obj else None


PROFILE = Profile(
    name="copilot",
    field="sessionId",
    id_pattern=re.compile(UUID),
    kinds=KINDS,
    untyped=lambda _: None,
    session=_session,
    model=lambda _: None,
    reader=Statistics,
    errors=ERRORS,
    exits={},
    needle=b'"sessionId"',
    hint=HINT,
    usage_adds=True,
    closing=lambda obj: obj.get("type") == "result",
    blocks_on=("stderr",),
)
