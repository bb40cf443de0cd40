"""`git agent reviews`: which commits were reviewed, with which verdict, and which wait for it."""

from __future__ import annotations

import time

import click

from git_agent_runner import context
from git_agent_runner.console.lines import print_json, table
from git_agent_runner.context import Context
from git_agent_runner.core.clock import age
from git_agent_runner.review import form, noted, outcomes, queue
from git_agent_runner.review.outcomes import ReviewOutcome

NEWEST = 50


@click.command(short_help="List the reviews of commits, newest first")
@click.option("--unread", is_flag=True, help="List only those that nobody has looked at.")
@click.option("--all", "everything", is_flag=True, help=f"List all, not only the newest {NEWEST}.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(unread: bool, everything: bool, as_json: bool) -> int:
    """List the reviews of commits, newest first: those made here, those in notes, and those still to come."""
    ctx = context.load(tell=False)
    waiting = [] if unread else queue.waiting(ctx)
    found = outcomes.every(ctx.layout)
    if unread:
        found = [one for one in found if one.unread]
    else:
        found = sorted([*found, *_elsewhere(ctx, {one.commit for one in found})], key=lambda one: one.at, reverse=True)
    found = found if everything else found[:NEWEST]
    if as_json:
        listed = [form.of_listed(one) for one in found]
        print_json({"schema": form.SCHEMA, "reviews": [*(form.of_waiting(one) for one in waiting), *listed]})
        return 0
    now = time.time()
    rows: list[tuple[str, ...]] = [
        (one.commit[:7], one.branch or "", "reviewing" if one.begun else "queued", "", "", "") for one in waiting
    ]
    rows += [_cells(one, now) for one in found]
    if rows:
        print(table(("COMMIT", "BRANCH", "VERDICT", "ENGINE", "WHEN", "SUMMARY"), rows))
    else:
        print("nothing unread" if unread else "no reviews yet: git agent review --commit HEAD")
    return 0


def _elsewhere(ctx: Context, known: set[str]) -> list[ReviewOutcome]:
    """The newest of each commit that is known only from notes."""
    commits = [commit for commit in noted.every(ctx.repo) if commit not in known]
    return [
        ReviewOutcome(
            commit,
            None,
            notes[0].reviewed_at,
            notes[0].engine,
            notes[0].handle,
            verdict=notes[0].verdict,
            host=notes[0].host,
        )
        for commit, notes in noted.read(ctx.repo, commits).items()
        if notes
    ]


def _cells(one: ReviewOutcome, now: float) -> tuple[str, ...]:
    word = "none" if one.verdict is None else "block" if one.verdict.blocks else "pass"
    text = one.verdict.summary if one.verdict else one.error[1] if one.error else ""
    where = f"{one.engine or ''}{f' at {one.host}' if one.host else ''}"
    new = "*" if one.unread else ""
    return (f"{one.commit[:7]}{new}", one.branch or "", word, where, age(one.at, now), text[:60])
