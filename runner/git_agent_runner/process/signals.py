"""Signals to us, as bytes in a pipe that the event loop selects on."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Inbox:
    """The signals that came since they were last taken. `fd` is readable when there is something to collect."""

    def __init__(self, fd: int, acts: Mapping[int, Callable[[], None]]) -> None:
        self.fd = fd
        self._acts = acts
        self._numbers: list[int] = []

    def collect(self) -> None:
        """Take in what the pipe holds, if anything; signals with an act of their own are acted on and not kept."""
        with suppress(BlockingIOError):
            self._sort(os.read(self.fd, 4096))

    def _sort(self, numbers: bytes) -> None:
        """Whatever an act asks finds all signals taken in."""
        self._numbers += [number for number in numbers if number not in self._acts]
        for number in dict.fromkeys(numbers):
            if act := self._acts.get(number):
                act()

    def take(self) -> tuple[int, ...]:
        taken, self._numbers = tuple(self._numbers), []
        return taken


@contextmanager
def caught(numbers: tuple[int, ...], acts: Mapping[int, Callable[[], None]] | None = None) -> Iterator[Inbox]:
    """Collect these signals instead of obeying them, and do `acts` for others; afterwards all is as it was.

    A signal that is ignored stays without effect on us (nohup, a background job of a script). Programs inherit what
    is ignored and not what is caught, so SIGINT is caught: opencode from 1.15 on would ignore ours, too
    (opencode/1.18.33). SIGCHLD only wakes whoever polls the engine; ignored, the kernel would throw the engine's exit
    status away. Main thread only, as Python's signal handling is.
    """
    wanted = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    deaf = [number for number in numbers if number == signal.SIGINT and number not in wanted]
    acts = {**dict.fromkeys((signal.SIGCHLD, *deaf), _nothing), **(acts or {})}
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    old_fd = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    old = {number: signal.signal(number, _only_wake) for number in (*wanted, *acts)}
    try:
        yield Inbox(reader, acts)
    finally:
        for number, handler in old.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(old_fd)
        os.close(reader)
        os.close(writer)


def _only_wake(number: int, frame: object) -> None:
    """Python writes the signal's number to the wake-up pipe only when a handler is installed."""


def _nothing() -> None:
    """That the loop woke up was all."""
