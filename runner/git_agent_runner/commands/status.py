"""`git agent status`: this branch's run, in a few lines."""

from __future__ import annotations

import click

from git_agent_runner import context
from git_agent_runner.find.lookup import Where, found_record
from git_agent_runner.view.run import show


@click.command(short_help="Show this branch's run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Explain how the run was found.")
def command(as_json: bool, verbose: bool) -> int:
    """Show the current branch's run: engine, session, state, and whether it can be resumed."""
    ctx = context.look()
    record = found_record(ctx, Where(), verbose=verbose)
    return show(ctx, record, as_json=as_json, attempts_too=False)
