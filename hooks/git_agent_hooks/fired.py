"""What git, or pre-commit in its place, tells a hook. Nothing is asked of git here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Fired(NamedTuple):
    """One hook of git. `args` and `stdin` are git's own; pre-commit passes no stdin, and its variables become args."""

    hook: str
    args: tuple[str, ...]
    environ: Mapping[str, str]
    stdin: str = ""


def by_pre_commit(stage: str, words: Sequence[str], environ: Mapping[str, str]) -> Fired:
    """The hook that pre-commit stands for. `words` are the file names that it passes to hooks of its message stages."""
    names = _ARGS.get(stage, ())
    return Fired(stage, (*words, *(environ.get(f"PRE_COMMIT_{name}", "") for name in names)), environ)


# pre-commit names the stage nowhere; the variables of the stage tell it.
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
}


class Push(NamedTuple):
    """What a push would bring. `local` is a ref, or whatever the person named instead."""

    local: str
    local_oid: str
    remote: str
    remote_oid: str


def pushed(environ: Mapping[str, str]) -> Push | None:
    """The push that pre-commit has chosen of those that git told: it runs once, and never for a deletion.

    None for notes: a push of our own must not set off another run.
    """
    names = ("LOCAL_BRANCH", "TO_REF", "REMOTE_BRANCH", "FROM_REF")
    push = Push(*(environ.get(f"PRE_COMMIT_{name}", "") for name in names))
    return None if push.remote.startswith("refs/notes/") else push
