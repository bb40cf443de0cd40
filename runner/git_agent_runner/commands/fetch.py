"""`git agent fetch`: bring the runs of other clones here."""

from __future__ import annotations

import click

from git_agent_runner import context
from git_agent_runner.find.remote import choose
from git_agent_runner.maintain import conversations, exchange, sharing
from git_agent_runner.review.noted import REVIEWS


@click.command(short_help="Bring the runs of other clones here")
@click.argument("remote", required=False)
@click.option("--sessions", is_flag=True, help="Fetch all conversations now, not when a resume needs one.")
@click.option("--prune", is_flag=True, help="Fetch them, and forget those that REMOTE has no more.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(remote: str | None, sessions: bool, prune: bool, as_json: bool) -> int:
    """Fetch the notes of REMOTE and merge them with ours. Nothing is started, and no conversation is put anywhere.

    REMOTE is this branch's, else origin, else the only one.
    """
    ctx = context.load()
    name = choose(ctx, remote)
    done = sharing.fetch(ctx, name, REVIEWS)
    came = conversations.fetch(ctx, name, prune=prune) if sessions or prune else []
    exchange.tell(ctx, name, done, came, as_json=as_json)
    return 0
