"""Reading Codex CLI's items: what `item.started` and `item.completed` are about."""

from __future__ import annotations

import re

from git_agent_extractors.model import Event
from git_agent_extractors.profile import (
    FAILED,
    NO_DATA,
    NOTHING,
    Events,
    Handler,
    Object,
    failure,
    gist,
    made,
    refused,
    spoken,
    table,
    text,
)


def _message(item: Object) -> Events:
    return (Event("message", text(item, "text")),)


def reasoning(item: Object) -> Events:
    return (Event("reasoning", text(item, "text")),)


# `bash -lc '…'` around every command (codex/0.47.0/tool), in 0.171 with the shell's place.
SHELL = r"(?:/\S*/)?(?:ba|z)?sh -l?c "
_QUOTED = re.compile(r"""'([^']*+)'|"((?:[^"\\]|\\.)*+)"|\\(.)""", re.DOTALL)
_WORD = re.compile(rf"""{SHELL}((?:{_QUOTED.pattern}|[^\s'"\\]++)++)""", re.DOTALL)
_SHELLS = frozenset({"/bin/bash -lc ", "bash -lc "})  # nearly all


def command(line: str) -> Events:
    """A command, begun: what its shell was given, where that is one word."""
    head, _, rest = line.partition("'")
    if head in _SHELLS and rest.find("'") == len(rest) - 1 >= 0:
        line = rest[:-1]
    elif word := _WORD.fullmatch(line):
        line = _QUOTED.sub(_unquoted, word[1])
    return (made(("tool_call", line, "shell", NO_DATA)),)


def _unquoted(part: re.Match[str]) -> str:
    single, double, escaped = part.groups()
    return re.sub(r'\\([\\"$`])', r"\1", double) if double is not None else single if single is not None else escaped


# The sandbox's word for it, in a command's output: to 0.98 as the system says it of any file that is not to be written,
# in 0.171 as of a file system (codex/*/13c-resume-noflags-tool).
_DENIED = re.compile(r"(?m): (?:Read-only file system|Permission denied|Operation not permitted)$")


def command_done(output: str, exit_code: object, status: object = None) -> Events:
    result = made(("tool_result", output, "shell", FAILED if exit_code else NO_DATA))
    denied = status == "declined" or (exit_code and _DENIED.search(output[-65536:]))
    return (result, refused("shell")) if denied else (result,)


def changed(paths: list[str], status: object) -> Events:
    call = Event("tool_call", "\n".join(paths), "edit")
    if status not in {"failed", "declined"}:
        return (call,)
    failed = Event("tool_result", "", "edit", FAILED)
    return (call, failed, refused("edit")) if status == "declined" else (call, failed)


def mcp(server: str, tool: str, arguments: object) -> Events:
    return (Event("tool_call", gist(arguments), f"{server}.{tool}"),)


def mcp_done(server: str, tool: str, told: object, error: object) -> Events:
    words = gist(error or spoken(told.get("content") if isinstance(told, dict) else None) or told)
    return (Event("tool_result", words, f"{server}.{tool}", FAILED if error else NO_DATA),)


def _command(item: Object) -> Events:
    return command(text(item, "command"))


def _command_done(item: Object) -> Events:
    return command_done(text(item, "aggregated_output"), item.get("exit_code"), item.get("status"))


def _changes(item: Object) -> Events:
    changes = item.get("changes")
    paths = [text(c, "path") for c in changes if isinstance(c, dict)] if isinstance(changes, list) else []
    return changed(paths, item.get("status"))


def _mcp(item: Object) -> Events:
    return mcp(text(item, "server"), text(item, "tool"), item.get("arguments"))


def _mcp_done(item: Object) -> Events:
    return mcp_done(text(item, "server"), text(item, "tool"), item.get("result"), item.get("error"))


def _agents_done(item: Object) -> Events:
    """What the sub-agents of a call have said by now (codex/0.171.0/subagent)."""
    agents = table(item, "agents_states")
    said = [words for name in agents if (words := text(table(agents, name), "message"))]
    failed = FAILED if item.get("status") == "failed" else NO_DATA
    return (Event("tool_result", "\n".join(said), text(item, "tool"), failed),)


def _warning(item: Object) -> Events:
    # Warnings of successful runs too (codex/0.171.0/01-start-json): never the verdict.
    return (failure(text(item, "message"), fatal=False),)


# Item types of exec_events.rs in openai/codex.
_STARTED: dict[str, Handler] = {
    "command_execution": _command,
    "mcp_tool_call": _mcp,
    "collab_tool_call": lambda item: (Event("tool_call", text(item, "prompt"), text(item, "tool")),),
}
_COMPLETED: dict[str, Handler] = {
    "agent_message": _message,
    "reasoning": reasoning,
    "command_execution": _command_done,
    "file_change": _changes,
    "mcp_tool_call": _mcp_done,
    "web_search": lambda item: (Event("tool_call", text(item, "query"), "web_search"),),
    "collab_tool_call": _agents_done,
    "error": _warning,
}
# Items, and why one of their events is not part of the story; `_STARTED` and `_COMPLETED` have the others.
IGNORED = {
    "todo_list": "the agent's plan: its results are reported",
    "web_search": "reported when it is complete: it may begin without its query",
    "agent_message": "reported when it is complete",
    "reasoning": "reported when it is complete",
    "file_change": "reported when it is complete",
}


def item_told(obj: Object) -> Events:
    item, when = table(obj, "item"), obj["type"]
    kind = text(item, "type")
    handler = _COMPLETED.get(kind) if when == "item.completed" else _STARTED.get(kind)
    if handler is not None:
        return handler(item)
    if kind in IGNORED or kind in _COMPLETED:
        return NOTHING
    return (Event("unknown", name=f"{when}/{kind}", data=obj),)
