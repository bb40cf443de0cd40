"""The vocabulary of reading an engine: sessions, events, transcripts. Frozen, and without imports of ours."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Source = Literal["pty-output", "stdout", "stderr"]
SOURCES: tuple[Source, ...] = ("pty-output", "stdout", "stderr")

EventKind = Literal[
    "session", "message", "reasoning", "tool_call", "tool_result", "refused", "error", "usage", "end", "unknown"
]

Status = Literal[
    "completed",
    "failed",
    "interrupted",
    "timed_out",
    "stalled",
    "rate_limited",
    "overloaded",
    "network",
    "auth_failed",
    "untrusted",
    "session_missing",
    "no_output",
]


class Session(NamedTuple):
    """An engine's conversation: the engine's own name for the key, and its value. Both or neither are null."""

    field: str | None
    value: str | None


NO_SESSION = Session(None, None)


class Refusal(NamedTuple):
    """What the agent was not allowed to do: the tool's name, and what it was to do; either may be empty."""

    tool: str
    text: str


NOT_OFFERED = "not offered to the model"


class Event(NamedTuple):
    """One normalised event of a run.

    `text` is what a person reads (the message, the command of a tool call, the output of a tool result, the
    error). `name` is the tool's name, or the engine's own type for an unknown event. `data` holds numbers for
    `usage` (`input_tokens`, `output_tokens`, `cost_usd`, …; `model` may be there too), `{"status": Status}` for
    `end` and `error` (with `"fatal": False` the engine continues, with `"retry": True` it tries again without saying
    why; `"retry_after"` is how many seconds it asks to wait),
    `{"value": str}` for `session`, `{"delta": True}` for a piece of a message, `{"failed": True}` for a tool's failure,
    and the raw object for `unknown`. `refused` is a tool that the engine did not let the agent use: `name` and `text`
    are those of its call, or empty where the call before it tells them.
    """

    kind: EventKind
    text: str = ""
    name: str = ""
    data: dict[str, Any] = {}  # noqa: RUF012  shared empty default; events are never mutated


class Transcript(NamedTuple):
    """All that one attempt's files say. `source` is where the session was found."""

    engine: str
    session: Session
    source: Source | None
    status: Status
    model: str | None
    final_message: str | None
    usage: dict[str, float] | None
    events: dict[str, int]
    unknown_events: dict[str, int]
    warnings: tuple[str, ...]
    error: str | None
    refused: tuple[Refusal, ...] = ()
