"""What `git agent doctor` finds: every kind of finding, looked for in one order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module

from git_agent_runner import context
from git_agent_runner.core.errors import UserError
from git_agent_runner.maintain.doctor import aside, attempts, locks, records, refs, sessions, setup
from git_agent_runner.maintain.doctor import notes as damage
from git_agent_runner.maintain.doctor.finding import Finding, RepositoryFacts, look


def _of_hooks(known: RepositoryFacts) -> Iterator[Finding]:
    """The hooks are a package above this one, as in the table of commands."""
    found: Iterator[Finding] = import_module("git_agent_hooks.finding").lost_hooks(known)
    return found


# In this order: what keeps others from being fixed comes first.
FINDERS: tuple[Callable[[RepositoryFacts], Iterator[Finding]], ...] = (
    setup.settings,
    setup.read_only,
    setup.identity,
    _of_hooks,
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


def examine() -> tuple[RepositoryFacts, list[Finding]]:
    refused: list[UserError] = []
    ctx = context.load(refused=refused.append)
    known = look(ctx, time.time(), tuple(refused))
    return known, [finding for finder in FINDERS for finding in finder(known)]
