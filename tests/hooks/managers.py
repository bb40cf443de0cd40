"""Hook managers as a team sets them up, and our lines added to them as `git agent hooks install` prints them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from git_agent_hooks.install import HOOKS, calls_ours, install
from git_agent_hooks.lines import call, text
from git_agent_hooks.place import find
from git_agent_runner import context
from support.gitrepo import GitRepo
from support.pre_commit import of_now

PACKAGES = ("husky@9.1.7", "lefthook@2.2.2", "simple-git-hooks@2.13.1")
PYTHON_PACKAGES = ("prek==0.5.11", "pre-commit==3.2.0")


def packages(shared: Path) -> Path:
    """The directory of the managers' programs, from the npm registry; the first to ask installs them."""
    place = shared / "managers"
    place.mkdir(exist_ok=True)
    with (shared / "managers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        programs = place / "node_modules" / ".bin"
        if not programs.exists():
            words = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES)
            for left in (2, 1, 0):  # a registry may fail once
                if subprocess.run(words, cwd=place, check=not left, capture_output=True).returncode == 0:
                    break
    return programs


def python_package(shared: Path, name: str) -> Path:
    """The directory that one of PYTHON_PACKAGES was installed into, without what it needs: that is ours, too."""
    place = shared / name.replace("==", "-")
    with (shared / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(place), name)
        for left in (2, 1, 0):  # a registry may fail once
            if place.exists() or subprocess.run(words, check=not left, capture_output=True).returncode == 0:
                break
    return place


def by_git(repo: GitRepo, _shared: Path) -> None:
    _installed(repo)


def by_husky(repo: GitRepo, shared: Path) -> None:
    _run(repo, str(packages(shared) / "husky"))
    _add_lines(repo.path / ".husky")
    _installed(repo)
    repo.commit("use husky")


def by_hooks_path(repo: GitRepo, _shared: Path) -> None:
    folder = repo.path.parent / "company hooks"
    folder.mkdir()
    repo.git("config", "core.hooksPath", str(folder))
    _add_lines(folder)
    _installed(repo)


def by_lefthook(repo: GitRepo, shared: Path) -> None:
    config = repo.path / "lefthook.yml"
    config.write_text(f"output: [failure]\n{text('lefthook', HOOKS, repo.path)}\n")
    _run(repo, str(packages(shared) / "lefthook"), "install")
    _installed(repo)
    repo.commit("use lefthook")


def by_simple_git_hooks(repo: GitRepo, shared: Path) -> None:
    (repo.path / "package.json").write_text(f"{{{text('simple-git-hooks', HOOKS, repo.path)}}}")
    _run(repo, str(packages(shared) / "simple-git-hooks"))
    _installed(repo)
    repo.commit("use simple-git-hooks")


def by_pre_commit(repo: GitRepo, shared: Path) -> None:
    hooks = ("{id: git-agent-record}", "{id: git-agent-carry}")
    of_now(shared).configure(repo, *hooks, stages=("post-commit", "post-rewrite", "post-merge"))


MANAGERS: dict[str, Callable[[GitRepo, Path], None]] = {
    "git": by_git,
    "husky": by_husky,
    "lefthook": by_lefthook,
    "simple-git-hooks": by_simple_git_hooks,
    "core.hooksPath": by_hooks_path,
    "pre-commit": by_pre_commit,
}


def prepare_worktree(linked: GitRepo, programs: Path) -> None:
    """husky's directory is relative and ignored, so that every work tree makes its own, as `npm install` does."""
    if (linked.path / ".husky").exists():
        _run(linked, str(programs / "husky"))


def _add_lines(folder: Path) -> None:
    for name in HOOKS:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{call(name)}\n")
        path.chmod(0o755)


def _installed(repo: GitRepo) -> None:
    ctx = context.load(os.environ)
    place = find(ctx)
    assert install(ctx, place) == HOOKS
    assert place.manager is None or all(calls_ours(ctx, place, name) for name in HOOKS)


def _run(repo: GitRepo, *words: str) -> None:
    subprocess.run(words, cwd=repo.path, check=True, capture_output=True)
