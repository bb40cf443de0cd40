"""A work tree in which an agent may write, made of what git commits; what it did there is read as a patch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.engines.probe import user_cache_dir
from git_agent_runner.git import run
from git_agent_runner.review.place import inside
from git_agent_runner.store.spare_trees import COPIES, leave, on_commit, snapshots

ABSENT, SUBMODULE = "000000", "160000"
_PATCH = ("-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
# They take every file below a `.git` for one that only a person may change (claude 2.1.332, with acceptEdits). The
# others stay below the repository's, which a person may have trusted.
_NEVER_BELOW_GIT = frozenset({"claude"})
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all")


class ChangedPath(NamedTuple):
    """One path that differs. The mode is ABSENT where there is none."""

    path: str
    old_mode: str
    old: str
    new_mode: str
    new: str


class Snapshot(NamedTuple):
    """`ctx` is the context of a command in it, `links` what was linked from the person's work tree."""

    ctx: Context
    path: str
    commit: str
    links: tuple[str, ...]


class Changes(NamedTuple):
    entries: tuple[ChangedPath, ...]
    patch: bytes


@contextmanager
def snapshot(ctx: Context, commit: str, engine: str | None) -> Iterator[Snapshot]:
    """A work tree on that commit for this engine, or for the configured one; gone afterwards."""
    atomic.make_dir(snapshots(ctx.layout))
    link = f"{snapshots(ctx.layout)}/{os.urandom(8).hex()}"
    path = link
    if (engine or ctx.settings.engine) in _NEVER_BELOW_GIT:
        path = f"{user_cache_dir(ctx.environ)}/{COPIES}/{os.path.basename(link)}"
        atomic.make_dir(os.path.dirname(path))
    try:
        with on_commit(ctx.repo, ctx.layout, path, commit, link=link if path != link else ""):
            here = inside(ctx, path)
            shutil.copyfile(f"{here.repo.git_dir}/index", _index(here))
            yield Snapshot(here, path, commit, _linked(ctx, path))
    finally:
        leave(ctx.layout)


def _index(here: Context) -> str:
    """As it was when the files were written: whatever the agent does to its own, it cannot hide a change in this."""
    return f"{here.repo.git_dir}/git-agent-index"


def _linked(ctx: Context, path: str) -> tuple[str, ...]:
    """What checks need and git ignores, as the person's settings name it."""
    done = []
    for name in map(os.path.normpath, ctx.settings.fix_link):
        source, target = os.path.join(ctx.repo.top, name), os.path.join(path, name)
        inward = os.path.normpath(target).startswith(f"{path}/") and os.path.isdir(os.path.dirname(target))
        if inward and os.path.exists(source) and not os.path.lexists(target):
            os.symlink(source, target)
            done.append(name)
    return tuple(done)


def changes(snap: Snapshot) -> Changes:
    """What is other than it was, ignored files and submodules left out. Commits that the agent made are no matter.

    Raises UserError `meddled` where it went to another commit, whose files are not its work.
    """
    if _git(snap, "merge-base", "--is-ancestor", snap.commit, "HEAD", check=False)[0]:
        raise UserError("the agent moved HEAD away from the commit it was given", code="meddled")
    quiet = ("-c", "core.safecrlf=false", "-c", "core.fsmonitor=false", "-c", "advice.addEmbeddedRepo=false")
    _git(snap, *quiet, "add", "-A", "--sparse", "--", ".", *(f":(exclude,top,literal){name}" for name in snap.links))
    tree = _git(snap, "write-tree")[1].strip()
    words = _git(snap, "diff-tree", "-r", "-z", "--raw", "--no-renames", snap.commit, tree)[1].split("\0")[:-1]
    every = [_entry(facts, path) for facts, path in zip(words[::2], words[1::2], strict=True)]
    entries = [entry for entry in every if SUBMODULE not in (entry.old_mode, entry.new_mode)]
    if not entries:
        return Changes((), b"")
    without = (f":(exclude,top,literal){entry.path}" for entry in every if entry not in entries)
    patch = _git(snap, "diff-tree", "-r", *_PATCH, *_PREFIXES, snap.commit, tree, "--", ".", *without)[1]
    return Changes(tuple(entries), patch.encode("utf-8", "surrogateescape"))


def _entry(facts: str, path: str) -> ChangedPath:
    old_mode, new_mode, old, new, _ = facts.removeprefix(":").split(" ")
    return ChangedPath(path, old_mode, old, new_mode, new)


def _git(snap: Snapshot, *words: str, check: bool = True) -> tuple[int, str]:
    """By its administrative directory: the agent may have taken away the file that leads there."""
    env = {"GIT_WORK_TREE": snap.path, "GIT_INDEX_FILE": _index(snap.ctx)}
    done = run(words, git_dir=snap.ctx.repo.git_dir, cwd=snap.path, env=env, check=check)
    return done.status, done.out
