"""The whole reading of an attempt's files, and of a transcript that someone else recorded."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from git_agent_extractors import ordinary
from git_agent_extractors.model import SOURCES, Event, Source, Transcript
from git_agent_extractors.profile import Mode, Profile
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.scan import Scan
from git_agent_extractors.summary import EventSummary

# Larger ones are slower: memory is mapped again for each, and the events of one are many to the garbage collector.
CHUNK = 3 << 14
LARGEST = 64 << 30  # bytes; nothing prints so much, and a file that only claims to be larger would be read for hours
# stderr before stdout: a banner there says that stdout is text (codex/0.171.0/02-start-text).
_ORDER: tuple[Source, ...] = ("pty-output", "stderr", "stdout")


def read(engine: str | Profile, sources: Mapping[Source, Path], *, exit_status: int | None = None) -> Transcript:
    """All that an attempt's files say; a missing file is an absent source.

    `exit_status` is the engine's (negative for a signal, None when unknown); it decides only where the engine printed
    no end. Raises KeyError for an unknown engine, OSError for a file that cannot be read.
    """
    profile = profile_of(engine)
    summary = EventSummary(profile)
    scans: dict[Source, Scan] = {}
    for part in _parts(profile, sources, scans):
        summary.add(part)
    return summary.transcript(scans, exit_status)


def events(engine: str | Profile, sources: Mapping[Source, Path]) -> Iterator[Event]:
    """The events that `read` counts, one by one, in bounded memory: each source's in their order, stdout's last.

    Raises KeyError for an unknown engine; OSError, while it is iterated, for a file that cannot be read.
    """
    return chain.from_iterable(_parts(profile_of(engine), sources, {}))


def _parts(profile: Profile, sources: Mapping[Source, Path], scans: dict[Source, Scan]) -> Iterator[list[Event]]:
    """The events of each source, chunk by chunk; its scan is put into `scans`."""
    mode = Mode()
    for source in _ORDER:
        path = sources.get(source)
        if path is None:
            continue
        try:
            stream = open(path, "rb", buffering=0, opener=ordinary.opened)  # noqa: SIM115  closed below
        except OSError:
            if not path.is_file():
                continue
            raise
        with stream:
            if os.fstat(stream.fileno()).st_size > LARGEST:
                raise OSError(errno.EFBIG, f"larger than {LARGEST >> 30} GiB", os.fspath(path))
            scan = scans[source] = Scan(profile, source, mode)
            yield from _scanned(scan, stream)


def read_stream(engine: str | Profile, stream: BinaryIO, source: Source = "stdout") -> Transcript:
    """A transcript from an open binary stream, as `read_file` reads one."""
    profile = profile_of(engine)
    summary = EventSummary(profile)
    scan = Scan(profile, source, Mode())
    for part in _scanned(scan, stream):
        summary.add(part)
    return summary.transcript({source: scan}, None)


def read_file(engine: str | Profile, path: Path) -> Transcript:
    """A transcript of unknown kind, whoever recorded it. A file named as one of our sources is read as that one."""
    source: Source = next((source for source in SOURCES if path.name == source), "stdout")
    with path.open("rb", buffering=0) as stream:
        return read_stream(engine, stream, source)


def _scanned(scan: Scan, stream: BinaryIO) -> Iterator[list[Event]]:
    while chunk := stream.read(CHUNK):
        yield scan.feed(chunk)
    yield scan.close()
