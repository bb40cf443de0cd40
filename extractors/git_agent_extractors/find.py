"""Only the session of an attempt, fast: without reading what cannot hold it.

A drawn screen has an id at its end or none. Elsewhere an id's line holds the profile's needle. The last and the first
window of a file are searched first, the rest only if neither has an id: engines print it at the start, at the end, or
on every line. What is found is read by the same code as everything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from git_agent_extractors import ordinary
from git_agent_extractors.haystack import holding
from git_agent_extractors.hint import LINES, REACH, begins_screen, is_untrue
from git_agent_extractors.lines import LINE_CAP, is_utf16
from git_agent_extractors.model import NO_SESSION, SOURCES, Session, Source
from git_agent_extractors.profile import Mode, Profile
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.scan import Scan

WINDOW = 1 << 20
_BANNER_SIZE = 1 << 14


def find_session(engine: str | Profile, sources: Mapping[Source, Path]) -> tuple[Session, Source | None]:
    """The session that `read` would name, and the source it is in; (NO_SESSION, None) without one.

    Raises KeyError for an unknown engine, OSError for a file that cannot be read.
    """
    return search(profile_of(engine), sources, WINDOW)


def search(profile: Profile, sources: Mapping[Source, Path], window: int) -> tuple[Session, Source | None]:
    """`find_session` with windows of `window` bytes."""
    files: list[_File] = []
    try:
        for source in SOURCES:
            path = sources.get(source)
            if path is not None and path.is_file():
                files.append(_File(profile, source, path, window))
        # A banner in one source makes text of the JSON in the others.
        banners = [file.read_banner() for file in files if profile.banner]
        for file in files:
            value = file.banner if any(banners) else file.search()
            if value is not None:
                return Session(profile.field, value), file.source
    finally:
        for file in files:
            file.close()
    return NO_SESSION, None


class _File:
    """One open source. Positions are bytes from the start of the file."""

    def __init__(self, profile: Profile, source: Source, path: Path, window: int) -> None:
        self._profile = profile
        self._window = window
        self._fd = ordinary.opened(path)
        self._size = os.fstat(self._fd).st_size
        self._buffer = bytearray(min(window + len(profile.needle), self._size))
        self._needled = False
        self.source = source
        self._screen = source == "pty-output" and begins_screen(self._bytes(0, REACH), 0)
        self.banner: str | None = None

    def close(self) -> None:
        os.close(self._fd)

    def read_banner(self) -> bool:
        """Is there a banner in the first window? `banner` is then the id in it, if any."""
        if self._screen:
            return False
        head = self._bytes(0, self._window)
        if is_utf16(head):
            mode = Mode()
            self.banner = self._scan(0, self._size, mode)
            return mode.text
        found = head.find(self._profile.banner)
        while found >= 0:
            mode = Mode()
            value = self._scan(head.rfind(b"\n", 0, found) + 1, found + _BANNER_SIZE, mode)
            if mode.text:
                self.banner = value
                return True
            found = head.find(self._profile.banner, found + 1)
        return False

    def search(self) -> str | None:
        size, window = self._size, self._window
        if size <= 2 * window or is_utf16(self._bytes(0, 2)):
            return self._scan(0, size)
        if self._screen:
            return self._hint()
        return (self._hint() if self.source == "stdout" else None) or self._lines()

    def _lines(self) -> str | None:
        size, window = self._size, self._window
        starts = range(window, size - window, window)
        if self._profile.first:
            return self._windows(chain([0], self._holding(starts), [size - window]), 1)
        return (
            self._windows([size - window], -1)
            or self._windows([0], -1)
            or self._opening()
            or self._windows(self._holding(starts[::-1]), -1)
            # Needles, but no line that reads: a document spread over lines, which reads only as a whole.
            or (self._scan(0, size) if self._profile.pretty and self._needled else None)
        )

    def _hint(self) -> str | None:
        """The id that a terminal form left at the end."""
        if is_untrue(self._profile.hint, self._bytes(0, REACH)):
            return None
        start = max(self._size - REACH, 0)
        for _ in range(LINES):
            start = self._line_start(max(start - 1, 0))
        return self._scan(start, self._size, screen=True)

    def _windows(self, starts: Iterable[int], step: int) -> str | None:
        for start in starts:
            value = self._try(self._needles(start)[::step])
            if value is not None:
                return value
        return None

    def _holding(self, starts: range) -> Iterator[int]:
        return holding(self._fd, self._profile.needle, starts, self._window)

    def _needles(self, start: int) -> list[int]:
        """Where the needle begins within the window at `start`."""
        needle = self._profile.needle
        length = os.preadv(self._fd, [self._buffer], start)
        found: list[int] = []
        position = self._buffer.find(needle, 0, length)
        while 0 <= position < self._window:
            found.append(start + position)
            position = self._buffer.find(needle, position + len(needle), length)
        self._needled = self._needled or bool(found)
        return found

    def _try(self, positions: Iterable[int]) -> str | None:
        """Read the lines that hold these positions, each line once."""
        seen = (0, 0)
        for position in positions:
            if seen[0] <= position < seen[1]:
                continue
            seen = start, end = self._line_start(position), self._line_end(position)
            if end - start > LINE_CAP:
                continue
            value = self._scan(start, end + self._profile.after)
            if value is not None:
                return value
        return None

    def _opening(self) -> str | None:
        """The first JSON line, which needs no needle: an older codex's configuration."""
        head = self._bytes(0, self._window)
        start = 0 if head.startswith(b"{") else head.find(b"\n{") + 1
        end = head.find(b"\n", start)
        return self._scan(start, end) if head[start : start + 1] == b"{" and end >= 0 else None

    def _line_start(self, position: int) -> int:
        """Where the line at `position` begins; no further back than a line may be long."""
        for low in self._steps(position, max(position - LINE_CAP - 1, 0)):
            found = self._bytes(low, min(low + self._window, position)).rfind(b"\n")
            if found >= 0:
                return low + found + 1
        return max(position - LINE_CAP - 1, 0)

    def _steps(self, high: int, low: int) -> Iterator[int]:
        while high > low:
            high = max(high - self._window, low)
            yield high

    def _line_end(self, position: int) -> int:
        for low in range(position, min(position + LINE_CAP + 1, self._size), self._window):
            found = self._bytes(low, low + self._window).find(b"\n")
            if found >= 0:
                return low + found
        return min(position + LINE_CAP + 1, self._size)

    def _bytes(self, start: int, end: int) -> bytes:
        return os.pread(self._fd, end - start, start)

    def _scan(self, start: int, end: int, mode: Mode | None = None, *, screen: bool = False) -> str | None:
        """The session in these bytes, read as they would be in the whole."""
        profile = self._profile if end >= self._size else self._profile._replace(hint=None)
        scan = Scan(profile, self.source, mode or Mode(), screen=screen)
        for low in range(start, min(end, self._size), self._window):
            scan.feed(self._bytes(low, min(low + self._window, end)))
        scan.close()
        return scan.session.value
