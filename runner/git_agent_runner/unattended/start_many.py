"""`git agent start --branch B…`: one prompt on several branches, each in its own work tree."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from git_agent_runner.console.lines import print_json, say, table
from git_agent_runner.console.parse import read_list
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.text import quote, shown
from git_agent_runner.git import HEADS, in_repo
from git_agent_runner.git.refs import commit_of, worktrees
from git_agent_runner.unattended import pool
from git_agent_runner.unattended.worker import begin

SCHEMA = 1
SUFFIX = ".worktrees"  # beside the repository, so that no tool of it sees the others' files


class StartManyRequest(NamedTuple):
    """What the person asked for, of all branches. `words` are options that every `git agent start` is given."""

    branches: tuple[str, ...]
    message: str
    words: tuple[str, ...] = ()
    engine_args: tuple[str, ...] = ()
    jobs: int = pool.JOBS
    as_json: bool = False


def read_names(file: str) -> tuple[str, ...]:
    """The branches that a file names, one a line; blank lines and those that begin with # are nothing.

    `-` is standard input. Raises UsageError.
    """
    lines = (line.strip() for line in read_list(file).split("\n"))
    return tuple(line for line in lines if line and not line.startswith("#"))


def start_all(ctx: Context, wanted: StartManyRequest) -> int:
    """The exit status: 1 when one of them did not come to a good end. Nothing begins where a name is wrong."""
    names = tuple(dict.fromkeys(wanted.branches))
    if not names:
        raise UsageError("no branch is named", hints=("git agent start --branch one --branch two …",))
    for name in names:
        _check(ctx, name)
    places = _places(ctx, names)
    done = pool.run([_job(ctx, wanted, name, place) for name, place in places.items()], wanted.jobs)
    _tell(wanted, done)
    return done.exit_status()


def _check(ctx: Context, name: str) -> None:
    """Raises UserError `branch_invalid`, `branch_unknown`."""
    # What git takes for something else, such as HEAD or @, it would check out without any branch.
    if in_repo(ctx.repo, "check-ref-format", "--branch", name, check=False)[:2] != (0, f"{name}\n"):
        raise UserError(
            f"'{shown(name)}' is not a branch name", code="branch_invalid", hints=("git branch lists them",)
        )
    if commit_of(ctx.repo, HEADS + name) is None:
        hint = f"make it first: git branch {quote(name)}" if ctx.repo.head else "make a first commit; there is none yet"
        raise UserError(f"there is no branch '{shown(name)}'", code="branch_unknown", hints=(hint,))


def _places(ctx: Context, names: tuple[str, ...]) -> dict[str, str]:
    """The work trees where the branches are checked out; those that are none yet are made once all of them can be."""
    trees = worktrees(ctx.repo)
    known = {tree.branch: tree.path for tree in reversed(trees)}
    main = trees[0].path if trees else ctx.repo.top
    new = {name: os.path.join(main + SUFFIX, name.replace("/", "-")) for name in names if name not in known}
    registered = _registered(ctx) if new else []
    for name, path in new.items():
        _free(name, path, registered)
        if other := next((one for one in new if one != name and new[one] == path), None):
            raise _taken(name, path, f"the one of branch '{shown(other)}' would be there, too")
    for name, path in new.items():
        in_repo(ctx.repo, "worktree", "add", "--quiet", "--", path, name)
        say(f"branch '{shown(name)}' is checked out in '{path}'")
    return {name: new.get(name) or known[name] for name in names}


def _registered(ctx: Context) -> list[str]:
    """Where git has work trees, those included whose directory is gone."""
    facts = in_repo(ctx.repo, "worktree", "list", "--porcelain", "-z").out.split("\0")
    return [fact.removeprefix("worktree ") for fact in facts if fact.startswith("worktree ")]


def _free(name: str, path: str, registered: list[str]) -> None:
    """Raises UserError `worktree_taken`. Git keeps the place of a work tree whose directory is gone."""
    if os.path.lexists(path):
        raise _taken(name, path, "something else is there")
    if path in registered:
        free = "if that is deleted for good: git worktree prune (a locked one: git worktree unlock, first)"
        raise _taken(name, path, "it is in use for another", free)


def _taken(name: str, path: str, why: str, *hints: str) -> UserError:
    return UserError(
        f"the work tree of branch '{shown(name)}' would be '{path}', and {why}",
        code="worktree_taken",
        hints=(*hints, f"make one elsewhere: git worktree add DIR {quote(name)}"),
    )


def _job(ctx: Context, wanted: StartManyRequest, name: str, place: str) -> pool.RunJob:
    given = ("--", *wanted.engine_args) if wanted.engine_args else ()
    module = ("git_agent_runner.entry", "start", "--json", *wanted.words, "-", *given)
    facts = {"branch": name, "worktree": place}
    return pool.RunJob(name, facts, lambda: begin(module, wanted.message.encode(), place, ctx.environ))


def _tell(wanted: StartManyRequest, done: pool.Results) -> None:
    failed: list[dict[str, Any]] = [{"branch": one.job.facts["branch"], "reason": one.reason} for one in done.failed]
    if wanted.as_json:
        print_json({"schema": SCHEMA, "started": done.ran, "failed": failed})
        return
    rows = [(one["branch"], one["handle"], pool.outcome(one)) for one in done.ran]
    rows += [(one["branch"], "", f"not started: {one['reason']}") for one in failed]
    print(table(("BRANCH", "HANDLE", "OUTCOME"), rows))
