"""Findings of `git agent doctor`: sessions that their engine has thrown away, or soon will."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from git_agent_runner.console.progress import counted
from git_agent_runner.context import Context, find_program
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines import asking, load, wording
from git_agent_runner.engines.spec import Engine, Located, StoreQuery
from git_agent_runner.maintain.doctor.finding import SETTLED, Finding, RepositoryFacts
from git_agent_runner.store import session_copies

if TYPE_CHECKING:
    from git_agent_runner.engines.probe import Probe

SOON = 24 * 3600.0  # seconds


def sessions(known: RepositoryFacts) -> Iterator[Finding]:
    """Sessions of runs of branches that began on this machine. One that never had a whole turn was never kept by its
    engine.
    """
    ctx = known.ctx
    program = cache(lambda name: _program(ctx, name))
    first = StoreQuery(dict(ctx.environ), "", (), learned={})
    host = os.uname().nodename
    for record in counted("sessions", known.records.values()):
        found = program(record.agent_name) if record.role == "work" and _is_of(record, host) else None
        if found is None:
            continue
        engine, probe = found
        query = first._replace(cwd=record.cwd, version=probe.version, session=record.session.value)
        located = asking.locate(engine, query, record.launch_args, record.store)
        if located.state == "absent":
            if record.handle in known.runs and _completed(known, record) and _left_alone(known, record):
                yield _lost(record)
        elif (left := _left(engine, query, located, known.now)) is not None and _left_alone(known, record):
            yield _expiring(record, left)


def expiring(ctx: Context, record: Record, now: float) -> str | None:
    """The warning where the engine deletes the run's session within a day, else None."""
    here = _is_of(record, os.uname().nodename)
    found = _program(ctx, record.agent_name) if here and not kept(ctx, record) else None
    if found is None:
        return None
    engine, query = found[0], StoreQuery(ctx.environ, record.cwd, found[1].version, record.session.value)
    left = _left(engine, query, engine.locate(query), now)
    return None if left is None else _expiring(record, left).problem


def kept(ctx: Context, record: Record) -> bool:
    """Has the run a copy of its session, which a resume restores?"""
    return session_copies.read(ctx.layout, record.run_id, record.session.value or "") is not None


def _is_of(record: Record, host: str) -> bool:
    return record.session.value is not None and record.host == host


def _left_alone(known: RepositoryFacts, record: Record) -> bool:
    """Asked last, of the few that it matters of."""
    if record.run_id in known.seen.copied and kept(known.ctx, record):
        return False
    return known.seen.state(record.handle, record.run_id) in SETTLED


def _program(ctx: Context, name: str) -> tuple[Engine, Probe] | None:
    """None for an engine that is not to be had, which is another finding."""
    try:
        engine = load(name, ctx.environ)
        return engine, find_program(ctx, engine)
    except UserError:
        return None


def _left(engine: Engine, query: StoreQuery, located: Located, now: float) -> float | None:
    """Seconds until the engine deletes it, where that is soon."""
    when = engine.expires(query, located) if engine.expires else None
    return when - now if when is not None and when - now < SOON else None


def _completed(known: RepositoryFacts, record: Record) -> bool:
    return any(attempt.status == "completed" for attempt in known.seen.readable(record.run_id))


def _lost(record: Record) -> Finding:
    return Finding(
        "session_lost",
        f"{record.agent_name} no longer has session {record.session.value} of run {record.handle}",
        f'start a new one in the same run: git agent resume {record.handle} --fallback fresh "<message>";'
        f" or forget the run: git agent prune {record.handle}",
    )


def _expiring(record: Record, left: float) -> Finding:
    when = f"in {max(1, int(left // 3600))} h" if left > 0 else "the next time it starts"
    return Finding(
        "session_expiring",
        f"{record.agent_name} deletes session {record.session.value} of run {record.handle} {when}",
        f"continue it: {wording.resume(record)}; or let {record.agent_name} keep sessions longer",
    )
