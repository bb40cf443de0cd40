"""Bytes from an engine to the disk as they arrive, in bounded memory; nothing here knows what they mean."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import selectors
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from git_agent_runner.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from git_agent_extractors.model import Source

    OnChunk = Callable[[Source, bytes], None]
    # It may use the bytes only until it returns.
    Keep = Callable[[memoryview], None]
    # Must the engine end now? What waits for somebody else asks, and then waits no longer.
    Hurry = Callable[[], bool]

CHUNK = 256 * 1024
# An engine that writes faster than the disk need not wait for each 64 KiB; measured, this doubles the throughput.
PIPE = 1024 * 1024
ASK = 0.1  # seconds between two looks at whether to wait any longer


class Outlet:
    """One of our own streams, whose reader may pause."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        # A terminal with room for one byte calls itself writable, and then blocks. In a description of our own it need
        # not, whatever others do with theirs. A pipe that is writable takes PIPE_BUF bytes.
        if os.isatty(fd):
            with suppress(OSError):
                self._fd = os.open(os.ttyname(fd), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)

    def pour(self, data: bytes, hurry: Hurry) -> bool:
        """Write all of it, for as long as `hurry` lets us wait; False when it did not.

        Raises OSError when the reader has gone.
        """
        left = memoryview(data)
        while left:
            while not select.select([], [self._fd], [], ASK)[1]:
                if hurry():
                    return False
            with suppress(BlockingIOError):  # somebody else left the stream in that mode
                left = left[os.write(self._fd, left[: select.PIPE_BUF]) :]
        return True


class Sink:
    """One file of a run, written without a buffer of ours: after a crash it holds all that had arrived.

    When the disk refuses, the reason is kept in `error` and the rest is let go: our disk must not stop the engine.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.error: str | None = None
        self._fd = _create(path)

    def write(self, data: memoryview) -> None:
        """Never raises OSError."""
        while data and self.error is None:
            try:
                data = data[os.write(self._fd, data) :]
            except OSError as error:
                self.error = f"cannot write {self.path}: {error.strerror}"

    def close(self) -> None:
        os.close(self._fd)


def _create(path: str) -> int:
    """Exclusively: an earlier attempt's output is never overwritten, nor is a link followed."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UserError(f"cannot create {path}: {error.strerror}", code="run_directory") from None


class Pump:
    """The event loop of one engine process: every byte passes through one reused buffer.

    `last_output` is the monotonic time of the last byte. `close` closes what was given to `read`.
    """

    def __init__(self) -> None:
        self.last_output = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._buffer = memoryview(bytearray(CHUNK))
        self._sources: set[int] = set()
        self._open: set[int] = set()

    @property
    def reading(self) -> bool:
        """Is any engine output still open?"""
        return bool(self._sources)

    def read(self, fd: int, keep: Keep, source: Source, on_chunk: OnChunk | None) -> None:
        """Take over `fd` until its end: what comes out of it is kept first, then shown to `on_chunk`."""
        _widen(fd)
        self._sources.add(fd)
        self._open.add(fd)
        self._selector.register(fd, selectors.EVENT_READ, partial(self._take, fd, keep, source, on_chunk))

    def watch(self, fd: int, act: Callable[[], None], events: int = selectors.EVENT_READ) -> None:
        """Call `act` whenever `fd` is readable (or `events`); `fd` stays the caller's."""
        self._selector.register(fd, events, act)

    def forget(self, fd: int) -> None:
        self._selector.unregister(fd)
        self._sources.discard(fd)
        if fd in self._open:
            self._open.discard(fd)
            os.close(fd)

    def step(self, timeout: float) -> bool:
        """Wait that many seconds for something to happen, and let it. False when nothing did."""
        ready = self._selector.select(max(timeout, 0.0))
        for key, _ in ready:
            if key.fd in self._selector.get_map():  # an earlier one of this batch may have closed it
                key.data()
        return bool(ready)

    def drain(self) -> None:
        """Read what the pipes hold now, and no more: somebody may continue writing for ever."""
        for _ in range(2 * PIPE // CHUNK):
            if not self.reading or not self.step(0):
                return

    def close(self) -> None:
        for fd in list(self._open):
            self.forget(fd)
        self._selector.close()

    def _take(self, fd: int, keep: Keep, source: Source, on_chunk: OnChunk | None) -> None:
        count = _readv(fd, self._buffer)
        if count is None:
            return
        if not count:
            self.forget(fd)
            return
        self.last_output = time.monotonic()
        keep(self._buffer[:count])
        if on_chunk:
            on_chunk(source, bytes(self._buffer[:count]))


def _readv(fd: int, buffer: memoryview) -> int | None:
    """How many bytes came; 0 at the end, None when they are gone again (a terminal's output was flushed)."""
    try:
        return os.readv(fd, [buffer])
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.EIO:
            return 0  # Linux: the last process on a pseudo-terminal is gone
        raise


def _widen(fd: int) -> None:
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
    except (OSError, AttributeError):
        return  # no pipe, no permission, or a system without it: the pipe works as it is
