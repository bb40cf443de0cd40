"""The whole reading of an attempt's files, and of a transcript that someone else recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from git_agent_extractors.model import SOURCES, Source, Transcript
from git_agent_extractors.profile import Mode, Profile
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.scan import Scan
from git_agent_extractors.summary import Summary

CHUNK = 1 << 18
# stderr before stdout: a banner there says that stdout is text (codex/0.171.0/02-start-text).
_ORDER: tuple[Source, ...] = ("pty-output", "stderr", "stdout")


def read(engine: str | Profile, sources: Mapping[Source, Path], *, exit_status: int | None = None) -> Transcript:
    """All that an attempt's files say; a missing file is an absent source.

    `exit_status` is the engine's (negative for a signal, None when unknown); it decides only where the engine printed
    no end. Raises KeyError for an unknown engine, OSError for a file that cannot be read.
    """
    profile, mode = profile_of(engine), Mode()
    summary = Summary(profile)
    scans: dict[Source, Scan] = {}
    for source in _ORDER:
        path = sources.get(source)
        if path is None:
            continue
        try:
            stream = path.open("rb", buffering=0)
        except FileNotFoundError:
            continue
        with stream:
            scans[source] = Scan(profile, source, mode)
            _drain(scans[source], stream, summary)
    return summary.transcript(scans, exit_status)


def read_stream(engine: str | Profile, stream: BinaryIO, source: Source = "stdout") -> Transcript:
    """A transcript from an open binary stream, as `read_file` reads one."""
    profile = profile_of(engine)
    summary = Summary(profile)
    scan = Scan(profile, source, Mode())
    _drain(scan, stream, summary)
    return summary.transcript({source: scan}, None)


def read_file(engine: str | Profile, path: Path) -> Transcript:
    """A transcript of unknown kind, whoever recorded it. A file named as one of our sources is read as that one."""
    source: Source = next((source for source in SOURCES if path.name == source), "stdout")
    with path.open("rb", buffering=0) as stream:
        return read_stream(engine, stream, source)


def _drain(scan: Scan, stream: BinaryIO, summary: Summary) -> None:
    while chunk := stream.read(CHUNK):
        summary.add(scan.feed(chunk))
    summary.add(scan.close())
