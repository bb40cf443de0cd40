"""`git agent list`: runs, newest first. Its imports are part of what a person waits for."""

from __future__ import annotations

import time
from typing import Any

import click

from git_agent_runner import context, refs
from git_agent_runner.context import Context
from git_agent_runner.identity import Identities
from git_agent_runner.model import State
from git_agent_runner.present import print_json, table, warn
from git_agent_runner.store import attempts, cache
from git_agent_runner.store.cache import Row
from git_agent_runner.times import moment

NEWEST = 50
SCHEMA = 1


@click.command(short_help="List runs, newest first")
@click.option("--all", "everything", is_flag=True, help=f"All runs, not the newest {NEWEST}.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(everything: bool, as_json: bool) -> int:
    """List this repository's runs, those of all branches and work trees, newest first."""
    ctx = context.look()
    now = time.time()
    found = cache.listing(ctx.layout, now, None if everything else NEWEST)
    by_handle = {row.handle: row for row in found.rows}
    rows = Identities(ctx.repo, ctx.config, now, by_handle.get).current(found.rows)
    gone = refs.missing(ctx.repo, filter(None, (row.start_commit for row in found.rows))) if found.rows else set()
    if as_json:
        runs = [_object(ctx, row, row.start_commit in gone) for row in rows]
        print_json({"schema": SCHEMA, "runs": runs, "problems": [problem.message for problem in found.problems]})
        return 0
    if rows:
        header = ("HANDLE", "ENGINE", "BRANCH", "STATUS", "WHEN", "COMMIT", "SESSION")
        print(table(header, [_cells(ctx, row, now, gone) for row in rows]))
    else:
        print('no runs yet: git agent start "<prompt>"')
    for problem in found.problems:
        warn(problem.message, ("mend it by hand, or: git agent doctor --repair",))
    return 0


def _cells(ctx: Context, row: Row, now: float, gone: set[str]) -> tuple[str, ...]:
    commit = "commit missing" if row.start_commit in gone else (row.start_commit or "unborn")[:7]
    session = row.session_value or "none"
    return (
        row.handle,
        row.agent_name,
        row.branch or "(detached)",
        status(row, state(ctx, row)),
        age(row.updated_at, now),
        commit,
        session,
    )


def state(ctx: Context, row: Row) -> State:
    """What the run's locks say. A completed run is at rest, which saves a look at its attempts."""
    if row.status == "completed" and not attempts.queued(ctx.layout, row.handle):
        return "finished"
    return attempts.state(ctx.layout, row.handle, row.run_id)


def status(row: Row, now: State) -> str:
    """The last attempt's status, or the state of a run that has not finished."""
    return row.status if now == "finished" and row.status else now


def age(text: str, now: float) -> str:
    """`3 min ago`, from a record's time; the text itself where it is none."""
    then = moment(text)
    if then is None:
        return text
    seconds = now - then
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{max(0, int(seconds))} s ago"


def _object(ctx: Context, row: Row, commit_missing: bool) -> dict[str, Any]:
    now = state(ctx, row)
    return {
        "handle": row.handle,
        "runId": row.run_id,
        "engine": row.agent_name,
        "branch": row.branch,
        "state": now,
        "status": "interrupted" if now == "dead" else status(row, now),
        "attempts": row.attempts,
        "session": row.session_value,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
        "cwd": row.cwd,
        "startCommit": row.start_commit,
        "commitMissing": commit_missing,
    }
