"""`git agent push`: bring runs to other clones. Git itself carries notes only when told to."""

from __future__ import annotations

import time

import click

from git_agent_runner import context
from git_agent_runner.attempt.go import closed
from git_agent_runner.console.lines import print_json
from git_agent_runner.context import Context
from git_agent_runner.maintain import exchange, sharing
from git_agent_runner.review.noted import REVIEWS
from git_agent_runner.store import notes
from git_agent_runner.store.notes import joining
from git_agent_runner.store.records import listing

SCHEMA = 1


@click.command(short_help="Share runs with other clones")
@click.argument("remote", required=False)
@click.option("-n", "--dry-run", is_flag=True, help="Print how many runs each side lacks; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(remote: str | None, dry_run: bool, as_json: bool) -> int:
    """Merge the notes of REMOTE with ours, and push them. REMOTE is this branch's, else origin, else the only one.

    Retried if another clone pushed first. Hooks for pushes are not run. Nothing of either side is lost: if a run has
    two notes, the newer one counts.
    """
    ctx = context.look() if dry_run else context.load()
    name = sharing.choose(ctx, remote)
    if dry_run:
        _compare(ctx, name, as_json=as_json)
        return 0
    _settle(ctx)
    exchange.tell(ctx, name, sharing.push(ctx, name, REVIEWS), as_json=as_json)
    return 0


def _settle(ctx: Context) -> None:
    """A run whose git-agent was killed has no note yet, so other clones would take an older one for its branch's."""
    for row in listing.listing(ctx.layout, time.time()).rows:
        if row.status != "completed":
            closed(ctx, ctx.runs.read(row.handle))


def _compare(ctx: Context, remote: str, *, as_json: bool) -> None:
    found = joining.compare(ctx.repo, notes.tip(ctx.repo, notes.REF), sharing.look(ctx, remote))
    if as_json:
        print_json({"schema": SCHEMA, "remote": remote, "toPush": found.lacking, "toFetch": found.got})
    else:
        print(f"to push    {exchange.runs(found.lacking)}\nto fetch   {exchange.runs(found.got)}")
