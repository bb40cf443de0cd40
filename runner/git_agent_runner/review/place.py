"""Work trees of our own: detached, below our own folder, and gone afterwards.

A review's has none of the files by which a repository steers agents.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import run, scrubbed
from git_agent_runner.store.files.locks import try_lock

# Tracked by whoever made the change: hooks, permissions, servers and instructions of agents.
STEERING = (
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    ".qwen",
    ".iflow",
    ".mcp.json",
    "opencode.json",
    "opencode.jsonc",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "GEMINI.md",
    "QWEN.md",
)
# No hook runs, nothing is fetched.
_QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")


@contextmanager
def work_tree(ctx: Context, path: str, commit: str, hidden: Sequence[str]) -> Iterator[str]:
    """A reviewer's work tree at `path`, on that commit, without the `hidden` files.

    No link leads out of it: it becomes a file that names its target. Raises UserError `review_live` where another
    process reviews there.
    """
    with on_commit(ctx, path, commit, ("-c", "core.symlinks=false")):
        for name in (*_steering(path), *hidden):
            _unlink(f"{path}/{name}")
        yield path


@contextmanager
def on_commit(ctx: Context, path: str, commit: str, config: Sequence[str] = ()) -> Iterator[None]:
    """A work tree at `path`, on that commit, as git checks it out with that configuration; it is gone afterwards."""
    lock = try_lock(ctx.layout.lock(f"tree-{os.path.basename(path)}"))
    if lock is None:
        raise UserError("another review of this branch is at work", code="review_live", hints=("try again later",))
    with lock:
        sweep(ctx, os.path.dirname(path), path)
        remove(ctx, path)
        try:
            _git(ctx, "worktree", "add", "-f", "-f", "--detach", "--no-checkout", path, commit)
            run((*_QUIET, *config, "reset", "-q", "--hard"), cwd=path, env={"GIT_LFS_SKIP_SMUDGE": "1"})
            yield
        finally:
            remove(ctx, path)


def remove(ctx: Context, path: str) -> None:
    """Take the work tree away, whatever is left of it."""
    if os.path.lexists(path):
        shutil.rmtree(path, ignore_errors=True)  # git removes none whose .git is gone, but forgets one that is
        _git(ctx, "worktree", "remove", "-f", "-f", path, check=False)


def sweep(ctx: Context, folder: str, mine: str = "") -> None:
    """Take away what a killed git-agent left behind."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = f"{folder}/{name}"
        if path != mine and os.path.isdir(path) and (lock := try_lock(ctx.layout.lock(f"tree-{name}"))):
            with lock:
                remove(ctx, path)


def _steering(path: str) -> list[str]:
    globs = [f":(glob,icase)**/{name}{below}" for name in STEERING for below in ("", "/**")]
    return run(("ls-files", "-z", "--", *globs), cwd=path).out.split("\0")[:-1]


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def _git(ctx: Context, *words: str, check: bool = True) -> None:
    run((*_QUIET, *words), git_dir=ctx.repo.git_dir, cwd=ctx.repo.common_dir, check=check)


def inside(ctx: Context, path: str) -> Context:
    """The context of a command that a person would type there. No setting leads out of it."""
    from git_agent_runner.git import discover

    settings = ctx.settings._replace(default_directory=None)
    return ctx._replace(repo=discover(path, scrubbed(ctx.environ)), cwd=path, settings=settings)
