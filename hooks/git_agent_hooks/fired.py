"""What git, or a hook manager in its place, passes to a hook. Does not run git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Fired(NamedTuple):
    """One hook of git. `args` and `stdin` are git's own; pre-commit passes no stdin, and its variables become args.

    At a stage where git passes no arguments they are the names of files that the manager passes.
    """

    hook: str
    args: tuple[str, ...]
    environ: Mapping[str, str]
    stdin: str = ""


# Git's hooks at which something can be done. `manual` is none of git's: `pre-commit run`, as in CI.
MANUAL = "manual"
STAGES = (
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-merge",
    "post-rewrite",
    "pre-push",
    "pre-rebase",
)
TOLD_BY_STDIN = ("post-rewrite", "pre-push")  # another hook's stdin may be a pipe that nobody closes


def by_pre_commit(stage: str, words: Sequence[str], environ: Mapping[str, str]) -> Fired:
    """The hook that pre-commit stands for. `words` are the file names that it passes to hooks of its message stages."""
    names = _ARGS.get(stage, ())
    return Fired(stage, (*words, *(environ.get(f"PRE_COMMIT_{name}", "") for name in names)), environ)


def by_manager(words: Sequence[str], environ: Mapping[str, str], above: Iterable[Sequence[str]]) -> Fired:
    """The hook that a manager has started an agent for. `above` are the command lines of the programs above.

    pre-commit and prek set no variable at several stages; git's own words are in their command lines.
    """
    for line in above:
        found = _STAGE.search("\0".join(line))
        if found and found[1] in STAGES and ("hook-impl" in line or found[1].endswith("commit-msg")):
            own = line[line.index("--") + 1 :] if "--" in line else ()
            return Fired(found[1], tuple(own or words), environ)
    if told := stage(environ):
        return by_pre_commit(told, words, environ)
    return Fired(MANUAL if environ.get("PRE_COMMIT") == "1" else "pre-commit", tuple(words), environ)


_STAGE = re.compile(r"\0(?:--hook-type|--hook-stage)[\0=]([a-z-]+)(?:\0|$)")
# What pre-commit sets, and at which stage alone.
_TOLD = {
    "PRE_COMMIT_REWRITE_COMMAND": "post-rewrite",
    "PRE_COMMIT_IS_SQUASH_MERGE": "post-merge",
    "PRE_COMMIT_CHECKOUT_TYPE": "post-checkout",
    "PRE_COMMIT_REMOTE_BRANCH": "pre-push",
    "PRE_COMMIT_PRE_REBASE_UPSTREAM": "pre-rebase",
    "PRE_COMMIT_COMMIT_MSG_SOURCE": "prepare-commit-msg",
}


def stage(environ: Mapping[str, str]) -> str | None:
    """Which hook of git pre-commit stands for; None where it sets no variable (pre-commit, commit-msg, post-commit)."""
    return next((hook for name, hook in _TOLD.items() if environ.get(name) is not None), None)


# Variables of pre-commit 4.7, as its `hook_impl` and `run` set them, in the order of git's own arguments.
_ARGS = {
    "post-checkout": ("FROM_REF", "TO_REF", "CHECKOUT_TYPE"),
    "post-merge": ("IS_SQUASH_MERGE",),
    "post-rewrite": ("REWRITE_COMMAND",),
    "pre-rebase": ("PRE_REBASE_UPSTREAM", "PRE_REBASE_BRANCH"),
    "pre-push": ("REMOTE_NAME", "REMOTE_URL"),
    "prepare-commit-msg": ("COMMIT_MSG_SOURCE", "COMMIT_OBJECT_NAME"),
}
