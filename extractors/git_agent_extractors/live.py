"""Reading an attempt while the engine runs."""

from __future__ import annotations

from git_agent_extractors.model import SOURCES, Event, Source
from git_agent_extractors.profile import Mode, Profile
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.scan import Scan


class Decoder:
    """Turns the chunks of an attempt's sources into events, as they come and however they are cut.

    A `session` event comes as soon as the engine has printed its id. At most one line of each source is held, and of
    that at most `lines.LINE_CAP` bytes.
    """

    def __init__(self, engine: str | Profile) -> None:
        """Raises KeyError for an unknown engine."""
        self._profile = profile_of(engine)
        self._mode = Mode()
        self._scans: dict[Source, Scan] = {}

    def feed(self, source: Source, chunk: bytes) -> list[Event]:
        scan = self._scans.get(source)
        if scan is None:
            scan = self._scans[source] = Scan(self._profile, source, self._mode)
        return scan.feed(chunk)

    def close(self) -> list[Event]:
        """The events of the last unterminated lines, and those that only the end makes certain."""
        return [event for source in SOURCES if source in self._scans for event in self._scans[source].close()]
