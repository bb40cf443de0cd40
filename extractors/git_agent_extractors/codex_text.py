"""Reading Codex CLI's text mode: the banner that names the session, and the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from git_agent_extractors.model import Event
from git_agent_extractors.profile import NOTHING, UUID, Events, Mode

_TITLE = re.compile(r"(?:\[[^\]]*\] )?OpenAI Codex v\d")
_RULE = re.compile(r"-{8,}\s*\Z")
_ID_LINE = re.compile(rf"session id: ({UUID})\s*\Z")
_MODEL_LINE = re.compile(r"model: (\S+)")
_FRAME_LINES = 40


class Banner:
    """The banner of text mode: title, dashes, `key: value` lines, dashes. Only the first one is the engine's.

    What follows it is the echoed prompt and the answer (Kangentic/kangentic#392). Two ids in one frame, as a working
    directory with a line break in its name would make, are none.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._frame: list[str] | None = None
        self._titled = False
        self._done = False
        self._ids: set[str] = set()

    def line(self, text: str, raw: bytes) -> Events:
        if self._done:
            return NOTHING
        if self._frame is None:
            if self._titled and _RULE.match(text):
                self._frame = []
            self._titled = _TITLE.match(text) is not None
            return NOTHING
        if _RULE.match(text):
            return self._close()
        found = _ID_LINE.match(text)
        if found and found[1].encode() in raw:
            self._ids.add(found[1])
        self._frame.append(text)
        if len(self._frame) > _FRAME_LINES:
            self._frame = None
            self._ids.clear()
        return NOTHING

    def _close(self) -> Events:
        self._done = self._mode.text = True
        models = [found[1] for found in map(_MODEL_LINE.match, self._frame or ()) if found]
        data = {"model": models[0]} if models else {}
        if len(self._ids) != 1:
            return (Event("usage", data=data),)
        (value,) = self._ids
        return (Event("session", value, data={"value": value, **data}),)


def answer(lines: Sequence[str]) -> str:
    """The answer in a text-mode output: all of it, or the last section under a line `codex` where a banner is."""
    heads = [i for i, line in enumerate(lines) if re.fullmatch(r"(?:\[[^\]]*\] )?codex", line)]
    if not heads or not any(map(_TITLE.match, lines)):
        return "\n".join(lines).strip()
    tail = lines[heads[-1] + 1 :]
    stop = next((i for i, line in enumerate(tail) if re.match(r"(?:\[[^\]]*\] )?tokens used", line)), len(tail))
    return "\n".join(tail[:stop]).strip()
