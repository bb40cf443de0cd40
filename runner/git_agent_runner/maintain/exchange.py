"""What `git agent push` and `git agent fetch` print of what came and went."""

from __future__ import annotations

import time

from git_agent_runner.console.lines import hint, print_json, say
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.engines import wording
from git_agent_runner.find.resolve import resolve
from git_agent_runner.git import settings
from git_agent_runner.maintain.sharing import BothSides
from git_agent_runner.store import notes

SCHEMA = 1


def tell(ctx: Context, remote: str, done: BothSides, *, as_json: bool) -> None:
    lines, reviews = done
    if notes.exists(ctx.repo) and notes.ensure_config(ctx.repo):
        say("set up git to keep agent notes through amend and rebase (shown once)")
    if as_json:
        own = {"fetchedReviews": reviews.fetched, "pushedReviews": reviews.pushed}
        print_json({"schema": SCHEMA, "remote": remote, "fetched": lines.fetched, "pushed": lines.pushed, **own})
        return
    print(f"fetched {runs(lines.fetched)} from {remote}, pushed {runs(lines.pushed)}")
    if any(reviews):
        print(f"review verdicts: fetched {reviews.fetched}, pushed {reviews.pushed}")
    if lines.fetched:
        hint(_way_on(ctx))


def _way_on(ctx: Context) -> str:
    """How to continue with what came for this branch."""
    try:
        found = resolve(ctx.repo, settings.read(ctx.repo), ctx.runs, time.time())
    except UserError:
        return "see them: git agent list"
    here = f"branch '{ctx.repo.branch}'" if ctx.repo.branch else "this work tree"
    if found.record:
        return f"run {found.handle} belongs to {here}: git agent resume {wording.message(found.record.agent_name)}"
    engine = shown(found.note.agent_name) if found.note else "its engine"
    return f"run {found.handle} belongs to {here}; if {engine} has its session here: git agent adopt {found.handle}"


def runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
