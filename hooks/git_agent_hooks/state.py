"""What git is in the middle of, and what one hook leaves for the next: a file in this work tree's git directory."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core.model import Repository
from git_agent_runner.git import in_repo

# The commits that a squash merge has put into the index, for post-commit: by then git has removed SQUASH_MSG.
_LARGEST = 16 << 20  # bytes
SOURCES = "agent-sources"
PATIENCE = 1.0  # seconds that a person's git command may wait for another program that writes notes


class Source(NamedTuple):
    """A commit that a squash merge took in, where HEAD stood then, and how many entries its reflog had."""

    oid: str
    base: str
    moves: int


def rebasing(repo: Repository) -> bool:
    """Is a rebase or `git am` in progress in this work tree?"""
    return any(os.path.isdir(f"{repo.git_dir}/{name}") for name in ("rebase-merge", "rebase-apply"))


def picked(repo: Repository) -> str | None:
    """The commit that `git cherry-pick` is making again, as long as git says so."""
    return next(iter(_lines(repo, "CHERRY_PICK_HEAD")), None)


def squashed(repo: Repository) -> tuple[str, ...]:
    """The commits that `git merge --squash` has put into the index, as its message names them."""
    return tuple(line.removeprefix("commit ")[:64].strip() for line in _lines(repo, "SQUASH_MSG") if _names(line))


def _names(line: str) -> bool:
    return line.startswith("commit ") and not line.removeprefix("commit ")[:40].strip("0123456789abcdef")


def leave(repo: Repository, base: str, oids: tuple[str, ...]) -> None:
    """Leave a note for the next commit on top of `base`."""
    told = moves(repo)
    with open(f"{repo.git_dir}/{SOURCES}", "w", encoding="utf-8") as file:
        file.writelines(f"{oid} {base} {told}\n" for oid in oids)


def take(repo: Repository) -> tuple[Source, ...]:
    """Take what was left, once."""
    left = [line.split() for line in _lines(repo, SOURCES)]
    if left:
        os.unlink(f"{repo.git_dir}/{SOURCES}")
    return tuple(Source(oid, base, int(told)) for oid, base, told in left)


def moves(repo: Repository) -> int:
    """How many entries HEAD's reflog has; 0 where git keeps none."""
    return int(in_repo(repo, "rev-list", "--walk-reflogs", "--count", "HEAD", "--").out)


def was_reset(repo: Repository, before: int) -> bool:
    """Was HEAD reset since its reflog had that many entries? Git forgets a squash merge then, and so do we."""
    since = max(moves(repo) - before, 0)
    told = in_repo(repo, "log", "-g", f"-{since}", "--no-show-signature", "--format=%gs", "HEAD", "--").out
    return any(what.startswith("reset:") for what in told.split("\n"))


def _lines(repo: Repository, name: str) -> list[str]:
    with suppress(OSError), open(f"{repo.git_dir}/{name}", "rb", opener=ordinary.opened) as file:
        text = file.read(_LARGEST).decode("utf-8", "replace")
        return [line for line in text.split("\n") if line.strip()]
    return []
