"""What is kept of a stream, in bounded memory: its last text, a JSON document spread over lines, its damage."""

from __future__ import annotations

from collections import deque

PROSE_CAP = 1 << 20
_NOTES = 20


class Prose:
    """The last pieces of a text, of at most `PROSE_CAP` characters, the end of the last one always."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._size = 0

    def keep(self, line: str) -> None:
        self._lines.append(line[-PROSE_CAP:])
        self._size += len(self._lines[-1]) + 1
        while self._size > PROSE_CAP and len(self._lines) > 1:
            self._size -= len(self._lines.popleft()) + 1

    def lines(self) -> list[str]:
        return list(self._lines)


class Document:
    """The lines of an indented JSON document: from a bracket alone on its line to one in the first column."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._lines: list[bytes] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, line: bytes) -> bool:
        """Take a line; True when the document is whole, or so large that it cannot be one."""
        self._lines.append(line)
        self._size += len(line) + 1
        return line[:1] in (b"}", b"]") or self._size > self._cap

    def take(self) -> list[bytes]:
        lines, self._lines, self._size = self._lines, [], 0
        return lines


class Remarks:
    """The first remarks on what could not be read, and how many more there were."""

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._more = 0

    def add(self, note: str) -> None:
        if len(self._notes) < _NOTES:
            self._notes.append(note)
        else:
            self._more += 1

    def lines(self) -> list[str]:
        return [*self._notes, f"{self._more} more lines like these"] if self._more else self._notes
