"""Reading Claude Code: stream-json, json (an object, or an array of the events), and the hint of its terminal form.

Every event carries `session_id`, but those of session-start hooks may carry a throw-away one
(claude/2.1.332/25f-resume-by-name) and a resume that found nothing a fresh random one
(claude/2.1.76/resume-unknown-stream-json).
"""

from __future__ import annotations

import re

from git_agent_extractors.claude_items import ASKED, SYNTHETIC, tool_result
from git_agent_extractors.model import Event, Status
from git_agent_extractors.profile import (
    NOTHING,
    UUID,
    ErrorRule,
    Events,
    Handler,
    Hint,
    Ignored,
    NoText,
    Object,
    Profile,
    Quick,
    answer,
    by_code,
    classify,
    end,
    failure,
    gist,
    numbers,
    refused,
    spoken,
    table,
    text,
)

_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_input_tokens",
    "cache_creation_input_tokens": "cache_creation_input_tokens",
}
_GONE = re.compile(r"No conversation found|.*requires a valid session ID")


def blocks(message: Object) -> list[Object]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def of_block(block: Object) -> Event | None:
    kind = text(block, "type")
    if kind == "text":
        return Event("message", text(block, "text"))
    if kind == "thinking":
        return Event("reasoning", text(block, "thinking"))
    if kind in {"tool_use", "server_tool_use"}:
        return Event("tool_call", gist(block.get("input")), text(block, "name"))
    if kind in {"redacted_thinking", "image"}:
        return None
    return Event("unknown", name=f"assistant/{kind}", data=block)


def _assistant(obj: Object) -> Events:
    if obj.get("parent_tool_use_id") is not None:
        return NOTHING  # a sub-agent's words are its own; its answer comes as the tool's result
    message = table(obj, "message")
    if message.get("model") == SYNTHETIC:
        words = "\n".join(text(block, "text") for block in blocks(message))
        return (failure(words, by_code(obj.get("api_error_status")), fatal=False),)
    return [event for block in blocks(message) if (event := of_block(block))]


def results(obj: Object) -> list[Event]:
    """The results of tools in an event of the user's, which are sent in the person's name."""
    return [
        tool_result(spoken(block.get("content")), block.get("is_error"))
        for block in blocks(table(obj, "message"))
        if block.get("type") == "tool_result"
    ]


def _user(obj: Object) -> Events:
    if obj.get("parent_tool_use_id") is not None:
        return NOTHING
    found = results(obj)
    return [*found, *(refused() for event in found if event.data and event.text.startswith(ASKED))]


def denials(obj: Object) -> list[Event]:
    """The tools that were asked for and not allowed, in the list at the end (from 1.0.128 on)."""
    listed = obj.get("permission_denials")
    return [
        refused(text(denial, "tool_name"), gist(denial.get("tool_input")))
        for denial in (listed if isinstance(listed, list) else ())
        if isinstance(denial, dict)
    ]


def _errors(obj: Object) -> str:
    errors = obj.get("errors")
    return "\n".join(e for e in errors if isinstance(e, str)) if isinstance(errors, list) else ""


def _result_status(obj: Object, words: str) -> Status:
    """Not by `subtype` alone: a 429 is a "success" with `is_error` (claude/2.1.332/rate-limit)."""
    subtype = text(obj, "subtype") or "success"
    if obj.get("is_error") is not True and subtype == "success":
        return "completed"
    if text(obj, "terminal_reason").startswith("aborted"):  # claude/2.1.332/x07-killtool-SIGINT
        return "interrupted"
    if _GONE.match(words):
        return "session_missing"
    if status := by_code(obj.get("api_error_status")):
        return status
    if subtype == "error_during_execution" and not words:
        return "network"  # the reply was cut off (claude/2.0.42/hang-up)
    return classify(words)


def _result(obj: Object) -> Events:
    words = text(obj, "result") or _errors(obj)
    told = [*denials(obj), *(answer(found) if (found := obj.get("structured_output")) is not None else ())]
    usage = numbers(table(obj, "usage"), _USAGE) | numbers(obj, {"cost_usd": "total_cost_usd"})
    status = _result_status(obj, words)
    models = table(obj, "modelUsage")
    # `--output-format json` names the model nowhere else. Of a run that failed it may be the small one that writes
    # titles (claude/1.0.128/rate-limit).
    if status == "completed" and len(models) == 1:
        usage["model"] = next(iter(models))
    if status == "interrupted":
        words = ""  # only a diagnostic
    elif status != "completed" and not words:
        words = text(obj, "subtype")
    return (*told, Event("usage", data=usage), end(status, words))


