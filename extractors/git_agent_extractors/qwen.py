"""Reading Qwen Code: stream-json lines, and the array of the same events that `--output-format json` prints.

Every event carries `session_id` (qwen/*/start-stream-json); text mode prints none. Errors of the model's server come in
the clothes of a message, `[API Error: …]`, and to 0.10.1 its result is a success (qwen/0.5.2/auth-failure, exit 0).
"""

from __future__ import annotations

import re

from git_agent_extractors.claude import blocks, denials, of_block, results
from git_agent_extractors.claude_items import tool_result
from git_agent_extractors.model import NOT_OFFERED, Event, Status
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
    answer,
    classify,
    end,
    failure,
    numbers,
    refused,
    table,
    text,
)

_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_input_tokens",
}
# At the end of what the model had said (qwen/0.5.2/hang-up), an advice below it (qwen/0.5.2/rate-limit).
_API_ERROR = re.compile(r"\[API Error: [^\n]*\](?:\nPossible quota limitations [^\n]*)?\Z")


def _api_error(words: str) -> str:
    found = _API_ERROR.search(words)
    return found[0] if found else ""


def _status(words: str) -> Status:
    return "network" if words.startswith("[API Error: terminated]") else classify(words)


def _assistant(obj: Object) -> Events:
    if obj.get("parent_tool_use_id") is not None:
        return NOTHING  # a sub-agent's words are its own; its answer comes as the tool's result
    message = table(obj, "message")
    found = blocks(message)
    words = "".join(text(block, "text") for block in found)
    # What no token was spent on is not the model's: qwen itself speaks.
    if (error := _api_error(words)) and not table(message, "usage").get("output_tokens"):
        said = words.removesuffix(error)
        return (*([Event("message", said)] if said else ()), failure(error, _status(error)))
    return [event for block in found if (event := of_block(block))]


def _user(obj: Object) -> Events:
    if obj.get("parent_tool_use_id") is not None:
        return NOTHING
    return results(obj)


def _result(obj: Object) -> Events:
    told = [*denials(obj), *(answer(obj["structured_result"]) if "structured_result" in obj else ())]
    usage = Event("usage", data=numbers(table(obj, "usage"), _USAGE))
    words = text(obj, "result") or text(table(obj, "error"), "message")
    if obj.get("is_error") is True or text(obj, "subtype") != "success":
        return (*told, usage, end(_status(words), words or text(obj, "subtype")))
    # The usage is the whole conversation's: that no token was spent is given by the message before.
    return (*told, usage) if _api_error(words) else (*told, usage, end("completed"))


# What the model is not offered where nobody is there to allow it (qwen/*/resume-tool-without-yolo).
_ASKED_FOR = ("run_shell_command", "edit", "write_file")


def _init(obj: Object) -> Events:
    tools = obj.get("tools")
    lacking = [name for name in _ASKED_FOR if name not in tools] if isinstance(tools, list) else []
    return (Event("usage", data={"model": text(obj, "model")}), *(refused(name, NOT_OFFERED) for name in lacking))


def _retry(data: Object) -> Events:
    """It says how often here, and why on stderr (qwen/0.24.4/rate-limit)."""
    attempt = data.get("attempt")
    words = f"retrying, {attempt} of {data.get('maxRetries')}" if attempt else "retrying"
    told = failure(words, "failed", fatal=False)
    told.data["retry"] = True
    return (told,)


def _system(obj: Object) -> Events:
    subtype, data = text(obj, "subtype"), table(obj, "data")
    if subtype == "init":
        return _init(obj)
    if subtype == "retry":
        return _retry(data)
    if subtype == "task_started":
        return NOTHING  # the tool call that starts it is told
    if subtype == "task_notification":  # a task in the background: no event tells its answer (qwen/0.24.4/subagent)
        status = text(data, "status")
        return (tool_result(f"task {status}", status == "failed"),)
    return (Event("unknown", name=f"system/{subtype}", data=obj),)


KINDS: dict[str, Handler] = {
    "assistant": _assistant,
    "user": _user,
    "result": _result,
    "system": _system,
    "stream_event": Ignored("a piece of a message that follows whole, or the state of a goal"),
}


def _document(obj: Object) -> Events | None:
    """The object that 0.24.4 prints on stderr beside the result: {"error": {"type", "message", "code"}}."""
    error = table(obj, "error")
    if obj.keys() != {"error"} or not error:
        return None
    return (failure(text(error, "message"), fatal=False),)


def _session(obj: Object, _first: bool) -> object:
    known = text(obj, "type") in KINDS and obj.get("parent_tool_use_id") is None
    return obj.get("session_id") if known else None


# Recent versions draw it once more after they have given the screen back (qwen/0.24.4/interactive-start). 0.10.1 draws
# it where 0.5.2 has the lines of a reply, but below the box of its summary.
_HINT = Hint(
    b"qwen --resume ",
    re.compile(
        rf"(?m)^To continue this session, run[ \n]qwen --resume ({UUID})\n*\Z"
        rf"|^  ╰(?:─)+╯\n\n  To continue this session, run qwen --resume ({UUID})\Z".encode()
    ),
)

PROFILE = Profile(
    name="qwen",
    field="session_id",
    id_pattern=re.compile(UUID),
    kinds=KINDS,
    untyped=_document,
    session=_session,
    model=lambda obj: text(obj, "model") or None,
    reader=lambda _: NoText(),
    errors=(
        # On stdout in 0.5.2, on stderr from 0.10.1 (qwen/*/resume-unknown-json)
        ErrorRule(re.compile(r"No saved session found with "), "session_missing"),
        # The list of sessions, where there is no terminal: qwen/0.24.4/resume-empty, exit 0
        ErrorRule(re.compile(r"\s*ERROR +Raw mode is not supported"), "session_missing", sure=True),
        # 0.5.2 and 0.10.1 draw the list there and exit 0.
        ErrorRule(re.compile(r"│ Resume Session {30,}│\Z"), "session_missing", sure=True),
        ErrorRule(re.compile(r"Retrying in \d+m?s \(attempt \d+/\d+\): (\[API Error: .*)"), None, fatal=False),
        ErrorRule(re.compile(r"\[API Error: "), None),
        ErrorRule(
            re.compile(
                r"Error authenticating|\w*Error: |No input provided via stdin|Cannot use both |Not enough arguments"
                r"|Unknown arguments?: |Missing |No auth type is selected"
            ),
            None,
        ),
    ),
    exits={},
    needle=b'"session_id"',
    hint=_HINT,
    pretty=True,
    closing=lambda obj: obj.get("type") == "result",
)
