"""Where an engine leaves its work tree's HEAD: agents make branches of their own, and visit those of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record, Repository
from git_agent_runner.git import discover, in_repo, refs, scrubbed


class Begun(NamedTuple):
    """What was there before the engine: the branch in its work tree, and all branches."""

    branch: str | None
    heads: frozenset[str]


class Left(NamedTuple):
    """HEAD is elsewhere than it was. `made`: on a branch that is new, which has the run from now on.

    `stray` commits are on no branch: those of a detached HEAD, or those that a switch left behind.
    """

    top: str
    branch: str | None
    commit: str | None
    made: bool
    stray: int


def now(where: Repository, environ: Mapping[str, str]) -> Repository | None:
    """The work tree's facts, asked again; None where the engine has removed it."""
    try:
        return discover(where.top, scrubbed(environ))
    except UserError:
        return None


def left(where: Repository | None, begun: Begun, record: Record) -> Left | None:
    """None where HEAD is where it was. `record` has the name that the run's branch has now."""
    if where is None:
        return None
    branch = where.branch or refs.busy_branch(where.git_dir)
    if branch in (begun.branch, record.branch):
        return None
    made = branch is not None and branch not in begun.heads and where.head is not None
    before = "HEAD" if branch is None else "HEAD@{1}"
    words = ("rev-list", "--count", before, "--not", "--branches", "--remotes", "--")
    count = in_repo(where, *words, check=False).out.strip()
    return Left(where.top, branch, where.head, made, int(count or 0))
