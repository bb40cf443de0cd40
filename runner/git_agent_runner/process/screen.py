"""What a program has switched on in a terminal, how to switch it off, and how to switch it on again.

An engine that is killed leaves the alternate screen, mouse reports or a hidden cursor behind. Only what is on may be
switched off: in tmux, leaving an alternate screen that is not shown moves the cursor.
"""

from __future__ import annotations

import re

_ALTERNATE = frozenset({47, 1047, 1049})
_ON = frozenset({7, 25})  # of a terminal that nobody changed: lines wrap, the cursor shows
_DIGITS = 5  # of a mode that terminals know
_LONGEST = 4096  # bytes of one control sequence, for which the rest of it is waited
_TOKEN = re.compile(
    rb"\x1b\[(?P<mark>[?>=<]?)(?P<numbers>[\d;:]{0,64})(?P<final>[ !]?[@-~])"
    rb"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # a title, and what else is no text
    rb"|\x1b(?P<plain>[ -/][0-~]|[0-OQ-WYZ\\`a-~])"
    rb"|(?P<line>\n)|(?P<text>[^\x00-\x1f\x7f]+)"
)
_MOVES = frozenset(b"ABCDEFGHdf")
_KEYPAD, _DRAWING = b"=", b"(0"
_PLAIN_OFF = {_KEYPAD: b"\x1b>", _DRAWING: b"\x1b(B"}


class Screen:
    """Follows what is written to a terminal. What it does not know it leaves alone."""

    def __init__(self) -> None:
        self._held = b""
        self._drawn = False  # has anything but text and line ends been written?
        self._forget()

    def _forget(self) -> None:
        self._modes: dict[int, bool] = {}  # those that are not as they were
        self._keys: dict[bool, list[bytes]] = {False: [], True: []}  # kitty's flags; each screen has its own stack
        self._plain: set[bytes] = set()
        self._other: dict[bytes, tuple[bytes, bytes]] = {}  # what brings it back, what undoes it
        self._within = {False: False, True: False}  # is the cursor within a line of text?

    def feed(self, data: bytes) -> None:
        data, self._held = self._held + data, b""
        if len(data) - (last := data.rfind(b"\x1b")) < _LONGEST and last >= 0 and not _TOKEN.match(data, last):
            data, self._held = data[:last], data[last:]
        for token in _TOKEN.finditer(data):
            self._take(token)

    def off(self) -> bytes:
        """Switch off what is on; the cursor stays where it is, or was before another screen was shown."""
        undone = [undo for _, undo in self._other.values()]
        undone += [_PLAIN_OFF[name] for name in sorted(self._plain)]
        undone += [_mode(number, on=not on) for number, on in self._modes.items() if number not in _ALTERNATE]
        shown = [_mode(number, on=False) for number in self._modes if number in _ALTERNATE]
        return b"".join([*undone, *(self._pops(True) if shown else ()), *shown, *self._pops(False)])

    def on(self) -> bytes:
        """Switch on again what `off` switched off."""
        shown = [_mode(number, on=True) for number in self._modes if number in _ALTERNATE]
        done = [_mode(number, on=on) for number, on in self._modes.items() if number not in _ALTERNATE]
        done += [b"\x1b" + name for name in sorted(self._plain)]
        done += [do for do, _ in self._other.values()]
        return b"".join([*self._keys[False], *shown, *(self._keys[True] if shown else ()), *done])

    def clean_line(self) -> bytes:
        """After `off`: to a line of its own, with nothing left of what was drawn there and below."""
        return (b"\r\n" if self._within[False] else b"") + (b"\x1b[0m\x1b[J" if self._drawn else b"")

    @property
    def _alternate(self) -> bool:
        return any(number in _ALTERNATE for number in self._modes)

    def _pops(self, alternate: bool) -> list[bytes]:
        pushed = self._keys[alternate]
        return [b"\x1b[<%du" % len(pushed)] if pushed else []

    def _take(self, token: re.Match[bytes]) -> None:
        if token["line"]:
            self._within[self._alternate] = False
        elif token["text"]:
            self._within[self._alternate] = True
        elif token["plain"]:
            self._take_plain(token["plain"])
        elif token["final"]:
            self._drawn = True
            self._take_sequence(token[0], token["mark"], token["numbers"], token["final"])

    def _take_plain(self, name: bytes) -> None:
        if name == b"c":
            self._forget()
        elif name in _PLAIN_OFF:
            self._plain.add(name)
        elif name in (b">", b"(B"):
            self._plain.discard(_KEYPAD if name == b">" else _DRAWING)

    def _take_sequence(self, whole: bytes, mark: bytes, numbers: bytes, final: bytes) -> None:
        if mark == b"?" and final in (b"h", b"l"):
            for number in numbers.split(b";"):
                if number.isdigit() and len(number) <= _DIGITS:
                    self._switch(int(number), on=final == b"h")
        elif final == b"u" and mark in (b">", b"<"):
            self._take_keys(whole, mark, numbers)
        elif not mark and final[-1] in _MOVES:
            self._within[self._alternate] = True
        elif (mark, final) == (b">", b"m") and numbers.split(b";")[0] == b"4":
            self._set(b"keys", whole, b"\x1b[>4m", on=numbers not in (b"4", b"4;0"))
        elif (mark, final) == (b"", b"r"):
            self._set(b"region", whole, b"\x1b7\x1b[r\x1b8", on=bool(numbers))
        elif (mark, final) == (b"", b" q"):
            self._set(b"cursor", whole, b"\x1b[0 q", on=numbers not in (b"", b"0"))
        elif (mark, final) == (b"", b"m"):
            self._set(b"colour", whole, b"\x1b[0m", on=numbers not in (b"", b"0"))

    def _switch(self, number: int, *, on: bool) -> None:
        if on == (number in _ON):
            self._modes.pop(number, None)
        else:
            self._modes[number] = on
        if number in _ALTERNATE:
            self._within[True] = False

    def _take_keys(self, whole: bytes, mark: bytes, numbers: bytes) -> None:
        pushed = self._keys[self._alternate]
        if mark == b">":
            pushed.append(whole)
        else:
            del pushed[max(len(pushed) - (int(numbers) if numbers.isdigit() else 1), 0) :]

    def _set(self, name: bytes, do: bytes, undo: bytes, *, on: bool) -> None:
        self._other.pop(name, None)
        if on:
            self._other[name] = do, undo


def _mode(number: int, *, on: bool) -> bytes:
    return b"\x1b[?%d%s" % (number, b"h" if on else b"l")
