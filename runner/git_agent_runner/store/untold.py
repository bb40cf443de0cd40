"""Lines about what ended in the background, below `agent/verdicts/untold`: each is reported once, by the next
command."""

from __future__ import annotations

import os
from contextlib import suppress

from git_agent_runner.core import atomic
from git_agent_runner.store.files.layout import Layout

_LARGEST = 1 << 12  # bytes


def add(layout: Layout, name: str, line: str) -> None:
    """Raises UserError where nothing can be written."""
    folder = _folder(layout)
    atomic.make_dir(folder)
    atomic.write(f"{folder}/{name}", line.encode("utf-8", "replace")[:_LARGEST], durable=False)


def drop(layout: Layout, name: str) -> None:
    with suppress(OSError):
        os.unlink(f"{_folder(layout)}/{name}")


def take(layout: Layout) -> list[str]:
    """Every line; the next call has none of them."""
    from git_agent_extractors import ordinary

    folder = _folder(layout)
    lines = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = f"{folder}/{name}"
        try:
            line = ordinary.head(path, _LARGEST).decode("utf-8", "replace")
            os.unlink(path)  # before it is reported: of two commands at once only one says it
        except OSError:
            continue
        lines += [line] if line else []
    return lines


def _folder(layout: Layout) -> str:
    return f"{layout.root}/verdicts/untold"
