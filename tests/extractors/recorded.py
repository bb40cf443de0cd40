"""The recordings beside these tests: what real engines printed, and what their own stores say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from git_agent_extractors.model import SOURCES, Source

ROOT = Path(__file__).parent / "transcripts"


class Recording(NamedTuple):
    """One engine process. `session` is the id (gemini's store may tell its first eight characters only) that the
    engine's store or the command line names, None where the output cannot tell one."""

    name: str
    engine: str
    sources: dict[Source, Path]
    exit_status: int | None
    session: str | None
    status: str


def _load(expected: Path) -> Recording:
    folder, facts = expected.parent, json.loads(expected.read_text())
    engine, version, situation = folder.parts[-3:]
    sources: dict[Source, Path] = {source: folder / source for source in SOURCES if (folder / source).exists()}
    return Recording(f"{engine}-{version}-{situation}", engine, sources, **facts)


def recordings(root: Path) -> list[Recording]:
    """Those of `<root>/<engine>/<version>/<situation>/`, in order."""
    return [_load(path) for path in sorted(root.glob("*/*/*/expected.json"))]


RECORDINGS = recordings(ROOT)
