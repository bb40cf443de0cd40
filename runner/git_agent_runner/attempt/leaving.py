"""Where an engine leaves its work tree's HEAD: agents create branches, and switch to those of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record, Repository
from git_agent_runner.git import discover, in_repo, refs, scrubbed


class Begun(NamedTuple):
    """The state before the engine started: the branch in its work tree, and all branches."""

    branch: str | None
    heads: frozenset[str]


class Left(NamedTuple):
    """HEAD was moved. `made`: to a new branch, which has the run from here on.

    `stray` commits are on no branch: those of a detached HEAD, or those that a switch left behind.
    """

    top: str
    branch: str | None
    commit: str | None
    made: bool
    stray: int


def now(where: Repository, environ: Mapping[str, str]) -> Repository | None:
    """The work tree's state, asked again; None if the engine has removed it."""
    try:
        return discover(where.top, scrubbed(environ))
    except UserError:
        return None


def left(where: Repository | None, begun: Begun, record: Record) -> Left | None:
    """How the engine left HEAD; None if it did not move. `record` has the branch's current name."""
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
