"""Which repository and work tree a record is of, now that one may have been moved, and one may be a copy.

A record keeps where its common git directory was, with the device and inode of it. A repository that was moved has the
same inode, or leaves nothing at the old path; one of which the old path, or the session's last writer, still has the
same run is a copy of it, whose conversation is not its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from git_agent_runner.core.model import Record, Repository
from git_agent_runner.git import trees
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.session_locks import Holder, directory_id


def at_home(record: Record, common_dir: str) -> Record:
    return record._replace(common_dir=common_dir, common_dir_id=directory_id(common_dir))


def original(record: Record, common_dir: str, last: Callable[[], Holder | None]) -> str | None:
    """The repository whose conversation the run's is, as long as it is there: its common git directory.

    `last` tells who wrote to the session last. None where that is this one.
    """
    here = directory_id(common_dir)
    if not record.common_dir_id or (record.common_dir, record.common_dir_id) == (common_dir, here):
        return None
    writer = last()
    known = [(record.common_dir, record.common_dir_id)]
    known += [(writer.common_dir, writer.common_dir_id)] if writer else []
    return next((path for path, name in known if name != here and _has(record, path, name)), None)


def _has(record: Record, common_dir: str, name: str) -> bool:
    return directory_id(common_dir) == name and os.path.lexists(Layout(common_dir).index_file(record.handle))


def top(common_dir: str) -> str:
    """The repository's directory, as people name it."""
    return os.path.dirname(common_dir) if os.path.basename(common_dir) == ".git" else common_dir


def followed(record: Record, repo: Repository) -> Record:
    """The record with its work tree and directory where they are now, if that work tree was moved with all in it."""
    if not record.worktree_id or not record.worktree:
        return record
    top = trees.path_of(repo, record.worktree_id)
    if top is None or top == record.worktree:
        return record
    below = os.path.relpath(record.cwd, record.worktree)
    if below == ".." or below.startswith("../"):
        return record._replace(worktree=top)
    return record._replace(worktree=top, cwd=os.path.normpath(os.path.join(top, below)))
