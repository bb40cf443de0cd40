"""What a person types goes to the engine, byte for byte and in order; only Ctrl-Z is ours."""

from __future__ import annotations

import os
import re
import selectors
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from git_agent_runner.process.capture import Pump

# Ctrl-Z as a byte, in kitty's protocol (not its release), and with xterm's modifyOtherKeys; and what a paste is within.
_KEY = re.compile(
    rb"(?P<paste>\x1b\[20[01]~)|\x1a+|\x1b\[122(?::\d*)*;(?P<modifiers>\d{1,4})(?::[12])?u|\x1b\[27;5;122~",
)
_CONTROL, _LOCKS = 4, 64 | 128  # bits of kitty's modifiers, which count from 1


class Keys:
    """More is read only when the engine has taken what was typed: a long paste must not block us, or the engine would
    wait for us to read, and we for it. `suspend` is called for Ctrl-Z, once all that came before it is the engine's.
    """

    def __init__(self, pump: Pump, keyboard: int, engine: int, suspend: Callable[[], None]) -> None:
        self._pump, self._keyboard, self._engine, self._suspend = pump, keyboard, engine, suspend
        self._typed = b""
        self._pasting = False
        self._until = self._stop = 0  # how much comes before the next Ctrl-Z, and how long that is
        os.set_blocking(engine, False)
        pump.watch(keyboard, self._take)

    def _take(self) -> None:
        self._pump.forget(self._keyboard)
        with suppress(OSError):  # our terminal is gone, and SIGHUP tells
            self._typed = os.read(self._keyboard, 4096)
        if self._typed:
            self._pass_on()

    def _pass_on(self) -> None:
        self._until, self._stop = self._next()
        if self._until:
            self._pump.watch(self._engine, self._give, selectors.EVENT_WRITE)
        else:
            self._passed()

    def _next(self) -> tuple[int, int]:
        for key in _KEY.finditer(self._typed):
            if paste := key["paste"]:
                self._pasting = paste.endswith(b"200~")
            elif not self._pasting and _is_control(key["modifiers"]):
                return key.start(), len(key[0])
        return len(self._typed), 0

    def _give(self) -> None:
        try:
            given = os.write(self._engine, self._typed[: self._until])
        except BlockingIOError:
            return
        except OSError:
            given = self._until  # the engine is gone
        self._typed, self._until = self._typed[given:], self._until - given
        if not self._until:
            self._pump.forget(self._engine)
            self._passed()

    def _passed(self) -> None:
        if self._stop:
            self._typed = self._typed[self._stop :]
            self._suspend()
        if self._typed:
            self._pass_on()
        else:
            self._pump.watch(self._keyboard, self._take)


def _is_control(modifiers: bytes | None) -> bool:
    return modifiers is None or (int(modifiers) - 1) & ~_LOCKS == _CONTROL
