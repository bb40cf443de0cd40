"""`git agent list`: runs, newest first. Its imports are part of what a person waits for."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_args

import click

from git_agent_extractors.model import Status
from git_agent_runner import context
from git_agent_runner.console import parse
from git_agent_runner.console.lines import hint, print_json, table, warn
from git_agent_runner.context import Context, timestamp
from git_agent_runner.core.clock import age, duration, moment, told
from git_agent_runner.core.errors import UsageError
from git_agent_runner.core.model import Note, State
from git_agent_runner.core.text import shown
from git_agent_runner.find.identity import Identities
from git_agent_runner.git import refs
from git_agent_runner.store.records import attempts, listing
from git_agent_runner.store.records.rows import Row

NEWEST = 50
NOTED = "noted"  # the status of a run that only a note knows
SCHEMA = 1
STATES = (*get_args(State)[:-1], *get_args(Status), NOTED)  # a finished run is what its last attempt came to


class Wanted(NamedTuple):
    """Which runs a person asked for. `since` is in seconds since the epoch."""

    branches: tuple[str, ...]
    engine: str | None
    state: str | None
    since: float

    def fits(self, ctx: Context, row: Row) -> bool:
        return (
            (not self.branches or row.branch in self.branches)
            and self.engine in (None, row.agent_name)
            and (moment(row.updated_at) or 0.0) >= self.since
            and self.state in (None, status(ctx, row, _state(ctx, row)))
        )


@click.command(short_help="List runs, newest first")
@click.argument("branches", metavar="[BRANCH]...", nargs=-1)
@click.option("-e", "--engine", metavar="ENGINE", help="Only runs of this engine.")
@click.option("--state", type=click.Choice(STATES), metavar="STATE", help="Only runs in this state: running, failed, …")
@click.option("--since", metavar="TIME", help="Only runs at work since then: 2h, 7d, 2026-11-27.")
@click.option("-n", "count", type=click.IntRange(min=1), metavar="N", help=f"The newest N (default {NEWEST}).")
@click.option("--all", "everything", is_flag=True, help=f"All runs, reviews among them, not the newest {NEWEST}.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    branches: tuple[str, ...],
    engine: str | None,
    state: str | None,
    since: str | None,
    count: int | None,
    everything: bool,
    as_json: bool,
) -> int:
    """List this repository's runs, those of all branches and work trees or of each BRANCH, newest first."""
    parse.only_one({"--all": everything, "-n": count is not None})
    now = time.time()
    wanted = Wanted(branches, engine, state, _since(since, now))
    ctx = context.look()
    newest = None if everything else count or NEWEST
    some = any((branches, engine, state, since))
    found = listing.listing(ctx.layout, now, listing.ListRequest(None if some else newest, everything), ctx.runs.warn)
    by_handle = {row.handle: row for row in found.rows}
    rows = Identities(ctx.repo, ctx.config, now, by_handle.get).current(found.rows)
    if some or newest is None or len(rows) < newest:
        noted = _noted(ctx, {row.handle for row in rows})
        rows = sorted([*rows, *noted], key=lambda row: moment(row.updated_at) or 0.0, reverse=True) if noted else rows
    rows = [row for row in rows if wanted.fits(ctx, row)] if some else rows
    rows = rows[:newest]
    gone = refs.missing(ctx.repo, filter(None, (row.start_commit for row in rows))) if rows else set()
    if as_json:
        runs = [_object(ctx, row, row.start_commit in gone) for row in rows]
        print_json({"schema": SCHEMA, "runs": runs, "problems": [problem.message for problem in found.problems]})
        return 0
    if rows:
        header = ("HANDLE", "ENGINE", "BRANCH", "STATUS", "WHEN", "COMMIT", "SESSION")
        print(table(header, [_cells(ctx, row, now, gone) for row in rows]))
        if any(row.status == NOTED for row in rows):
            hint("`noted` runs are known only from notes; to adopt one: git agent adopt HANDLE")
    else:
        print("no such runs" if some else 'no runs yet: git agent start "<prompt>"')
    for problem in found.problems:
        warn(problem.message, ("fix it by hand, or: git agent doctor --repair",))
    return 0


def _since(text: str | None, now: float) -> float:
    """A time, or how long ago it was. Raises UsageError."""
    if text is None:
        return 0.0
    ago = duration(text)
    then = moment(text) if ago is None else now - ago
    if then is None:
        raise UsageError(f"invalid time '{shown(text)}'", hints=("write how long ago: 2h, 7d; or a date: 2026-11-27",))
    return then


def _noted(ctx: Context, known: set[str]) -> list[Row]:
    """The runs that only notes know, by the newest line of each: those of other clones, and those forgotten here."""
    from git_agent_runner.store import notes  # not in a repository with runs of its own enough

    newest: dict[str, Note] = {}
    found = notes.read(ctx.repo).by_commit.values()
    for note in sorted((note for runs in found for note in runs), key=notes.age):
        newest[note.handle] = note
    return [_row(note) for handle, note in newest.items() if handle not in known]


def _row(note: Note) -> Row:
    return Row(
        updated_at=note.updated_at,
        handle=note.handle,
        run_id=note.run_id,
        agent_name=note.agent_name,
        session_value=note.session.value,
        branch=note.branch,
        status=NOTED,
        attempts=0,
        created_at=timestamp(datetime.fromtimestamp(moment(note.run_id[:16]) or 0.0, UTC)),
        cwd="",
        start_commit=note.commit,
        worktree_id="",
    )


def _cells(ctx: Context, row: Row, now: float, gone: set[str]) -> tuple[str, ...]:
    commit = "commit missing" if row.start_commit in gone else (row.start_commit or "unborn")[:7]
    session = row.session_value or "none"
    return (
        row.handle,
        row.agent_name,
        (row.branch or "(detached)") if row.role == "work" else f"({row.role})",
        status(ctx, row, _state(ctx, row)),
        age(row.updated_at, now),
        commit,
        session,
    )


def _state(ctx: Context, row: Row) -> State:
    return "finished" if row.status == NOTED else listing.state(ctx.layout, row)


def status(ctx: Context, row: Row, now: State) -> str:
    """The last attempt's status, or the state of a run that has not finished."""
    if now != "finished":
        return now
    if row.status:
        return row.status
    last = attempts.latest(ctx.layout, row.run_id)  # git-agent was killed before the record had it, too
    return (last and last.status) or "interrupted"


def _object(ctx: Context, row: Row, commit_missing: bool) -> dict[str, Any]:
    now = _state(ctx, row)
    return {
        "handle": row.handle,
        "runId": row.run_id,
        "engine": row.agent_name,
        "role": row.role,
        "branch": row.branch,
        "state": now,
        "status": "interrupted" if now == "dead" else status(ctx, row, now),
        "attempts": row.attempts,
        "session": row.session_value,
        "createdAt": told(row.created_at),
        "updatedAt": told(row.updated_at),
        "cwd": row.cwd or None,
        "startCommit": row.start_commit,
        "commitMissing": commit_missing,
    }
