"""`git agent show`: one run, with its attempts and what would happen on a resume."""

from __future__ import annotations

import click

from git_agent_runner import context
from git_agent_runner.find.lookup import named
from git_agent_runner.view.run import show


@click.command(short_help="Show one run with its attempts")
@click.argument("name", metavar="[HANDLE|BRANCH]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name: str | None, as_json: bool) -> int:
    """Show the run HANDLE (a unique prefix of 4 or more is enough), BRANCH's, or this branch's, with its attempts."""
    ctx = context.look()
    return show(ctx, named(ctx, name), as_json=as_json, attempts_too=True)
