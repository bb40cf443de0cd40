"""A pager as git chooses it: GIT_PAGER, core.pager, PAGER, less. On a terminal only."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.refs import worktrees
from git_agent_runner.settings import inside_work_tree


class Reader(NamedTuple):
    """Where a story is written to. `colour`: it is read on a terminal."""

    stream: IO[str]
    colour: bool

    def write(self, text: str) -> None:
        self.stream.write(text)


@contextmanager
def paged(ctx: Context, *, wanted: bool) -> Iterator[Reader]:
    """A reader; a pager that is left before the end ends the block, and is no failure."""
    terminal = sys.stdout.isatty()
    colour = terminal and "NO_COLOR" not in ctx.environ and ctx.environ.get("TERM") != "dumb"
    argv = _command(ctx) if terminal and wanted else []
    process = _start(argv, ctx) if argv else None
    if process is None:
        yield Reader(sys.stdout, colour)
        return
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):
            yield Reader(process.stdin, colour)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


def _start(argv: list[str], ctx: Context) -> subprocess.Popen[str] | None:
    env = {"LESS": "FRX", "LV": "-c", **ctx.environ}
    try:
        return subprocess.Popen(argv, stdin=subprocess.PIPE, env=env, text=True, errors="surrogateescape")
    except OSError:  # no such program: git prints without one, too
        return None


def _command(ctx: Context) -> list[str]:
    """The pager's words; none for `cat` and the empty word."""
    words = ctx.environ.get("GIT_PAGER")
    words = words if words is not None else _configured(ctx)
    words = words if words is not None else ctx.environ.get("PAGER", "less")
    with suppress(ValueError):  # quotes that do not close
        argv = shlex.split(words)
        return [] if argv in ([], ["cat"]) else [os.path.expanduser(argv[0]), *argv[1:]]
    return []


def _configured(ctx: Context) -> str | None:
    """Git's setting, unless it comes from a file in a work tree."""
    entry = next((entry for entry in reversed(ctx.config.entries) if entry.key == "core.pager"), None)
    if entry is None or any(inside_work_tree(ctx.repo, entry.file, tree.path) for tree in worktrees(ctx.repo)):
        return None
    return entry.value
