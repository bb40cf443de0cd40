"""A person at a terminal: git-agent in a pseudo-terminal of 40 by 120, whose questions are answered."""

from __future__ import annotations

import re
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from git_agent_fixtures.recording import terminal as recorded
from support.waiting import PATIENCE
from system.support import BIN, World

_CONTROL = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_=>78]|[\x00-\x20]")

PRESSES = 12
UNSEEN = 20.0  # seconds: an engine that sees Ctrl-C answers it long before
_LOCAL = 3  # where `tcgetattr` has the local modes


class Terminal:
    """A program in its terminal; `modes` are the terminal's as they are now."""

    def __init__(self, screen: recorded.TerminalProgram) -> None:
        self.process = screen.process
        self._screen = screen

    @property
    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._screen.keyboard)

    def text(self) -> str:
        """All that was ever drawn, in order, without blanks: programs draw them by moving the cursor."""
        return _CONTROL.sub(b"", self._screen.shown).decode(errors="replace")

    def until(self, look: Callable[[], object], what: str) -> None:
        """Let the program run until `look` is true."""
        if not self._screen.until(look, time.monotonic() + PATIENCE):
            self._screen.drain()
            assert look(), f"waited in vain: {what}\n{self.text()[-2000:]}"

    def press(self, keys: bytes) -> None:
        self._screen.press(keys.decode())

    def leave(self) -> int:
        """Ctrl-C, and again where the engine asks for it ("again to exit"), until the program ends; its exit status.

        Once the terminal makes a signal of Ctrl-C again, the engine has ended, and another would interrupt git-agent.
        An engine that is busy may not see the first: it is pressed anew when nothing came of it for a long time.
        """
        for _ in range(PRESSES):
            self._press_and_see()
            if self._restored():
                self._screen.wait(PATIENCE)
            if self._screen.ended():
                return self.process.wait()
        raise AssertionError(f"it does not end\n{self.text()[-2000:]}")

    def _press_and_see(self) -> None:
        drawn = len(self.text())
        self._screen.press("Ctrl-C")
        seen = time.monotonic() + UNSEEN
        self._screen.until(lambda: self._restored() or "again" in self.text()[drawn:].lower(), seen)

    def _restored(self) -> bool:
        return bool(self.modes[_LOCAL] & termios.ISIG)


@contextmanager
def terminal(world: World, *words: str) -> Iterator[Terminal]:
    """`git-agent WORDS` in a terminal of its own. The terminal stays open while the block runs."""
    argv = (str(BIN / "git-agent"), *words)
    with recorded.terminal(argv, str(world.repo), {**world.home.env, "PWD": str(world.repo)}) as screen:
        yield Terminal(screen)
