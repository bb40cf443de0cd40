"""Every recording of every engine version: session and status right, every event known, the story as it was read; and
the same session and events however the output is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from git_agent_extractors.find import find_session, search
from git_agent_extractors.live import Decoder
from git_agent_extractors.model import SOURCES, Event, Source
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.read import events
from git_agent_fixtures.pytest_plugin import Held
from git_agent_fixtures.recording import folder, sums
from git_agent_fixtures.recording.check import contradicted
from recordings.recorded import ROOT

WINDOWS = (512, 4096)
CHUNKS = (1, 7, 1000)
SMALL = 4 * 1024  # bytes; of a recording with more, the chunks of one byte are left out for their time


def test_recording(git_agent_recording: Held) -> None:
    read = git_agent_recording.hold()
    recording, name = git_agent_recording.recording, git_agent_recording.name
    engine, session = recording.facts.engine, (read.session, read.source)
    assert contradicted(recording) == ()
    assert git_agent_recording.item.name.endswith(f"[{'-'.join(recording.facts[:3])}]"), f"{name}: in another's folder"
    with TemporaryDirectory(prefix="git-agent-") as made:
        sources = folder.sources(recording, Path(made))
        assert find_session(engine, sources) == session, f"{name}: another session is found than is read"
        for window in WINDOWS:
            found = search(profile_of(engine), sources, window)
            assert found == session, f"{name}: windows of {window} bytes find another session"
        counted = Counter(event.kind for event in events(engine, sources))
        assert counted == read.events, f"{name}: the events are not those that are counted"
    printed = {source: recording.files[source] for source in SOURCES if source in recording.files}
    whole = decoded(engine, printed, 1 << 20)
    for size in CHUNKS if sum(map(len, printed.values())) <= SMALL else CHUNKS[1:]:
        assert decoded(engine, printed, size) == whole, f"{name}: chunks of {size} bytes give other events"


def test_nothing_was_changed_since_it_was_recorded() -> None:  # faults E
    assert all((place.parent / sums.NAME).is_file() for place in folder.folders(ROOT))
    assert list(sums.gone(ROOT)) == []
    assert [place for place in folder.folders(ROOT) if sums.changed(place)] == []


def decoded(engine: str, printed: Mapping[Source, bytes], size: int) -> list[Event]:
    decoder = Decoder(engine)
    found: list[Event] = []
    for source, data in printed.items():
        for start in range(0, len(data), size):
            found += decoder.feed(source, data[start : start + size])
    return found + decoder.close()
