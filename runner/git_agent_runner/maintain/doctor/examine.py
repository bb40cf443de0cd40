"""What `git agent doctor` finds: every kind of finding, looked for in one order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from git_agent_runner import context
from git_agent_runner.core.errors import UserError
from git_agent_runner.maintain.doctor import aside, attempts, locks, records, refs, sessions, setup
from git_agent_runner.maintain.doctor import notes as damage
from git_agent_runner.maintain.doctor.finding import Finding, RepositoryFacts, look

Finder = Callable[[RepositoryFacts], Iterator[Finding]]
# In this order: what keeps others from being fixed comes first.
_FIRST: tuple[Finder, ...] = (setup.settings, setup.read_only, setup.identity)
_THEN: tuple[Finder, ...] = (
    locks.stale,
    attempts.scraps,
    attempts.half_written,
    records.corrupt,
    records.doubled,
    records.unrecorded,
    records.without_directory,
    attempts.unsettled,
    damage.damaged,
    refs.pointers,
    refs.carried,
    refs.malformed,
    refs.unnoted,
    setup.engines,
    aside.put_aside,
    sessions.sessions,
)


def examine(*more: Finder) -> tuple[RepositoryFacts, list[Finding]]:
    """What there is to know, and what is wrong. `more` are the finders of packages above this one."""
    refused: list[UserError] = []
    ctx = context.load(refused=refused.append)
    known = look(ctx, time.time(), tuple(refused))
    return known, [finding for finder in (*_FIRST, *more, *_THEN) for finding in finder(known)]
