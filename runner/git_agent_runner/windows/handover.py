"""A message on its way to a new window: in a file that only the person may read, not in a command line that all see."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from git_agent_runner.core import atomic
from git_agent_runner.store.files.layout import Layout

_KEPT = 24 * 3600.0  # seconds; a window that was closed before it began leaves its message behind


def put(layout: Layout, text: str) -> str:
    """The file, 0600. Raises UserError `write_failed`."""
    folder = _folder(layout)
    atomic.make_dir(folder)
    _clean(folder, time.time() - _KEPT)
    path = f"{folder}/{os.urandom(8).hex()}"
    atomic.write(path, text.encode("utf-8", "surrogateescape"))
    return path


def drop(layout: Layout, path: str | None) -> None:
    """Once it has been read. A person's own file stays."""
    if path is not None and os.path.dirname(os.path.abspath(path)) == _folder(layout):
        with suppress(FileNotFoundError):
            os.unlink(path)


def _folder(layout: Layout) -> str:
    return f"{layout.root}/messages"


def _clean(folder: str, before: float) -> None:
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):
            if os.lstat(f"{folder}/{name}").st_mtime < before:
                os.unlink(f"{folder}/{name}")
