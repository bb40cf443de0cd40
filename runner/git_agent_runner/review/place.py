"""A reviewer's work tree: it has none of the files by which a repository steers agents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from git_agent_runner.context import Context
from git_agent_runner.git import run, scrubbed
from git_agent_runner.store.spare_trees import on_commit, sweep

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


@contextmanager
def work_tree(ctx: Context, path: str, commit: str, hidden: Sequence[str]) -> Iterator[str]:
    """A reviewer's work tree at `path`, on that commit, without the `hidden` files.

    No link leads out of it: it becomes a file that names its target. Raises UserError `review_live` where another
    process reviews there.
    """
    sweep(ctx.repo, ctx.layout, os.path.dirname(path), path)
    with on_commit(ctx.repo, ctx.layout, path, commit, ("-c", "core.symlinks=false")):
        for name in (*_steering(path), *hidden):
            _unlink(f"{path}/{name}")
        yield path


def _steering(path: str) -> list[str]:
    globs = [f":(glob,icase)**/{name}{below}" for name in STEERING for below in ("", "/**")]
    return run(("ls-files", "-z", "--", *globs), cwd=path).out.split("\0")[:-1]


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def inside(ctx: Context, path: str) -> Context:
    """The context of a command that a person would type there. No setting leads out of it."""
    from git_agent_runner.git import discover

    settings = ctx.settings._replace(default_directory=None)
    return ctx._replace(repo=discover(path, scrubbed(ctx.environ)), cwd=path, settings=settings)
