"""Reading iFlow CLI: plain text, and the `<Execution Info>` block at its end.

Documented only (iflow-ai/iflow-cli#196; the package has left the registry): the block is printed on stderr in 0.5.19,
in one piece or on several lines, and its `session-id` with the `session-` in front is what `--resume` takes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from git_agent_extractors.jsontext import loads
from git_agent_extractors.model import Event
from git_agent_extractors.profile import (
    NOTHING,
    UUID,
    ErrorRule,
    Events,
    Mode,
    Object,
    Profile,
    end,
    numbers,
    table,
    text,
)

_OPEN, _CLOSE = "<Execution Info>", "</Execution Info>"
_ID = re.compile(rf"session-{UUID}")
_BLOCK_LINES = 200


class InfoBlock:
    """Collects a block's lines. The closing tag may be missing in the one-line form."""

    def __init__(self, _mode: Mode) -> None:
        self._lines: list[str] | None = None
        self._raw: list[bytes] = []

    def line(self, text: str, raw: bytes) -> Events:
        if text.startswith(_OPEN):
            self._lines, self._raw, text = [], [], text[len(_OPEN) :]
        if self._lines is None:
            return NOTHING
        body, closed, _ = text.partition(_CLOSE)
        self._lines.append(body)
        self._raw.append(raw)
        if closed or (len(self._lines) == 1 and body.strip()):
            return self._finish()
        if len(self._lines) > _BLOCK_LINES:
            self._lines = None
        return NOTHING

    def _finish(self) -> Events:
        lines, self._lines = self._lines or [], None
        try:
            info = loads("\n".join(lines).encode())
        except ValueError:
            return NOTHING
        return _events(info, b"\n".join(self._raw)) if isinstance(info, dict) else NOTHING


def _events(info: Object, raw: bytes) -> Events:
    names = {"input_tokens": "input", "output_tokens": "output"}
    usage = Event("usage", data=numbers(table(info, "tokenUsage"), names))
    value = text(info, "session-id")
    stopped = text(info, "terminationReason")  # a budget guard's
    ended = (usage, end("failed" if stopped else "completed", stopped))
    if not _ID.fullmatch(value) or value.encode() not in raw:
        return ended
    return (Event("session", value, data={"value": value}), *ended)


def _answer(lines: Sequence[str]) -> str:
    """Everything before the block."""
    words = "\n".join(lines)
    block = words.rfind("\n" + _OPEN)
    return words[: block if block >= 0 else None].strip()


PROFILE = Profile(
    name="iflow",
    field="session-id",
    id_pattern=_ID,
    kinds={},
    untyped=lambda _: None,
    session=lambda _obj, _first: None,
    model=lambda _: None,
    reader=InfoBlock,
    errors=(ErrorRule(re.compile(r"(?i)error(?::| when)"), None),),
    exits={},
    needle=b"<Execution Info>",
    after=65536,
    answer=_answer,
)
