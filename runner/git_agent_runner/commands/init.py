"""`git agent init`: let notes follow the commits they are on."""

from __future__ import annotations

import click

from git_agent_runner import context
from git_agent_runner.store import notes


@click.command(short_help="Set up this repository: notes follow amend and rebase")
@click.option("--show-notes", is_flag=True, help="Let git log show the notes too.")
def command(show_notes: bool) -> int:
    """Add refs/notes/agent to notes.rewriteRef of this repository, in addition to what is set already."""
    ctx = context.load()
    added = notes.ensure_config(ctx.repo)
    print("notes now follow amend and rebase" if added else "notes already follow amend and rebase")
    if not notes.exists(ctx.repo):
        print("until the first run has a note, git warns on amend that refs/notes/agent is invalid; ignore that")
    if show_notes:
        shown = notes.show_notes(ctx.repo)
        print("git log now shows the notes" if shown else "git log already shows the notes")
    return 0
