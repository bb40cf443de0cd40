"""Work trees of our own: detached, below our own folder or linked from there, and gone afterwards."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from git_agent_extractors import ordinary
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository
from git_agent_runner.git import run
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.files.locks import try_lock

COPIES = "copies"  # below the person's cache
_LONGEST = 4096  # bytes of a work tree's `.git`
# No hook runs, nothing is fetched.
_QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")


@contextmanager
def on_commit(
    repo: Repository, layout: Layout, path: str, commit: str, config: Sequence[str] = (), link: str = ""
) -> Iterator[None]:
    """A work tree at `path`, on that commit, as git checks it out with that configuration; it is gone afterwards.

    `link` leads there meanwhile, so that whoever cleans up finds it.
    """
    lock = try_lock(layout.lock(f"tree-{os.path.basename(path)}"))
    if lock is None:
        raise UserError("another review of this branch is running", code="review_live", hints=("try again later",))
    with lock:
        remove(repo, path)
        try:
            if link:
                os.symlink(path, link)
            _git(repo, "worktree", "add", "-f", "-f", "--detach", "--no-checkout", path, commit)
            run((*_QUIET, *config, "reset", "-q", "--hard"), cwd=path, env={"GIT_LFS_SKIP_SMUDGE": "1"})
            yield
        finally:
            remove(repo, path)
            if link:
                with suppress(FileNotFoundError):
                    os.unlink(link)


def remove(repo: Repository, path: str) -> None:
    """Take the work tree away, whatever is left of it."""
    if os.path.lexists(path):
        shutil.rmtree(path, ignore_errors=True)  # git removes none whose .git is gone, but forgets one that is
        _git(repo, "worktree", "remove", "-f", "-f", path, check=False)


def sweep(repo: Repository, layout: Layout, folder: str, mine: str = "") -> None:
    """Take away what a killed git-agent left behind."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = f"{folder}/{name}"
        known = os.path.isdir(path) or os.path.islink(path)
        if path != mine and known and (lock := try_lock(layout.lock(f"tree-{name}"))):
            with lock:
                _remove_linked(repo, path) if os.path.islink(path) else remove(repo, path)


def _remove_linked(repo: Repository, link: str) -> None:
    """Remove the copy that our link leads to. A link may have been planted, or copied with the repository that it was
    made for: what is not a work tree of this repository stays.
    """
    place = os.readlink(link)
    named = os.path.basename(os.path.dirname(place)) == COPIES and os.path.basename(place) == os.path.basename(link)
    if named and _is_of(repo, place):
        remove(repo, place)
    os.unlink(link)


def _is_of(repo: Repository, place: str) -> bool:
    """Does the work tree's `.git` file name this repository?"""
    try:
        text = os.fsdecode(ordinary.head(f"{place}/.git", _LONGEST))
        admin = os.path.join(place, text.removeprefix("gitdir: ").rstrip("\n"))
        return os.path.realpath(f"{admin}/../..") == os.path.realpath(repo.common_dir)
    except (OSError, ValueError):  # a NUL is in no path
        return False


def _git(repo: Repository, *words: str, check: bool = True) -> None:
    run((*_QUIET, *words), git_dir=repo.git_dir, cwd=repo.common_dir, check=check)


def snapshots(layout: Layout) -> str:
    return f"{layout.root}/snapshots"


def clean(repo: Repository, layout: Layout) -> None:
    """Take away what a killed `git agent fix` left behind. Every command does: nothing of it is of use to anybody."""
    with suppress(OSError, UserError):
        sweep(repo, layout, snapshots(layout))
    leave(layout)


def leave(layout: Layout) -> None:
    with suppress(OSError):  # another one is running, or nothing may be written here
        os.rmdir(snapshots(layout))
