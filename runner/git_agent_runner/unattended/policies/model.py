"""The vocabulary of policies: what went wrong, and what is to be done about it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from git_agent_extractors.model import Status

Trigger = Literal["on_dead", "on_error", "on_idle", "on_ci"]
ActionKind = Literal["nudge", "done", "fail", "resume", "escalate", "gate"]

# Which action makes sense when: a dead agent cannot be nudged, and one that failed is not done.
VALID: dict[Trigger, tuple[ActionKind, ...]] = {
    "on_dead": ("done", "fail", "resume", "escalate", "gate"),
    "on_error": ("fail", "resume", "escalate", "gate"),
    "on_idle": ("nudge", "done", "fail", "escalate", "gate"),
    "on_ci": ("fail", "resume", "escalate"),
}
TRIGGERS: tuple[Trigger, ...] = ("on_dead", "on_error", "on_idle", "on_ci")


class Action(NamedTuple):
    """One thing to do.

    Without `message` the session is resumed with `agent.continueMessage`; with it and `append` it is the session's next
    message; with it and without `append` it is the prompt of a new session. `attempts` says how often in a row
    (None: for ever) before it is given up; `cooldown` is in seconds, from the end of the attempt. `run` is the command
    of a gate, or of an escalation, as words: no shell reads it. Of `on_ci`, `run` is the command that prints the
    results, `when` the result that counts, and `log` the command that prints the log of one.
    """

    kind: ActionKind
    message: str | None = None
    append: bool = False
    attempts: int | None = 1
    cooldown: float = 0.0
    run: tuple[str, ...] = ()
    when: str = ""
    log: tuple[str, ...] = ()


class Rule(NamedTuple):
    """What to do on one error; `match` None is any."""

    match: Status | None
    action: Action


class Policy(NamedTuple):
    """All that is to be done. `origins` are the places it was read from, for people."""

    on_dead: Action | None = None
    on_error: tuple[Rule, ...] = ()
    on_idle: Action | None = None
    on_ci: Action | None = None
    origins: tuple[str, ...] = ()


class Trouble(NamedTuple):
    """What is the matter with a run. `since`: when its attempt ended, or printed last, in seconds since the epoch."""

    trigger: Trigger
    status: Status | None
    since: float
    alive: bool = False
    has_session: bool = True
    retry_after: float | None = None
