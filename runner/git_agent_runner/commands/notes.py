"""`git agent notes`: bring runs to other clones, and theirs here. Git itself carries notes only when told to."""

from __future__ import annotations

import time

import click

from git_agent_runner import context
from git_agent_runner.attempt.go import closed
from git_agent_runner.console.lines import hint, print_json, say
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.engines import wording
from git_agent_runner.find.resolve import resolve
from git_agent_runner.git import settings
from git_agent_runner.maintain import sharing
from git_agent_runner.maintain.sharing import BothSides
from git_agent_runner.review import noted
from git_agent_runner.store import notes
from git_agent_runner.store.notes import joining
from git_agent_runner.store.records import listing

SCHEMA = 1
REMOTE = click.argument("remote", required=False)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(short_help="Share runs with other clones through git notes")
def command() -> None:
    """Share the notes of runs with a REMOTE: this branch's, else origin, else the only one."""


@command.command(short_help="Join the remote's notes with ours, and push them")
@REMOTE
@JSON
def push(remote: str | None, as_json: bool) -> int:
    """Fetch, merge and push; retried if another clone pushed first. Hooks for pushes are not run.

    Nothing of either side is lost: if a run has two notes, the newer one counts.
    """
    ctx = context.load()
    name = sharing.choose(ctx, remote)
    _settle(ctx)
    _tell(ctx, name, sharing.push(ctx, name), as_json=as_json)
    return 0


def _settle(ctx: Context) -> None:
    """A run whose git-agent was killed has no note yet, so other clones would take an older one for its branch's."""
    for row in listing.listing(ctx.layout, time.time()).rows:
        if row.status != "completed":
            closed(ctx, ctx.runs.read(row.handle))


@command.command(short_help="Join the remote's notes with ours")
@REMOTE
@JSON
def fetch(remote: str | None, as_json: bool) -> int:
    """Fetch the remote's notes and merge them with ours. Nothing is started."""
    ctx = context.load()
    name = sharing.choose(ctx, remote)
    _tell(ctx, name, sharing.fetch(ctx, name), as_json=as_json)
    return 0


@command.command(short_help="Compare the remote's notes with ours")
@REMOTE
@JSON
def status(remote: str | None, as_json: bool) -> int:
    """Print how many runs a push and a fetch would transfer. Changes nothing."""
    ctx = context.look()
    name = sharing.choose(ctx, remote)
    found = joining.compare(ctx.repo, notes.tip(ctx.repo, notes.REF), sharing.look(ctx, name))
    if as_json:
        print_json({"schema": SCHEMA, "remote": name, "toPush": found.lacking, "toFetch": found.got})
    else:
        print(f"to push    {_runs(found.lacking)}\nto fetch   {_runs(found.got)}")
    return 0


def _tell(ctx: Context, remote: str, done: BothSides, *, as_json: bool) -> None:
    runs, reviews = done
    if notes.exists(ctx.repo) and notes.ensure_config(ctx.repo):
        say("set up git to keep agent notes through amend and rebase (shown once)")
    if any(reviews):
        noted.ensure_config(ctx.repo)
    if as_json:
        own = {"fetchedReviews": reviews.fetched, "pushedReviews": reviews.pushed}
        print_json({"schema": SCHEMA, "remote": remote, "fetched": runs.fetched, "pushed": runs.pushed, **own})
        return
    print(f"fetched {_runs(runs.fetched)} from {remote}, pushed {_runs(runs.pushed)}")
    if any(reviews):
        print(f"verdicts of reviews: fetched {reviews.fetched}, pushed {reviews.pushed}")
    if runs.fetched:
        hint(_way_on(ctx))


def _way_on(ctx: Context) -> str:
    """How to continue with what came for this branch."""
    try:
        found = resolve(ctx.repo, settings.read(ctx.repo), ctx.runs, time.time())
    except UserError:
        return "see them: git agent list"
    here = f"branch '{ctx.repo.branch}'" if ctx.repo.branch else "this work tree"
    if found.record:
        return f"run {found.handle} is that of {here}: git agent resume {wording.message(found.record.agent_name)}"
    engine = shown(found.note.agent_name) if found.note else "its engine"
    return f"run {found.handle} is that of {here}; if {engine} has its session here: git agent adopt {found.handle}"


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
