"""The lines that long transcripts are made of, many at once and straight into events.

Reading lines into dictionaries takes longer than all the rest. Here a block of lines is decoded in one call, into
records of just the fields that events are made of. What a profile's `kinds` say of these lines is the truth: a block
with anything else in it (another type, a field of another kind, an id that is not the known one, damage) is refused.

Two JSON values on one line are refused too, unless another value of the block is broken into two lines: no engine
prints that, and no id comes from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from git_agent_extractors.model import Event
from git_agent_extractors.profile import Events, Quick


class Line(Protocol):
    """One decoded line."""

    def events(self, session: str | None) -> Events | None:
        """What the profile says of it while `session` is the known id; None when only the profile can tell."""


AnyLine = TypeVar("AnyLine", bound=Line)


def quick(decoder: msgspec.json.Decoder[AnyLine]) -> Quick:
    """A reader of blocks of the lines that this decoder takes."""
    decode = decoder.decode_lines

    def read(block: bytes, lines: Sequence[bytes], session: str | None) -> list[Event] | None:
        if min(lines) < b"{":  # one is blank or indented
            return None
        try:
            if not block.isascii():
                block.decode()  # of a key that it does not look for, the decoder does not ask whether it is UTF-8
            records = decode(block)
        except (ValueError, RecursionError):  # other lines, or not UTF-8; nested too deeply
            return None
        if len(records) != len(lines):
            return None
        found: list[Event] = []
        for record in records:
            events = record.events(session)
            if events is None:
                return None
            found += events
        return found

    return read
