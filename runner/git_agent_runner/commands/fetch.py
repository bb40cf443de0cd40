"""`git agent fetch`: bring the runs of other clones here."""

from __future__ import annotations

import click

from git_agent_runner import context
from git_agent_runner.maintain import exchange, sharing
from git_agent_runner.review.noted import REVIEWS


@click.command(short_help="Bring the runs of other clones here")
@click.argument("remote", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(remote: str | None, as_json: bool) -> int:
    """Fetch the notes of REMOTE and merge them with ours. Nothing is started.

    REMOTE is this branch's, else origin, else the only one.
    """
    ctx = context.load()
    name = sharing.choose(ctx, remote)
    exchange.tell(ctx, name, sharing.fetch(ctx, name, REVIEWS), as_json=as_json)
    return 0
