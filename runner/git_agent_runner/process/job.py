"""Ctrl-Z and fg: an engine in its own terminal has no shell above it, so we stop it and bring it back."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import termios
import time
import tty
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from git_agent_runner.process.capture import Hurry, Pump
    from git_agent_runner.process.screen import Screen

_SIZE = struct.Struct("HHHH")  # rows, columns, width and height in pixels
_PATIENCE = 5.0  # seconds for the engine to begin to draw in its narrower terminal; on a busy machine it takes some
_REDRAWN = 0.2  # and for it to be done
_ALONE = b"git-agent: Ctrl-Z is not passed on: there is no shell here that could bring the engine back\r\n"


class Raw:
    """Keys unchanged and one by one, from `set` to `restore`. What is typed ahead stays for the shell."""

    def __init__(self, keyboard: int) -> None:
        self._keyboard = keyboard
        self._before = termios.tcgetattr(keyboard)
        self._on = False

    def set(self) -> None:
        self._on = True
        _retry(lambda: tty.setraw(self._keyboard, termios.TCSADRAIN))

    def restore(self) -> None:
        if self._on:
            self._on = False
            with suppress(termios.error):  # the terminal itself is gone
                _retry(lambda: termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._before))


class ShellJob(NamedTuple):
    """The engine (`pid` leads its session, `terminal` is our end of its pseudo-terminal) as a job of the shell."""

    pid: int
    terminal: int
    our_terminal: int
    raw: Raw
    screen: Screen
    show: Callable[[bytes], None]
    pump: Pump
    hurry: Hurry

    def suspend(self) -> None:
        """Stop the engine and ourselves, with the terminal as the shell wants it. `go_on` is for its SIGCONT."""
        self._signal(signal.SIGSTOP)
        self.pump.drain()
        self.show(self.screen.off() + self.screen.clean_line())
        self.raw.restore()
        if not _stopped():
            self.show(_ALONE)
            self.go_on()

    def go_on(self) -> None:
        """Once more in the foreground; or only to be ended, which touches no terminal of the shell's."""
        if not self.hurry():
            with suppress(termios.error):  # the terminal is gone, and SIGHUP tells
                self.raw.set()
            self.show(self.screen.on())
            resize(self.our_terminal, self.terminal, fewer=1)  # an engine draws again when the size is another one
        began = time.monotonic()
        self._signal(signal.SIGCONT)
        self._pass_on(_PATIENCE, lambda: self.pump.last_output > began)
        self._pass_on(_REDRAWN)
        resize(self.our_terminal, self.terminal)

    def _pass_on(self, seconds: float, enough: Callable[[], bool] = bool) -> None:
        """What is typed and drawn, for so long at most."""
        until = time.monotonic() + seconds
        while not (enough() or self.hurry()) and (left := until - time.monotonic()) > 0:
            self.pump.step(left)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def _stopped() -> bool:
    """Stop our process group, as the terminal would: git itself may be before us. False where the kernel did not,
    since no shell is above us.
    """
    continued: list[int] = []
    old = [
        signal.signal(signal.SIGCONT, lambda number, _: continued.append(number)),
        signal.signal(signal.SIGTSTP, signal.SIG_DFL),
    ]
    os.killpg(0, signal.SIGTSTP)
    for number, handler in zip((signal.SIGCONT, signal.SIGTSTP), old, strict=True):
        signal.signal(number, handler)
    return bool(continued)


def resize(screen: int, engine: int, fewer: int = 0) -> None:
    """Give the engine's terminal the size of ours, or some columns less. The kernel sends it a SIGWINCH of its own."""
    with suppress(OSError):  # either may be gone
        rows, columns, *pixels = size(screen)
        fcntl.ioctl(engine, termios.TIOCSWINSZ, _SIZE.pack(rows, max(columns - fewer, 1), *pixels))


def size(screen: int) -> tuple[int, int, int, int]:
    """Of a terminal that does not know its size, that of the oldest ones."""
    rows, columns, width, height = _SIZE.unpack(fcntl.ioctl(screen, termios.TIOCGWINSZ, bytes(_SIZE.size)))
    return (rows, columns, width, height) if rows and columns else (24, 80, 0, 0)


def _retry(change: Callable[[], object]) -> None:
    """Where we are in the background the kernel stops us until the shell brings us back, and says so as an error."""
    while True:
        try:
            change()
        except termios.error as error:
            if error.args[0] != errno.EINTR:
                raise
        else:
            return
