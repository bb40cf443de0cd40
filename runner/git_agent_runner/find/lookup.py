"""The run a command is about, and what to say of how it was found."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.console.lines import hint, say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note, Record
from git_agent_runner.core.text import shown
from git_agent_runner.engines import wording
from git_agent_runner.find import detached
from git_agent_runner.find.resolve import Resolved, resolve
from git_agent_runner.find.search import Search
from git_agent_runner.git import trees
from git_agent_runner.store.files.layout import HANDLE_LENGTH, HEX
from git_agent_runner.store.records.index import PREFIX_LENGTH

if TYPE_CHECKING:
    from git_agent_runner.store.records.rows import Row


class Elsewhere(UserError):  # noqa: N818  reads as what it says
    """The run is known here only from its note."""

    def __init__(self, note: Note) -> None:
        super().__init__(
            f"run {note.handle} is known only from its note: {note.agent_name} ran it on host '{shown(note.host)}'",
            code="record_elsewhere",
            hints=(
                *_ways(note),
                'or start a new run here: git agent start "<prompt>"',
            ),
        )
        self.note = note


def _ways(note: Note) -> tuple[str, ...]:
    """On the machine that ran it, the record was removed (`prune`), or is in another clone."""
    adopt = f"git agent adopt {note.handle}"
    if note.host == os.uname().nodename:
        return (f"it was run on this machine; to adopt it again here: {adopt}",)
    return (
        "its session is in that engine's store there; resume it on that machine, in that clone",
        f"or, if {note.agent_name} has that session here, too: {adopt}",
    )


class Where(NamedTuple):
    """What the person named; nothing means: the branch they are on."""

    handle: str | None = None
    branch: str | None = None
    commit: str | None = None


def find(ctx: Context, where: Where, *, verbose: bool = False, ties: bool = True) -> Record | UserError:
    """The run, or the reason why there is none, for a caller that may continue without one. Without `ties` nothing is
    written: a detached run that came along to this branch is not moved to it.
    """
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
        return error
    _tell(found, verbose=verbose)
    if ties and found.record and found.ties:
        say(found.ties)
        return tied(ctx, found.record)
    return found.record or _only_noted(ctx, found)


def tied(ctx: Context, record: Record) -> Record:
    """The run as it is tied from here on; what could not be written is a warning."""
    from git_agent_runner.find.tie import tie  # a rare need

    done = tie(ctx, record)
    for text in done.warnings:
        warn(text)
    return done.record


def found_record(ctx: Context, where: Where, *, verbose: bool = False, ties: bool = True) -> Record:
    """The run; raises the reason when there is none here."""
    found = find(ctx, where, verbose=verbose, ties=ties)
    if isinstance(found, UserError):
        raise found
    return found


def named(ctx: Context, name: str | None, *, verbose: bool = False, ties: bool = True) -> Record:
    """The run of a handle or its beginning, else of a branch; this branch's without a name. Raises the reason when
    there is none.
    """
    if name is not None and PREFIX_LENGTH <= len(name) <= HANDLE_LENGTH and not name.strip(HEX):
        found = find(ctx, Where(handle=name), verbose=verbose, ties=ties)
        if isinstance(found, Record):
            return found
        if found.code != "unknown_handle":
            raise found
        of_branch = find(ctx, Where(branch=name), verbose=verbose, ties=ties)
        if isinstance(of_branch, Record):
            return of_branch
        raise found
    return found_record(ctx, Where(branch=name), verbose=verbose, ties=ties)


def newest_with_session(ctx: Context, engine: str | None) -> Record | UserError:
    """For `start --resume`: this branch's run, or an older one of it when that has no session, or not that engine."""
    found = find(ctx, Where())
    if isinstance(found, UserError):
        return _beside_damaged(ctx, found, engine) if found.code == "corrupt_record" else found
    if _fits(found.session.value, found.agent_name, engine):
        return found
    older = _older(ctx, found.branch, engine)
    if engine in (None, found.agent_name):
        return older or found
    what = f"branch '{found.branch}'" if found.branch else "the detached HEAD"
    passed = f"skipping {found.agent_name}'s run {found.handle} of {what}"
    say(f"{passed}: {wording.resume(found)} continues it")
    return older or UserError(f"no run of {engine} found for {what}", code="no_run")


def _beside_damaged(ctx: Context, error: UserError, engine: str | None) -> Record | UserError:
    """An older run of this branch, where the record of its own cannot be read; the error where there is none."""
    older = _older(ctx, ctx.repo.branch, engine)
    if older is None:
        return error
    warn(f"{error.message}; using the older run {older.handle}", error.hints)
    return older


def _older(ctx: Context, branch: str | None, engine: str | None) -> Record | None:
    """The run of this branch that has a session and began last, by the rules of every search by branch."""
    from git_agent_runner.store.records.rows import by_start  # a rare need

    search = Search(ctx.repo, ctx.config, ctx.runs, time.time())
    search.branch = branch
    mine = detached.own(search, ctx.repo.head) if branch is None else _of_branch(search)
    rows = sorted(mine, key=by_start)
    for line in search.says:
        say(line)
    fit = (row for row in rows if _fits(row.session_value, row.agent_name, engine))
    found = next((row.handle for row in fit), None)
    return ctx.runs.read(found)._replace(branch=branch) if found else None


def _of_branch(search: Search) -> list[Row]:
    return [row for row in search.near_rows if row.branch in search.names and search.counts(row)]


def _fits(session: str | None, agent_name: str, engine: str | None) -> bool:
    return session is not None and engine in (None, agent_name)


def _tell(found: Resolved, *, verbose: bool) -> None:
    for line in found.says:
        say(line)
    if verbose:
        say(f"run {found.handle}: {found.how}")
    if found.others:
        hint(f'equally good here: {", ".join(found.others)}; name one to take it: git agent resume HANDLE "<message>"')


def _only_noted(ctx: Context, found: Resolved) -> UserError:
    note = found.note
    assert note
    if os.path.isdir(ctx.layout.run(note.run_id)):
        return UserError(
            f"the record of run {found.handle} is missing or damaged; its run directory is here",
            code="corrupt_record",
            hints=("rebuild it: git agent doctor --repair",),
        )
    return Elsewhere(note)


def resume_line(ctx: Context, record: Record, *, pointed: bool = True) -> str:
    """The words that resume this run from where the person stands; by name when that is not where it belongs."""
    here = record.branch == ctx.repo.branch and (
        pointed if record.branch else record.worktree_id == trees.here(ctx.repo)
    )
    handle = "" if here else f"{record.handle} "
    session = "" if record.session.value else "--session VALUE "
    return f"git agent resume {handle}{session}{wording.message(record.agent_name)}"
