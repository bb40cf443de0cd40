"""`git agent diff`: what a run, or one attempt of it, changed, as git shows it."""

from __future__ import annotations

import subprocess

import click

from git_agent_runner import context
from git_agent_runner.console.lines import hint, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.core.text import shown
from git_agent_runner.find.lookup import named
from git_agent_runner.git import scrubbed
from git_agent_runner.git.changes import empty_tree
from git_agent_runner.git.refs import is_oid, missing
from git_agent_runner.store.records import attempts


@click.command(short_help="Show what a run has committed")
@click.argument("name", metavar="[HANDLE|BRANCH]", required=False)
@click.option("--attempt", "number", type=click.IntRange(min=1), metavar="N", help="Only this attempt.")
@click.option("--stat", is_flag=True, help="Show the files and the number of changed lines only.")
def command(name: str | None, number: int | None, stat: bool) -> int:
    """Show what was committed from the first to the last attempt of a run, with git's own pager and settings.

    Which run: by its HANDLE or its BRANCH; this branch's without one.
    """
    ctx = context.look()
    record = named(ctx, name)
    found, problems = attempts.readable(ctx.layout, record.run_id)
    for problem in problems:
        warn(problem)
    story = attempts.chosen(record, found, number)
    before, after = story[0].head_before, next((one.head_after for one in reversed(story) if one.head_after), None)
    if after is None or after == before:
        hint(_nothing(record, story))
        return 0
    heads = [head for head in (before, after) if head]
    if gone := [head for head in heads if not is_oid(head)] or sorted(missing(ctx.repo, heads)):
        raise UserError(
            f"commit {shown(gone[0][:12])} of run {record.handle} is missing from this repository",
            code="unknown_revision",
            hints=("git has deleted it, or it is in another clone",),
        )
    if story[-1].dirty:
        hint("what is not committed is left out: git diff HEAD")
    return _git(ctx, before or empty_tree(ctx.repo), after, *(["--stat"] if stat else []))


def _nothing(record: Record, story: list[Attempt]) -> str:
    which = f"attempt {story[0].number} of run {record.handle}" if len(story) == 1 else f"run {record.handle}"
    more = "; what is not committed: git diff HEAD" if story[-1].dirty else ""
    return f"{which} has committed nothing{more}"


def _git(ctx: Context, before: str, after: str, *options: str) -> int:
    """Its output, pager and settings are the person's."""
    argv = (
        "git",
        f"--git-dir={ctx.repo.git_dir}",
        f"--work-tree={ctx.repo.top}",
        "diff",
        *options,
        before,
        after,
        "--",
    )
    return subprocess.run(argv, cwd=ctx.cwd, env=scrubbed(ctx.environ), check=False).returncode
