"""`git agent show`: one run, with its attempts and what would happen on a resume."""

from __future__ import annotations

import click

from git_agent_runner import context
from git_agent_runner.find.lookup import Where, found_record
from git_agent_runner.view.run import show


@click.command(short_help="Show one run with its attempts")
@click.argument("handle", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(handle: str | None, as_json: bool) -> int:
    """Show the run HANDLE (a unique prefix of 4 or more is enough), or this branch's run, with all its attempts."""
    ctx = context.look()
    return show(ctx, found_record(ctx, Where(handle)), as_json=as_json, attempts_too=True)
