"""The lines that long transcripts are made of, many at once and straight into events.

Reading lines into dictionaries takes longer than all the rest. Here a block of lines is decoded in one call, into
records of just the fields that events are made of. What a profile's `kinds` say of these lines is the truth: a block
with anything else in it (another type, a field of another kind, an id that is not the known one, damage) is refused.

Two JSON values on one line are refused too, unless another value of the block is broken into two lines: no engine
prints that, and no id comes from here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

from git_agent_extractors.model import Event, EventKind
from git_agent_extractors.profile import Events, Quick

# An event of all its fields. `Event` takes half as long again.
made: Callable[[tuple[EventKind, str, str, dict[str, Any]]], Event] = partial(tuple.__new__, Event)


class Line(Protocol):
    """One decoded line."""

    def events(self, session: str | None) -> Events | None:
        """What the profile says of it while `session` is the known id; None when only the profile can tell."""


AnyLine = TypeVar("AnyLine", bound=Line)


def quick(decoder: msgspec.json.Decoder[AnyLine]) -> Quick:
    """A reader of blocks of the lines that this decoder takes."""
    decode = decoder.decode_lines

    def read(block: bytes, count: int, session: str | None) -> list[Event] | None:
        try:
            lines = decode(block)
        except (ValueError, RecursionError):  # not these lines, or not UTF-8; nested too deeply
            return None
        if len(lines) != count:
            return None
        found: list[Event] = []
        for line in lines:
            events = line.events(session)
            if events is None:
                return None
            found += events
        return found

    return read
