"""The recordings of this project, read once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from git_agent_fixtures.recording import folder
from git_agent_fixtures.recording.model import Recording
from git_agent_runner.engines.spec import Version, parse_version

ROOT = Path(__file__).parents[2] / "fixtures" / "recordings"
FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


class Help(NamedTuple):
    """All that one engine version's help texts name: `flags` with their dashes."""

    engine: str
    version: Version
    flags: frozenset[str]


def places() -> list[Path]:
    """The folders of those that an extractor reads: all but the help texts."""
    return [place for place in folder.folders(ROOT) if not _is_help(place)]


@cache
def runs() -> tuple[Recording, ...]:
    return tuple(map(folder.read, places()))


def _is_help(place: Path) -> bool:
    """By its name: to read them all takes seconds, which every worker would spend while it collects."""
    return place.name.partition("-")[0] == "help"


def helps() -> Iterator[Help]:
    """One for each engine version."""
    texts: dict[tuple[str, Version], str] = {}
    for one in map(folder.read, filter(_is_help, folder.folders(ROOT))):
        version = parse_version(one.facts.version)
        assert version is not None
        text = "\n".join(data.decode(errors="replace") for data in one.files.values())
        key = (one.facts.engine, version)
        texts[key] = f"{texts.get(key, '')}\n{text}"
    for (engine, version), text in texts.items():
        yield Help(engine, version, frozenset(FLAG.findall(text)))
