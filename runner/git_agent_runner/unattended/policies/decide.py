"""What a policy says about a run in trouble, and when. Pure: the clock and the chance are passed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from git_agent_runner.unattended.policies.model import Action, Policy, Trigger, Trouble

FIRST_WAIT = 5.0  # seconds; what a second try in a row waits where no cooldown is given
LONGEST_WAIT = 3600.0
REPEATED = frozenset({"resume", "nudge", "gate"})  # the actions that may be taken several times in a row
JITTER = 0.25  # of the wait, added: fifty runs that met one limit must not all come back at once

How = Literal["resume", "fresh", "nudge", "done", "fail", "escalate", "gate"]


_WORDS: dict[Trigger, str] = {"on_dead": "dead", "on_idle": "silent", "on_error": "failed", "on_ci": "CI failed"}


class Taken(NamedTuple):
    """What was done about a run already: how often in a row, for which trigger."""

    trigger: Trigger | None = None
    times: int = 0


class Decision(NamedTuple):
    """`how` is what to do at `due` (seconds since the epoch); `message` goes to the engine, None is the configured one.

    `reason` is for people. A gate's `then` is what follows when it lets the run pass.
    """

    how: How
    due: float
    reason: str
    action: Action
    message: str | None = None
    then: Literal["resume", "fresh", "nudge"] = "resume"


def chosen(policy: Policy, trouble: Trouble) -> Action | None:
    """The action for this trouble, None when nothing is reported about it. The first rule that matches an error counts.

    An agent that met an error and is still alive, though silent, is in trouble by its error first.
    """
    if trouble.trigger == "on_dead":
        return policy.on_dead
    if trouble.trigger == "on_ci":
        return policy.on_ci and policy.on_ci._replace(run=())
    if trouble.status is not None:
        for rule in policy.on_error:
            if rule.match in (None, trouble.status):
                return rule.action
    return policy.on_idle if trouble.trigger == "on_idle" else None


def decide(policy: Policy, trouble: Trouble, taken: Taken, chance: Callable[[], float]) -> Decision | None:
    """What to do next; None when the policy is silent. `chance` gives numbers from 0 to 1.

    Actions that were taken as often as they may be turn into an escalation.
    """
    action = chosen(policy, trouble)
    if action is None:
        return None
    tried = taken.times if taken.trigger == trouble.trigger else 0
    what = trouble.status or _WORDS[trouble.trigger]
    if action.attempts is not None and tried >= action.attempts and action.kind in REPEATED:
        reason = f"{what}, and {action.kind} was tried {tried} {'time' if tried == 1 else 'times'}"
        return Decision("escalate", trouble.since, reason, action._replace(run=()))
    due = trouble.since + _wait(action, trouble, tried, chance)
    then = _road(action, trouble)
    how: How = then if action.kind in ("resume", "nudge") else action.kind
    return Decision(how, due, str(what), action, action.message, then)


def _road(action: Action, trouble: Trouble) -> Literal["resume", "fresh", "nudge"]:
    """The decision matrix. An error alone never costs a session: only a person who wrote a new prompt gives it up.

    | message | append | session | continues by                |
    |---------|--------|---------|---------------------------|
    | none    |        | yes     | resume                    |
    | given   | true   | yes     | resume, with the message  |
    | given   | false  | yes     | a fresh session           |
    | any     | any    | no      | a fresh session           |
    """
    if trouble.alive:
        return "nudge"
    if not trouble.has_session:
        return "fresh"
    return "fresh" if action.message is not None and not action.append else "resume"


def _wait(action: Action, trouble: Trouble, tried: int, chance: Callable[[], float]) -> float:
    """Seconds from the trouble to the action: doubled with every try, never less than the engine asked for."""
    if action.kind not in REPEATED:
        tried = 0  # what was tried was to end a silent engine; there is nothing to space out
    base = action.cooldown or (FIRST_WAIT if tried else 0.0)
    wait = min(max(LONGEST_WAIT, action.cooldown), base * 2.0 ** min(tried, 20))
    return max(wait, trouble.retry_after or 0.0) * (1 + JITTER * chance())
