"""What git is about to commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from git_agent_hooks.fired import Fired
from git_agent_runner import git

COMMITTING = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg")


class IndexState(NamedTuple):
    """The commit that HEAD is at, and the content of the index that git commits from."""

    head: str
    staged: str


def committing(fired: Fired) -> bool:
    """Is git about to commit something?"""
    return fired.hook in COMMITTING and bool(staged(fired.environ))


def held(environ: Mapping[str, str]) -> IndexState:
    named = _named(environ)
    asked = (("symbolic-ref", "-q", "HEAD"), ("rev-parse", "-q", "--verify", "HEAD"), ("ls-files", "--stage", "-z"))
    branch, head, index = (git.run(words, check=False, env=named).out for words in asked)
    return IndexState(branch + head, index)


def _named(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in ("GIT_DIR", "GIT_INDEX_FILE") if name in environ}


def staged(environ: Mapping[str, str]) -> list[str]:
    """File names, of the index that git commits from: `commit -a` and `commit <path>` make one for themselves."""
    words = ("diff", "--cached", "--name-only", "-z")
    return git.run(words, check=False, env=_named(environ)).out.split("\0")[:-1]
