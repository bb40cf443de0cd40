"""What git is about to commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from git_agent_hooks.fired import stage
from git_agent_runner import git


class Held(NamedTuple):
    """Where HEAD is, and what the index that git commits from holds."""

    head: str
    staged: str


def committing(environ: Mapping[str, str]) -> bool:
    """Is git, or pre-commit by itself, about to commit something? Git names its index to a commit's hooks only, and in
    post-commit nothing is staged any more.
    """
    about = "GIT_INDEX_FILE" in environ or environ.get("PRE_COMMIT") == "1"
    return about and stage(environ) in (None, "prepare-commit-msg") and bool(staged(environ))


def held(environ: Mapping[str, str]) -> Held:
    named = _named(environ)
    asked = (("symbolic-ref", "-q", "HEAD"), ("rev-parse", "-q", "--verify", "HEAD"), ("ls-files", "--stage", "-z"))
    branch, head, index = (git.run(words, check=False, env=named).out for words in asked)
    return Held(branch + head, index)


def _named(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in ("GIT_DIR", "GIT_INDEX_FILE") if name in environ}


def staged(environ: Mapping[str, str]) -> list[str]:
    """File names, of the index that git commits from: `commit -a` and `commit <path>` make one for themselves."""
    words = ("diff", "--cached", "--name-only", "-z")
    return git.run(words, check=False, env=_named(environ)).out.split("\0")[:-1]
