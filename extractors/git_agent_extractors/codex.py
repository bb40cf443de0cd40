"""Reading Codex CLI: `exec --json` events, the older untyped events, and the text banner.

The session is in `thread.started` alone (codex/0.171.0/01-start-json), in the configuration line that some older
versions print first (openai/codex#3817), or in the banner of text mode: on stdout in 0.44, on stderr from 0.47 on
(codex/0.44.0/02-start-text, codex/0.171.0/02-start-text). 0.29 prints no id at all.
"""

from __future__ import annotations

import re

from git_agent_extractors.codex_items import SHELL, command_done, item_told, reasoning
from git_agent_extractors.codex_text import Banner, answer
from git_agent_extractors.model import Event
from git_agent_extractors.profile import (
    NOTHING,
    UUID,
    ErrorRule,
    Events,
    Handler,
    Hint,
    Ignored,
    Object,
    Profile,
    Quick,
    end,
    failure,
    numbers,
    table,
    text,
)

_USAGE = {
    "input_tokens": "input_tokens",
    "cached_input_tokens": "cached_input_tokens",
    "output_tokens": "output_tokens",
    "reasoning_output_tokens": "reasoning_output_tokens",
}
# 0.29 to 0.47 say it in three ways: "stream error: …; retrying 1/1 in 206ms", "Re-connecting... 1/1".
_RETRY = re.compile(r"Re-?connecting\.\.\.|.*; retrying \d+/\d+ in ")


def _turn_completed(obj: Object) -> Events:
    # From 0.98 on the numbers are the thread's, not the turn's (codex/0.171.0/05a-resume-json-before).
    return (Event("usage", data=numbers(table(obj, "usage"), _USAGE)), end("completed"))


def _turn_failed(obj: Object) -> Events:
    message = text(table(obj, "error"), "message")
    return (end(failure(message).data["status"], message),)


def _error(obj: Object) -> Events:
    message = text(obj, "message")
    return (failure(message, fatal=not _RETRY.match(message)),)


KINDS: dict[str, Handler] = {
    "thread.started": Ignored("its id is the session, and is read as that"),
    "turn.started": Ignored("reports nothing about the turn"),
    "turn.completed": _turn_completed,
    "turn.failed": _turn_failed,
    "error": _error,
    "item.started": item_told,
    "item.updated": Ignored("the item comes whole when it is complete"),
    "item.completed": item_told,
}


def _old_command(msg: Object) -> Events:
    command = msg.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    line = " ".join(words)
    return (Event("tool_call", words[2] if len(words) == 3 and re.match(SHELL, line) else line, "shell"),)


# Before 0.44: {"id":"0","msg":{"type":…}} (codex/0.29.0/start-json). No event is the end there: a message that no
# tool call follows is.
_OLD: dict[str, Handler] = {
    "task_started": Ignored("reports nothing about the turn"),
    "agent_message": lambda msg: (Event("message", text(msg, "message")), end("completed")),
    "agent_reasoning": reasoning,
    "exec_command_begin": _old_command,
    "exec_command_output_delta": Ignored("a piece of the output that comes whole at the end"),
    "exec_command_end": lambda msg: command_done(text(msg, "aggregated_output"), msg.get("exit_code")),
    "token_count": lambda msg: (Event("usage", data=numbers(msg, _USAGE)),),
    "stream_error": lambda msg: (failure(text(msg, "message"), fatal=False),),
    "error": lambda msg: (failure(text(msg, "message")),),
}


def _untyped(obj: Object) -> Events | None:
    msg = obj.get("msg")
    if isinstance(msg, dict):
        kind = text(msg, "type")
        known = _OLD.get(kind)
        return known(msg) if known else (Event("unknown", name=f"msg/{kind}", data=obj),)
    if "model" in obj and "workdir" in obj:
        return (Event("usage", data={"model": text(obj, "model")}),)
    return NOTHING if obj.keys() == {"prompt"} else None


def _session(obj: Object, first: bool) -> object:
    if obj.get("type") == "thread.started":
        return obj.get("thread_id")
    return obj.get("session_id") if first and "type" not in obj else None


def _quick() -> Quick:
    from git_agent_extractors.typed.codex import read

    return read


# Two lines in 0.171 (codex/0.171.0/interactive-start; "To reconnect" with the background server), one before.
_HINT = Hint(
    b"codex resume ",
    re.compile(
        rf"(?m)^(?:To continue this session, run:\n  |To reconnect, run:\n  |To continue this session, run )"
        rf"codex resume ({UUID})\Z".encode()
    ),
)

PROFILE = Profile(
    name="codex",
    field="thread_id",
    id_pattern=re.compile(UUID),
    kinds=KINDS,
    untyped=_untyped,
    session=_session,
    model=lambda _: None,
    reader=Banner,
    errors=(
        # codex/0.171.0/07a-resume-unknown-json; 20d-pty-interactive-resume-unknown
        ErrorRule(
            re.compile(r"(?i)error: .*(?:no rollout found|no saved session found|empty session file)"),
            "session_missing",
        ),
        # codex/0.171.0/22b-concurrent-resume: another process holds the session
        ErrorRule(re.compile(r"Error: .*already has an active writer"), "failed"),
        ErrorRule(re.compile(r"Not inside a trusted directory"), "untrusted"),
        ErrorRule(re.compile(r"ERROR: Re-?connecting"), fatal=False),
        ErrorRule(re.compile(r"No prompt provided via stdin|Error: |ERROR: |error: "), None),
        # codex/0.29.0/14d-ratelimit-text exits 0; its transcript stamps every section with the time
        ErrorRule(re.compile(r"\[\d{4}-\d\d-\d\dT[\d:]+\] ERROR: "), None, sure=True),
        ErrorRule(re.compile(r"\[\d{4}-\d\d-\d\dT[\d:]+\] stream error: "), None, fatal=False),
    ),
    exits={},
    needle=b'"thread.started"',
    hint=_HINT,
    banner=b"OpenAI Codex v",
    answer=answer,
    usage_adds=True,  # a process is one turn, which 0.29 counts request by request (codex/0.29.0/tools)
    quick=_quick,
    tells_failures=True,  # from 0.117 on SIGINT in a turn is exit 1 and no more (codex/0.171.0/kill-sigint)
)
