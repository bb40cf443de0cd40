"""`git agent start --branch B…`: one prompt on several branches, each in a work tree of its own."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from git_agent_runner.commands import pool
from git_agent_runner.context import Context
from git_agent_runner.errors import UsageError, UserError
from git_agent_runner.git import HEADS, in_repo
from git_agent_runner.present import print_json, quote, say, shown, table
from git_agent_runner.refs import commit_of, worktrees
from git_agent_runner.worker import begin

SCHEMA = 1
SUFFIX = ".worktrees"  # beside the repository, so that no tool of it sees the others' files


class Wanted(NamedTuple):
    """What the person asked for, of all branches. `words` are options that every `git agent start` is given."""

    branches: tuple[str, ...]
    message: str
    words: tuple[str, ...] = ()
    engine_args: tuple[str, ...] = ()
    jobs: int = pool.JOBS
    as_json: bool = False


def read_names(text: str) -> tuple[str, ...]:
    """Branch names, one a line; blank lines and those that begin with # are nothing."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def start_all(ctx: Context, wanted: Wanted) -> int:
    """The exit status: 1 when one of them did not come to a good end. Nothing begins where a name is wrong."""
    names = tuple(dict.fromkeys(wanted.branches))
    if not names:
        raise UsageError("no branch is named", hints=("git agent start --branch one --branch two …",))
    for name in names:
        _check(ctx, name)
    places = {name: _place(ctx, name) for name in names}
    done = pool.run([_job(ctx, wanted, name, place) for name, place in places.items()], wanted.jobs)
    _tell(wanted, done)
    return done.exit_status()


def _check(ctx: Context, name: str) -> None:
    """Raises UserError `branch_invalid`, `branch_unknown`."""
    if name.startswith("-") or in_repo(ctx.repo, "check-ref-format", HEADS + name, check=False).status:
        raise UserError(
            f"'{shown(name)}' is no name for a branch", code="branch_invalid", hints=("git branch lists them",)
        )
    if commit_of(ctx.repo, HEADS + name) is None:
        hint = f"make it first: git branch {quote(name)}"
        raise UserError(f"there is no branch '{shown(name)}'", code="branch_unknown", hints=(hint,))


def _place(ctx: Context, name: str) -> str:
    """The work tree where the branch is checked out; made beside the repository where there is none."""
    trees = worktrees(ctx.repo)
    for tree in trees:
        if tree.branch == name and os.path.isdir(tree.path):
            return tree.path
    main = trees[0].path if trees else ctx.repo.top
    path = os.path.join(main + SUFFIX, name.replace("/", "-"))
    if os.path.lexists(path):
        raise UserError(
            f"the work tree of branch '{shown(name)}' would be '{path}', and something else is there",
            code="worktree_taken",
            hints=(f"make one elsewhere: git worktree add DIR {quote(name)}",),
        )
    in_repo(ctx.repo, "worktree", "add", "--quiet", "--", path, name)
    say(f"branch '{shown(name)}' is checked out in '{path}'")
    return path


def _job(ctx: Context, wanted: Wanted, name: str, place: str) -> pool.Job:
    given = ("--", *wanted.engine_args) if wanted.engine_args else ()
    module = ("git_agent_runner.cli", "start", "--json", *wanted.words, "-", *given)
    facts = {"branch": name, "worktree": place}
    return pool.Job(name, facts, lambda: begin(module, wanted.message.encode(), place, ctx.environ))


def _tell(wanted: Wanted, done: pool.Results) -> None:
    failed: list[dict[str, Any]] = [{"branch": one.job.facts["branch"], "reason": one.reason} for one in done.failed]
    if wanted.as_json:
        print_json({"schema": SCHEMA, "started": done.ran, "failed": failed})
        return
    rows = [(one["branch"], one["handle"], pool.outcome(one)) for one in done.ran]
    rows += [(one["branch"], "", f"not begun: {one['reason']}") for one in failed]
    print(table(("BRANCH", "HANDLE", "OUTCOME"), rows))
