"""The hint that an engine's terminal form leaves when it is left: the only place there that names the session.

Nothing else on a drawn screen is the engine's word: JSON, banners and hints in what it draws are the model's, a tool's
or the person's. Those are indented, or padded with blanks to the width of the terminal (opencode --mini), as the
recordings `interactive-*decoys` of each engine show. The hint is in its own column, its lines together and ended as
a terminal ends them, at the very end of the output. The last one counts.

Cannot be distinguished: a tool's output that gemini frames just as it frames the hint, when the engine is killed within
`REACH` bytes of drawing. After an orderly exit the real hint follows and wins.
"""

from __future__ import annotations

import re
from collections import deque

from git_agent_extractors.profile import Hint

# How much may follow: opencode --mini redraws its footer, codex adds a sentence, a shell its prompt.
REACH = 1 << 14
# The longest hint: gemini's on a narrow terminal, with the lower edge of its box.
LINES = 3
# Every terminal form turns bracketed paste on before it draws (codex 0.44 to 0.171, claude 1.0.24 to 2.1.332, gemini
# 0.61, opencode 1.18; within the first 2 KB). No headless form does, on a terminal or not.
_SCREEN = b"\x1b[?2004h"
# gemini colours the command letter by letter.
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def begins_screen(data: bytes, start: int) -> bool:
    """Do these bytes, which begin at `start` of their source, turn it into a drawn screen?"""
    return start < REACH and _SCREEN in data[: REACH - start]


def is_untrue(hint: Hint | None, data: bytes) -> bool:
    """Do these bytes, near the beginning of a source, come from a version whose hint is not to be believed?"""
    return hint is not None and hint.untrue is not None and bool(hint.untrue.search(_COLOUR.sub(b"", data)))


class ExitHint:
    """Keeps the last hint among the lines of one source, from its beginning or from anywhere in it."""

    def __init__(self, hint: Hint | None, *, begins: bool) -> None:
        self._hint = hint
        self._begins = begins
        self._lines: deque[bytes] = deque(maxlen=LINES)
        self._raw: deque[bytes] = deque(maxlen=LINES)
        self._near = 0
        self._value: str | None = None
        self._end = 0

    def line(self, text: bytes, raw: bytes, end: int) -> None:
        """A line as it reads, as it came, and where it ends in its source, in bytes."""
        if self._hint is None:
            return
        if self._begins and end < REACH and is_untrue(self._hint, text):
            self._hint = None
            return
        self._lines.append(text)
        self._near -= 1
        if self._hint.word in text and raw.endswith(b"\r"):
            self._near = LINES
        if self._near <= 0:
            self._raw.clear()
            return
        self._raw.append(raw)
        found = self._hint.block.search(b"\n".join(self._lines))
        value = found[found.lastindex or 0] if found else None
        if value and value in _COLOUR.sub(b"", b"\n".join(self._raw)):
            self._value, self._end = value.decode(), end

    def value(self, size: int) -> str | None:
        """The id, if the source ends, after `size` bytes, soon enough after it."""
        return self._value if size - self._end <= REACH else None
