"""What one attempt cost, for engines that report only the total of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_extractors.model import Event
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt
from git_agent_runner.engines import load, profile
from git_agent_runner.engines.spec import Version
from git_agent_runner.store.records import attempts

if TYPE_CHECKING:
    from git_agent_runner.attempt.plan import Plan

# The first version whose `total_cost_usd` continues from the session's before: 2.1.332 does, 2.1.200 tells its
# process's.
_TOTALS: dict[str, Version] = {"claude": (2, 1, 201)}
_NEW = ("start", "fresh")


class PricedAttempt(NamedTuple):
    """An attempt that has begun or is about to: `session` is the one that it continues."""

    engine: str
    version: str
    run_id: str
    number: int
    kind: str
    session: str | None


def of_attempt(attempt: Attempt) -> PricedAttempt:
    session = attempt.requested_session or attempt.session.value
    facts = (attempt.agent_name, attempt.engine_version, attempt.run_id, attempt.number, attempt.kind)
    return PricedAttempt(*facts, session)


def of_plan(plan: Plan) -> PricedAttempt:
    record = plan.record
    session = plan.session or record.session.value
    return PricedAttempt(record.agent_name, record.engine_version, record.run_id, record.attempts, plan.kind, session)


def before(ctx: Context, turn: PricedAttempt) -> float | None:
    """How much of the engine's figure belongs to earlier attempts, in US dollars; None if unknown."""
    if turn.kind in _NEW or not _tells_totals(turn):
        return 0.0
    begun = False
    for number in reversed(attempts.numbers(ctx.layout, turn.run_id)):
        if number >= turn.number:
            continue
        try:
            earlier = attempts.read(ctx.layout, turn.run_id, number)
        except UserError:
            continue
        if earlier.session.value != turn.session:
            continue
        if _tells_totals(of_attempt(earlier)) and (told := _told(ctx, earlier)) is not None:
            return told
        begun = begun or earlier.kind in _NEW
    return 0.0 if begun else None


def own(usage: Mapping[str, Any], spent: float | None) -> dict[str, Any]:
    """The numbers of an attempt: its own cost, or none if it cannot be separated from what came before."""
    found = dict(usage)
    cost = found.pop("cost_usd", None)
    if cost is not None and spent is not None:
        found["cost_usd"] = max(cost - spent, 0.0)
    return found


def of_event(event: Event, spent: float | None) -> Event:
    return event._replace(data=own(event.data, spent)) if event.kind == "usage" and spent != 0 else event


def _tells_totals(turn: PricedAttempt) -> bool:
    since = _TOTALS.get(turn.engine)
    return since is not None and (load(turn.engine).parse_version(turn.version) or since) >= since


def _told(ctx: Context, attempt: Attempt) -> float | None:
    from git_agent_extractors.read import read  # a rare need

    usage = read(profile(attempt.agent_name, ctx.environ), attempts.outputs(ctx.layout, attempt)).usage
    return usage.get("cost_usd") if usage else None
