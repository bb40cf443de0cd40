"""`git agent stop`: end what is running, of one branch or of all. The sessions stay as they are."""

from __future__ import annotations

import time

import click

from git_agent_runner import context
from git_agent_runner.attempt import queue
from git_agent_runner.attempt.go import closed
from git_agent_runner.console import parse
from git_agent_runner.console.lines import say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.find.lookup import named, resume_line
from git_agent_runner.store.records import attempts, listing


@click.command(short_help="End running agents; their sessions can be resumed")
@click.argument("name", metavar="[HANDLE|BRANCH]", required=False)
@click.option("--all", "everything", is_flag=True, help="End every running agent of the repository.")
def command(name: str | None, everything: bool) -> int:
    """End the running attempt of a run, its engine with all that it started: of the run HANDLE, of BRANCH's, or of this
    branch's. A later resume continues its session.
    """
    parse.only_one({"--all": everything, "a run": name is not None})
    ctx = context.load(warn=context.once())
    if not everything:
        record = named(ctx, name)
        if not _stopped(ctx, record):
            say(f"run {record.handle} is not running")
        return 0
    return _all(ctx)


def _all(ctx: Context) -> int:
    """Each by itself: one that cannot be ended keeps no other from it."""
    rows = listing.listing(ctx.layout, time.time()).rows
    running = [row.handle for row in rows if listing.state(ctx.layout, row) == "running"]
    if not running:
        say("nothing is running")
    failed = 0
    for handle in running:
        try:
            _stopped(ctx, ctx.runs.read(handle))
        except UserError as error:
            warn(error.message, error.hints)
            failed = 1
    return failed


def _stopped(ctx: Context, record: Record) -> bool:
    """False where there was nothing to end."""
    if attempts.standing(ctx.layout, record.handle, record.run_id) != "running":
        return False
    done = closed(ctx, queue.end_live(ctx, record, "stop"))  # where its git-agent is gone, we settle it
    branch = f", branch '{done.branch}'" if done.branch else ""
    say(f"stopped run {done.handle} ({done.agent_name}{branch}); to continue: {resume_line(ctx, done)}")
    return True
