"""Reading Gemini CLI: stream-json lines, and the one indented object of `--output-format json`.

The session is in the `init` line alone, or at the top of the object (gemini/0.61.0/start-json); on an error the
object comes on stderr (gemini/0.61.0/no-api-key). 0.20 and older print no id with json, text mode never does.
"""

from __future__ import annotations

import re
from typing import Any

from git_agent_extractors.gemini_items import NOTICE, tool_result, tool_use
from git_agent_extractors.model import Event, Status
from git_agent_extractors.profile import (
    DELTA,
    NO_DATA,
    NOTHING,
    UUID,
    ErrorRule,
    Events,
    Hint,
    NoText,
    Object,
    Profile,
    Quick,
    by_code,
    classify,
    end,
    failure,
    numbers,
    table,
    text,
)


def _init(obj: Object) -> Events:
    return (Event("usage", data={"model": text(obj, "model")}),)


def _message(obj: Object) -> Events:
    if obj.get("role") != "assistant":
        return NOTHING  # the prompt, echoed
    content = text(obj, "content")
    if content == NOTICE:
        return (failure(content.rstrip(), fatal=False),)
    return (Event("message", content, data=DELTA if obj.get("delta") is True else NO_DATA),)


def _tool_use(obj: Object) -> Events:
    return tool_use(text(obj, "tool_name"), table(obj, "parameters"))


def _tool_result(obj: Object) -> Events:
    return tool_result(obj.get("status"), text(obj, "output"), obj.get("error"))


def _error(obj: Object) -> Events:
    return (failure(text(obj, "message"), fatal=obj.get("severity") != "warning"),)


def _busiest(models: Object, tokens: str, total: str) -> str:
    """The model that did the work: "auto" asks a small one first, whose answer only routes."""

    def count(name: str) -> float:
        stats = table(models, name)
        found: float = numbers(table(stats, tokens) if tokens else stats, {"n": total}).get("n", 0)
        return found

    return max(reversed(models), key=count, default="")


def _result(obj: Object) -> Events:
    stats, error = table(obj, "stats"), table(obj, "error")
    usage = numbers(stats, {"input_tokens": "input_tokens", "output_tokens": "output_tokens"})
    if obj.get("status") == "success":  # else the one that routes may be all that answered
        if model := _busiest(table(stats, "models"), "", "total_tokens"):
            usage["model"] = model
        return (Event("usage", data=usage), end("completed"))
    message = text(error, "message")
    return (Event("usage", data=usage), end(classify(message), message))


KINDS = {
    "init": _init,
    "message": _message,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "error": _error,
    "result": _result,
}


def _document_status(obj: Object, models: Object) -> Status:
    """An empty answer is none, unless tools were used (gemini/0.61.0/prompt-large-stdin-9M, exit 0)."""
    calls = [table(table(models, name), "api") for name in models]
    if any(api.get("totalErrors") and api.get("totalErrors") == api.get("totalRequests") for api in calls):
        return "failed"  # gemini/0.8.2/auth-failure and hang-up, exit 0
    if text(obj, "response"):
        return "completed"
    return "completed" if table(table(obj, "stats"), "tools").get("totalCalls") else "no_output"


def _document(obj: Object) -> Events | None:
    """The object of `--output-format json`; None when this is not one."""
    if isinstance(obj.get("error"), dict) and not obj.keys() - {"session_id", "error"}:
        error = table(obj, "error")
        message = text(error, "message")
        return (end(by_code(error.get("code")) or classify(message), message),)
    if not isinstance(obj.get("response"), str) or not isinstance(obj.get("stats"), dict):
        return None
    models = table(table(obj, "stats"), "models")
    tokens = [table(table(models, name), "tokens") for name in models]
    pairs = [numbers(t, {"input_tokens": "prompt", "output_tokens": "candidates"}) for t in tokens]
    usage: dict[str, Any] = {
        name: sum(pair.get(name, 0) for pair in pairs) for name in ("input_tokens", "output_tokens") if pairs
    }
    if model := _busiest(models, "tokens", "total"):
        usage["model"] = model
    said = text(obj, "response")
    return (
        *((Event("message", said),) if said else ()),
        Event("usage", data=usage),
        end(_document_status(obj, models)),
    )


def _session(obj: Object, _first: bool) -> object:
    if obj.get("type") == "init":
        return obj.get("session_id")
    return obj.get("session_id") if "type" not in obj and _document(obj) is not None else None


def _quick() -> Quick:
    from git_agent_extractors.typed.gemini import read

    return read


# The last line of a box; below 84 columns the id wraps (gemini/0.61.0/interactive-decoys). Some versions quote it.
_HINT = Hint(
    b"To resume this session:",
    re.compile(
        rf"(?m)^│  To resume this session: gemini --resume(?: +│\n│ )? (['\"]?)({UUID})\1 +│\n╰(?:─)+╯\Z".encode()
    ),
    # After a resume these name an id that no conversation has (gemini/0.20.2 and 0.36.0, interactive-resume).
    re.compile(rb"Gemini CLI v0\.(?:[0-9]|[1-3][0-9]|40)\."),
)

PROFILE = Profile(
    name="gemini",
    field="session_id",
    id_pattern=re.compile(UUID),
    kinds=KINDS,
    untyped=_document,
    session=_session,
    model=lambda obj: text(obj, "model") or None,
    reader=lambda _: NoText(),
    errors=(
        # gemini/0.61.0/resume-unknown-json, exit 42; any other reason does not show whether the session is there
        ErrorRule(
            re.compile(r"Error resuming session: (?:Invalid session identifier|No previous sessions found)"),
            "session_missing",
        ),
        ErrorRule(re.compile(r"Error resuming session: "), None),
        ErrorRule(re.compile(r"Gemini CLI is not running in a trusted directory"), "untrusted"),
        # 0.36 and 0.41 begin a new one then (gemini/0.41.2/resume-worktree).
        ErrorRule(re.compile(r"No previous sessions found for this project"), "session_missing", fatal=False),
        ErrorRule(re.compile(r"Attempt \d+ failed with status \d+\. Retrying"), None, fatal=False),
        ErrorRule(re.compile(r"Error when talking to Gemini API|Please set an Auth method|Error: The --"), None),
        ErrorRule(
            re.compile(
                r"Error starting session: |No input provided via stdin|Cannot use both |Not enough arguments"
                r"|Unknown arguments?: |The flags --resume, |Invalid values:|An unexpected critical error"
            ),
            None,
        ),
    ),
    # HTTP status & 255 in the JSON modes (gemini/0.61.0/err401-json 145, err429day-json 173); 41, 42, 55 are its own.
    exits={
        41: "auth_failed",
        55: "untrusted",
        145: "auth_failed",
        147: "auth_failed",
        173: "rate_limited",
        244: "overloaded",
        247: "overloaded",
    },
    needle=b'"session_id"',
    hint=_HINT,
    pretty=True,
    closing=lambda obj: "type" not in obj,
    quick=_quick,
)
