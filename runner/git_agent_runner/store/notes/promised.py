"""The notes of a partial clone, which lacks blobs: git would fetch them one by one, with a connection for each."""

from __future__ import annotations

import os

from git_agent_runner import git
from git_agent_runner.core.model import Repository


def lost(repo: Repository, tip: str) -> frozenset[str]:
    """The blobs of this tree of notes that are neither here nor to be had; those that are to be had are here then."""
    if not is_partial(repo) or not _missing(repo, tip):
        return frozenset()
    # A diff is what git fetches blobs for all at once. None is printed.
    empty = _ask(repo, "hash-object", "-t", "tree", "--stdin").out.strip()
    fetched = _ask(repo, "diff", "--no-ext-diff", "--no-renames", "--shortstat", empty, tip)
    return _missing(repo, tip) if fetched.status else frozenset()


def sizes(repo: Repository, oids: list[str]) -> dict[str, int]:
    """Of blobs that are here, in bytes."""
    asked = _ask(repo, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin="".join(f"{o}\n" for o in oids))
    return {
        oid: int(size) for oid, _, size in (line.partition(" ") for line in asked.out.splitlines()) if size.isdigit()
    }


def is_partial(repo: Repository) -> bool:
    try:
        return any(name.endswith(".promisor") for name in os.listdir(f"{repo.common_dir}/objects/pack"))
    except OSError:
        return False


def _missing(repo: Repository, tip: str) -> frozenset[str]:
    """Without fetching any."""
    listed = _ask(repo, "rev-list", "--objects", "--missing=print", f"{tip}^{{tree}}").out
    return frozenset(line.removeprefix("?") for line in listed.split("\n") if line.startswith("?"))


def _ask(repo: Repository, *words: str, stdin: str | None = None) -> git.Result:
    return git.run(words, git_dir=repo.common_dir, cwd=repo.common_dir, stdin=stdin, check=False)
