"""The progress of a command with many runs: a bar on a terminal, a line for each start and end elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from git_agent_runner.console.lines import say
from git_agent_runner.core.text import shown

if TYPE_CHECKING:
    from rich import progress as rich_progress

T = TypeVar("T")
_PATIENCE, _PAUSE = 1.0, 0.1  # seconds: before the first count of a command is shown, and between two
_BEGAN = time.monotonic()


class Progress(Protocol):
    """Receives each run by its name."""

    def began(self, name: str) -> None: ...

    def ended(self, name: str, outcome: str) -> None: ...


class _Lines:
    def began(self, name: str) -> None:
        say(f"{name}: begins")

    def ended(self, name: str, outcome: str) -> None:
        say(f"{name}: {outcome}")


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """On stderr: stdout belongs to the result."""
    if total == 0 or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _Lines()
        return
    from rich import progress as rich_progress  # costs 40 ms, and only a terminal needs it
    from rich.console import Console

    columns = (
        rich_progress.MofNCompleteColumn(),
        rich_progress.BarColumn(bar_width=24),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("{task.description}", markup=False),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, bar.add_task("", total=total))


class _Bar:
    """Shows which runs are in progress, and leaves a line for each that has ended."""

    def __init__(self, bar: rich_progress.Progress, task: rich_progress.TaskID) -> None:
        self._bar = bar
        self._task = task
        self._busy: list[str] = []

    def began(self, name: str) -> None:
        self._busy.append(shown(name))
        self._bar.update(self._task, description=", ".join(self._busy))

    def ended(self, name: str, outcome: str) -> None:
        self._busy.remove(shown(name))
        self._bar.console.print(f"{shown(name)}: {shown(outcome)}", markup=False, highlight=False)
        self._bar.update(self._task, advance=1, description=", ".join(self._busy))


def counted(what: str, items: Collection[T]) -> Iterator[T]:
    """The items, and on a terminal, from the command's second second on, how many of them went by."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield from items
        return
    due, drawn = _BEGAN + _PATIENCE, False
    for number, item in enumerate(items):
        if time.monotonic() >= due:
            due, drawn = time.monotonic() + _PAUSE, True
            print(f"\r{what}: {number} of {len(items)}\x1b[K", end="", file=sys.stderr, flush=True)
        yield item
    if drawn:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
