"""A person at a terminal: git-agent in a pseudo-terminal of 40 by 120, whose questions are answered."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from system.support import BIN, World

CTRL_C = b"\x03"
_PATIENCE = 120  # seconds until a hang is called one
# What engines ask a terminal at their start, and wait for (docs/engines/interactive.md).
_ANSWERS: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>0;276;0c"),
    (re.compile(rb"\x1b\[>0?q"), b"\x1bP>|xterm(390)\x1b\\"),
    (re.compile(rb"\x1b\]10;\?(?:\x07|\x1b\\)"), b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)"), b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    (re.compile(rb"\x1b\[\?(\d+)\$p"), b"\x1b[?\\1;2$y"),
    (re.compile(rb"\x1b\[14t"), b"\x1b[4;800;1200t"),
    (re.compile(rb"\x1b\[16t"), b"\x1b[6;20;10t"),
    (re.compile(rb"\x1b\[18t"), b"\x1b[8;40;120t"),
)
_LONGEST_QUESTION = 64
_CONTROL = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_=>78]|[\x00-\x20]")


class Terminal:
    """A program in its terminal; `modes` are the terminal's as they are now."""

    def __init__(self, process: subprocess.Popen[bytes], keyboard: int, screen: int) -> None:
        self.process = process
        self._keyboard = keyboard
        self._screen = screen
        self._shown = b""
        self._unasked = b""

    @property
    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._screen)

    def text(self) -> str:
        """All that was ever drawn, in order, without blanks: programs draw them by moving the cursor."""
        return _CONTROL.sub(b"", self._shown).decode(errors="replace")

    def until(self, look: Callable[[], object], what: str) -> None:
        """Let the program run until `look` is true."""
        deadline = time.monotonic() + _PATIENCE
        while not look():
            assert time.monotonic() < deadline, f"waited in vain: {what}\n{self.text()[-2000:]}"
            self._pass(0.1)

    def press(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def leave(self) -> int:
        """Ctrl-C, and again if it wants to be asked twice, until the program ends; its exit status."""
        for patience in (0.7, 5.0, 0.7, 5.0, _PATIENCE):
            self.press(CTRL_C)
            until = time.monotonic() + patience
            while time.monotonic() < until:
                self._pass(0.1)
                if self.process.poll() is not None:
                    return self.process.returncode
        raise AssertionError(f"it does not end\n{self.text()[-2000:]}")

    def _pass(self, seconds: float) -> None:
        if not select.select([self._keyboard], [], [], seconds)[0]:
            return
        data = os.read(self._keyboard, 65536)
        self._shown += data
        self._unasked += data
        while found := min(_questions(self._unasked), default=None):
            _, end, answer = found
            self._unasked = self._unasked[end:]
            self.press(answer)
        self._unasked = self._unasked[-_LONGEST_QUESTION:]


@contextmanager
def terminal(world: World, *words: str) -> Iterator[Terminal]:
    """`git-agent WORDS` in a terminal of its own. The terminal stays open while the block runs."""
    keyboard, screen = pty.openpty()
    try:
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        process = subprocess.Popen(
            ("setsid", "--ctty", str(BIN / "git-agent"), *words),
            cwd=world.repo,
            env={**world.home.env, "PWD": str(world.repo)},
            stdin=screen,
            stdout=screen,
            stderr=screen,
        )
        try:
            yield Terminal(process, keyboard, screen)
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(keyboard)
        os.close(screen)


def _questions(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    for pattern, answer in _ANSWERS:
        if found := pattern.search(data):
            yield found.start(), found.end(), found.expand(answer) if found.re.groups else answer