def _retry(obj: Object) -> Events:
    words = f"retrying: {text(obj, 'error') or 'error'} {obj.get('error_status') or ''}".rstrip()
    return (failure(words, by_code(obj.get("error_status")), fatal=False),)


# Subtypes of `system`, and why they are no part of the story.
IGNORED = {
    "background_tasks_changed": "a list of what the sub-agents' own events report",
    "compact_boundary": "the conversation was shortened: no message of it",
    "hook_response": "of the person's own hooks, whose output may hold anything",
    "hook_started": "of the person's own hooks",
    "session_title_changed": "for the list of sessions",
    "status": "what the terminal form shows while it waits",
    "task_started": "a sub-agent's doing: the tool call that starts it is reported",
    "task_updated": "a sub-agent's doing: its end is reported",
}


def _task(obj: Object) -> Events:
    """What a task in the background came to: no other event tells it (claude/2.1.332/subagent)."""
    if not text(obj, "output_file"):  # it was waited for: the tool's result follows (claude/2.1.76/subagent)
        return NOTHING
    return (tool_result(text(obj, "summary"), obj.get("status") == "failed"),)


def _system(obj: Object) -> Events:
    subtype = text(obj, "subtype")
    if subtype == "init":
        return (Event("usage", data={"model": text(obj, "model")}),)
    if subtype == "api_retry":
        return _retry(obj)
    if subtype == "permission_denied":
        return (refused(text(obj, "tool_name")),)
    if subtype == "task_notification":
        return _task(obj)
    return NOTHING if subtype in IGNORED else (Event("unknown", name=f"system/{subtype}", data=obj),)


KINDS: dict[str, Handler] = {
    "assistant": _assistant,
    "user": _user,
    "result": _result,
    "system": _system,
    "stream_event": Ignored("a piece of a message that follows whole"),
}


def _session(obj: Object, _first: bool) -> object:
    kind = text(obj, "type")
    if kind not in KINDS or obj.get("parent_tool_use_id") is not None:
        return None
    if kind == "system" and text(obj, "subtype").startswith("hook_"):
        return None
    if kind == "result" and obj.get("num_turns") == 0 and _GONE.match(_errors(obj)):
        return None
    return obj.get("session_id")


def _quick() -> Quick:
    from git_agent_extractors.typed.claude import read

    return read


# Old screen text may follow the id without a gap (anthropics/claude-code#84308).
_HINT = Hint(
    b"claude --resume ",
    re.compile(rf"(?m)^Resume this session with: *\nclaude --resume ({UUID}).*\Z".encode()),
)


PROFILE = Profile(
    name="claude",
    field="session_id",
    id_pattern=re.compile(UUID),
    kinds=KINDS,
    untyped=lambda _: None,
    session=_session,
    model=lambda obj: text(obj, "model") or None,
    reader=lambda _: NoText(),
    errors=(
        ErrorRule(
            re.compile(r"No conversation found with session ID|Error: --resume requires a valid session ID"),
            "session_missing",
        ),
        ErrorRule(re.compile(r"Invalid API key|Not logged in|API Error: |Credit balance is too low"), None),
        # Printed when the terminal form's question about the directory was answered with No; seen with 2.1.332.
        ErrorRule(re.compile(r"\s*Claude Code didn't start because this\s+folder isn't trusted"), "untrusted"),
        # claude/2.1.332/22d-pty-interactive-resume-unknown
        ErrorRule(re.compile(r"\s*(?:Unable to connect to Anthropic services|Failed to connect to )"), "network"),
        ErrorRule(re.compile(r"Error: |error: |--dangerously-skip-permissions cannot be used"), None),
    ),
    exits={},
    needle=b'"session_id"',
    hint=_HINT,
    pretty=True,
    closing=lambda obj: obj.get("type") == "result",
    quick=_quick,
    # A result for each turn that a task in the background begins; the cost is the process's (claude/2.1.332/subagent).
    usage_adds=True,
    usage_totals=frozenset({"cost_usd"}),
)
