"""Which work tree is which: by its administrative directory and when that was made, since paths are used again."""

from __future__ import annotations

import os
from contextlib import suppress

from git_agent_extractors import ordinary
from git_agent_runner.core.marks import DETACHED
from git_agent_runner.core.model import Repository
from git_agent_runner.git.refs import worktrees

MAIN = "."


def identity(git_dir: str, common_dir: str) -> str:
    """`.` for the main work tree, else `worktrees/<name>@<ns since the epoch>`.

    Git writes `commondir` when it makes a linked work tree, and never again: a move or a repair leaves it alone.
    """
    if git_dir == common_dir:
        return MAIN
    try:
        made = os.stat(f"{git_dir}/commondir").st_mtime_ns
    except OSError:
        made = 0
    return f"{os.path.relpath(git_dir, common_dir)}@{made}"


def here(repo: Repository) -> str:
    return identity(repo.git_dir, repo.common_dir)


def mark(repo: Repository) -> None:
    """Leave word for the installed hooks, which are to cost nothing, that a run without a branch began here."""
    path = f"{repo.git_dir}/{DETACHED}"
    if not os.path.lexists(path):
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def path_of(repo: Repository, wanted: str) -> str | None:
    """The root of that work tree, if it is still there."""
    if wanted == here(repo):
        return repo.top
    linked = repo.once("linked", _linked)
    if wanted != MAIN:
        return linked.get(wanted)
    return next((tree.path for tree in worktrees(repo) if tree.path not in linked.values()), None)


def identity_of(repo: Repository, path: str) -> str:
    """Of the work tree with that root."""
    if path == repo.top:
        return here(repo)
    return next((known for known, top in repo.once("linked", _linked).items() if top == path), MAIN)


def copied_from(repo: Repository, recorded: str = "") -> str | None:
    """The work tree that this one is a copy of: both lead to one git directory, with one HEAD and one index.

    `recorded` is asked where git does not write down whose its git directory is.
    """
    own = f"{repo.top}/.git"
    linked = repo.git_dir != repo.common_dir
    other = os.path.dirname(os.path.join(repo.git_dir, _text(f"{repo.git_dir}/gitdir"))) if linked else recorded
    if not os.path.isfile(own) or not os.path.isfile(f"{other}/.git") or os.path.samefile(other, repo.top):
        return None
    return other if _leads_to(f"{other}/.git") == repo.git_dir else None


def _leads_to(file: str) -> str:
    """The git directory that the `.git` file of a work tree names."""
    return os.path.realpath(os.path.join(os.path.dirname(file), _text(file).removeprefix("gitdir: ")))


def _linked(repo: Repository) -> dict[str, str]:
    """Identity -> root, of the linked work trees whose directory exists and leads back to the administrative one."""
    folder = f"{repo.common_dir}/worktrees"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    admins = [f"{folder}/{name}" for name in names]
    found = {admin: os.path.join(admin, _text(f"{admin}/gitdir")) for admin in admins}
    return {
        identity(admin, repo.common_dir): os.path.realpath(os.path.dirname(file))
        for admin, file in found.items()
        if _leads_to(file) == admin
    }


def _text(path: str) -> str:
    if not os.path.isfile(path):
        return ""
    return ordinary.head(path, 1 << 14).decode("utf-8", "surrogateescape").partition("\n")[0]
