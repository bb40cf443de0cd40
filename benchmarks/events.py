"""How long all events of a long transcript take to read, by the length of its lines; the yardstick only decodes them.

Timed within the process, as the search for the session is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import stories
from measure import Limits, Row, Sample, row

LONG, SHORT = Limits(ratio=1.3, mib=40), Limits(ratio=1.6, mib=40)


def measure(folder: Path, rounds: int, quick: bool) -> list[Row]:
    """A third of the rounds: each reads some GB."""
    size = (2 if quick else 500) * stories.MIB
    path, turns = folder / "stdout", max(rounds // 3, 1)
    rows: list[Row] = []
    for engine in stories.ENGINES:
        for what, story, limits in (
            ("2 kB", stories.long_lines(engine), LONG),
            ("90 B", stories.short_lines(engine), SHORT),
        ):
            rows += _rows(f"{engine}, lines of {what}", path, engine, stories.write(path, story, size), turns, limits)
    story, line = stories.long_lines("codex"), (20 if quick else 200) * stories.MIB
    count = stories.write(path, story, size, line)
    rows += _rows(f"codex, one line of {line // stories.MIB} MB", path, "codex", count, turns, LONG)
    return rows


def _rows(what: str, path: Path, engine: str, turns: int, rounds: int, limits: Limits) -> list[Row]:
    argv = (sys.executable, str(Path(__file__).with_name("reading.py")), engine, str(path), str(rounds))
    said = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
    if (said["status"], said["unknown"], said["events"]["tool_result"]) != ("completed", {}, turns):
        raise RuntimeError(f"{what}: {turns} turns were read as {said['status']}, {said['events']}, {said['unknown']}")

    def samples(act: str) -> list[Sample]:
        return [Sample(wall, cpu, said["peak"]) for wall, cpu in said["times"][act]]

    bare = samples("bare")
    return [
        row(f"{what}: orjson", bare),
        row(f"{what}: events", samples("events"), ("orjson", bare), limits),
        row(f"{what}: read", samples("read"), ("orjson", bare)),
    ]
