"""A pager as git chooses it: GIT_PAGER, core.pager, PAGER, less. On a terminal only."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, NamedTuple


class Reader(NamedTuple):
    """Where the text goes. `colour`: it is read on a terminal."""

    stream: IO[str]
    colour: bool

    def write(self, text: str) -> None:
        self.stream.write(text)


@contextmanager
def paged(environ: Mapping[str, str], configured: Callable[[], str | None], *, wanted: bool) -> Iterator[Reader]:
    """A reader; `configured` gives git's `core.pager`. A pager that is left early ends the block, and is no failure."""
    terminal = sys.stdout.isatty()
    colour = terminal and "NO_COLOR" not in environ and environ.get("TERM") != "dumb"
    argv = _command(environ, configured) if terminal and wanted else []
    process = _start(argv, environ) if argv else None
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


def _start(argv: list[str], environ: Mapping[str, str]) -> subprocess.Popen[str] | None:
    env = {"LESS": "FRX", "LV": "-c", **environ}
    try:
        return subprocess.Popen(argv, stdin=subprocess.PIPE, env=env, text=True, errors="surrogateescape")
    except OSError:  # no such program: git prints without one, too
        return None


def _command(environ: Mapping[str, str], configured: Callable[[], str | None]) -> list[str]:
    """The pager's words; none for `cat` and the empty word."""
    words = environ.get("GIT_PAGER")
    words = words if words is not None else configured()
    words = words if words is not None else environ.get("PAGER", "less")
    with suppress(ValueError):  # quotes that do not close
        argv = shlex.split(words)
        return [] if argv in ([], ["cat"]) else [os.path.expanduser(argv[0]), *argv[1:]]
    return []
