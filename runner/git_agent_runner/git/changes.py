"""What happened to a work tree between two commits, in numbers, and what is not committed there."""

from __future__ import annotations

import re
from typing import NamedTuple

from git_agent_runner.core.model import Repository
from git_agent_runner.git import in_repo, run
from git_agent_runner.git.refs import is_oid


class Committed(NamedTuple):
    commits: int
    files: int
    added: int
    removed: int


def between(repo: Repository, before: str | None, after: str | None) -> Committed | None:
    """From one commit (None: from nothing) to another; None where one of them is missing, or there is none."""
    span = _span(before, after)
    if span is None or after is None:
        return None
    count = in_repo(repo, "rev-list", "--count", span, "--", check=False)
    words = ("diff", "--shortstat", "--no-ext-diff", "--no-color", before or empty_tree(repo), after, "--")
    stat = in_repo(repo, *words, check=False)
    if count.status or stat.status:
        return None
    files, added, removed = (_number(stat.out, what) for what in ("file", "insertion", "deletion"))
    return Committed(int(count.out), files, added, removed)


def subjects(repo: Repository, before: str | None, after: str | None, limit: int = 10) -> list[str]:
    """A line for each commit, newest first; the last one says how many there are more."""
    span = _span(before, after)
    if span is None:
        return []
    words = ("log", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=%h %s", span, "--")
    found = in_repo(repo, *words, check=False).out.splitlines()
    return [*found[:limit], *([f"and {len(found) - limit} more"] if len(found) > limit else [])]


def empty_tree(repo: Repository) -> str:
    """The name of the tree without a file, which depends on the repository's hash."""
    return in_repo(repo, "hash-object", "-t", "tree", "--stdin", stdin="").out.strip()


def uncommitted(repo: Repository) -> int:
    """How many changed and untracked entries this work tree has. Asked without taking the index lock."""
    env = {"GIT_OPTIONAL_LOCKS": "0"}
    words = ("status", "--porcelain", "--no-renames", "-z")
    return run(words, git_dir=repo.git_dir, cwd=repo.top, env=env).out.count("\0")


def words(changes: Committed | None, uncommitted: int) -> str:
    """Such as `2 commits, 3 files +41 -7, 1 uncommitted`; empty where there is nothing to tell."""
    told = []
    if changes:
        told = [
            _counted(changes.commits, "commit"),
            f"{_counted(changes.files, 'file')} +{changes.added} -{changes.removed}",
        ]
    return ", ".join([*told, *([f"{uncommitted} uncommitted"] if uncommitted else [])])


def _span(before: str | None, after: str | None) -> str | None:
    """The commits between, for git; None where there are none, or what a record holds is no commit's name."""
    if after is None or after == before or not all(map(is_oid, filter(None, (before, after)))):
        return None
    return after if before is None else f"{before}..{after}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _number(text: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", text)
    return int(found[1]) if found else 0
