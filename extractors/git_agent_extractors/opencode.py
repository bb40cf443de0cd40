"""Reading OpenCode: `run --format json` lines.

Each carries the session as its own `sessionID`. Child sessions are in a tool's metadata, and some versions let their
events through (anomalyco/opencode#47972): the first event is the root's. The default format names no session at all.
"""

from __future__ import annotations

import re

from git_agent_extractors.model import Event
from git_agent_extractors.opencode_items import command_failed, step_finish, tool_use
from git_agent_extractors.profile import (
    ErrorRule,
    Events,
    Handler,
    Hint,
    Ignored,
    NoText,
    Object,
    Profile,
    Quick,
    by_code,
    classify,
    failure,
    gist,
    table,
    text,
)


def _text(obj: Object) -> Events:
    return (Event("message", text(table(obj, "part"), "text")),)


def _reasoning(obj: Object) -> Events:
    return (Event("reasoning", text(table(obj, "part"), "text")),)


def _tool_use(obj: Object) -> Events:
    part = table(obj, "part")
    state = table(part, "state")
    broken = state.get("status") == "error"
    output = text(state, "error" if broken else "output")
    failed = broken or command_failed(table(state, "metadata").get("exit"))
    return tool_use(text(part, "tool"), gist(table(state, "input")), output, failed)


def _step_finish(obj: Object) -> Events:
    part = table(obj, "part")
    return step_finish(text(part, "reason"), table(part, "tokens"), part)


def _error(obj: Object) -> Events:
    error = table(obj, "error")
    data = table(error, "data")
    message = text(data, "message") or text(error, "message") or text(error, "name")
    told = failure(message, by_code(data.get("statusCode")) or classify(message))
    # Numbers only: the header may also hold a date. Seen in 1.18.33 (rate-limit, server-error).
    later = text(table(data, "responseHeaders"), "retry-after")
    if re.fullmatch(r"[0-9]{1,6}", later):
        told = told._replace(data={**told.data, "retry_after": float(later)})
    return (told,)


KINDS: dict[str, Handler] = {
    "step_start": Ignored("its parts report what the step does"),
    "step_finish": _step_finish,
    "text": _text,
    "reasoning": _reasoning,
    "tool_use": _tool_use,
    "error": _error,
}


def _session(obj: Object, _first: bool) -> object:
    return obj.get("sessionID") if text(obj, "type") in KINDS and "parentID" not in obj else None


def _quick() -> Quick:
    from git_agent_extractors.typed.opencode import read

    return read


_ID = r"ses_[0-9A-Za-z]{26}"
# Below its name in large letters; --mini has a small sign before it (opencode/1.18.33/interactive-start, -resume).
_HINT = Hint(
    b" -s ses_",
    re.compile(
        rf"(?m)^(?:  Session   .*\n  Continue  opencode -s ({_ID})"
        rf"|█▀▀█  Session  .*\n█  █  Continue opencode --mini -s ({_ID})\n▀▀▀▀)\Z".encode()
    ),
)

PROFILE = Profile(
    name="opencode",
    field="sessionID",
    id_pattern=re.compile(_ID),
    kinds=KINDS,
    untyped=lambda _: None,
    session=_session,
    model=lambda _: None,
    reader=lambda _: NoText(),
    errors=(
        # Three shapes: opencode/1.18.33/resume-unknown-json, 1.2.27 (exit 0), 1.1.34 (hangs)
        ErrorRule(
            re.compile(
                r"Error: (Session not found)"
                r"|\s+message: \"(Session not found: [^\"]*|Resource not found: [^\"]*/session/[^\"]*/ses_[^\"]*)"
            ),
            "session_missing",
        ),
        # The only words of a ZodError, below its first line (opencode/1.1.34/resume-malformed)
        ErrorRule(re.compile(r" {4}\"message\": \"(Invalid string: must start with .*)\"\Z")),
        ErrorRule(re.compile(r"(?:Error|error|NotFoundError|ProviderModelNotFoundError|ZodError): "), None),
    ),
    exits={},
    needle=b'"sessionID"',
    hint=_HINT,
    first=True,
    usage_adds=True,
    quick=_quick,
)
