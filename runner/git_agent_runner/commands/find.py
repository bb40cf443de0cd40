"""The run a command is about, and what to say of how it was found."""

from __future__ import annotations

import time
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.errors import UserError
from git_agent_runner.model import Record
from git_agent_runner.present import hint, say
from git_agent_runner.resolve import Resolved, resolve


class Where(NamedTuple):
    """What the person named; nothing means: the branch they stand on."""

    handle: str | None = None
    branch: str | None = None
    commit: str | None = None


def find(ctx: Context, where: Where, *, verbose: bool = False) -> Record | UserError:
    """The run, or `no_run` / `record_elsewhere` for a caller that can go on without one. Raises all other errors."""
    try:
        found = resolve(
            ctx.repo,
            ctx.config,
            ctx.runs,
            time.time(),
            handle=where.handle,
            environ_handle=ctx.environ.get("GIT_AGENT_HANDLE"),
            branch=where.branch,
            commit=where.commit,
        )
    except UserError as error:
        if error.code != "no_run":
            raise
        return error
    _tell(found, verbose=verbose)
    return found.record or _only_noted(found)


def found_record(ctx: Context, where: Where, *, verbose: bool = False) -> Record:
    """The run; raises the reason when there is none here."""
    found = find(ctx, where, verbose=verbose)
    if isinstance(found, UserError):
        raise found
    return found


def newest_with_session(ctx: Context) -> Record | UserError:
    """For `start --resume`: this branch's run, or an older one of the same branch when that one has no session."""
    found = find(ctx, Where())
    if isinstance(found, UserError) or found.session.value:
        return found
    from git_agent_runner.store import cache

    rows = cache.listing(ctx.layout, time.time()).rows
    older = next((row.handle for row in rows if row.branch == found.branch and row.session_value), None)
    return ctx.runs.read(older) if older else found


def _tell(found: Resolved, *, verbose: bool) -> None:
    for line in found.says:
        say(line)
    if verbose:
        say(f"run {found.handle}: {found.how}")
    if found.others:
        hint(f'equally good here: {", ".join(found.others)}; name one to take it: git agent resume HANDLE "<message>"')


def _only_noted(found: Resolved) -> UserError:
    note = found.note
    assert note
    return UserError(
        f"run {found.handle} is known here only by its note: {note.agent_name} ran it on host '{note.host}'",
        code="record_elsewhere",
        hints=(
            "its session is in that engine's store there; resume it on that machine, in that clone",
            'or start a new run here: git agent start "<prompt>"',
        ),
    )
