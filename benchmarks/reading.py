"""Read all events of one transcript, and its lines plainly, in turns: `reading.py ENGINE TRANSCRIPT ROUNDS`.

Prints JSON: `{"status": …, "events": {kind: how many}, "unknown": {name: how many}, "peak": bytes,
"times": {"events" | "read" | "bare": [[wall, cpu], …]}}`, in seconds. `read` also sums the events up; `peak` is of the
events alone.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path

import orjson

from finding import peak, timed
from git_agent_extractors.read import events, read


def main(engine: str, path: Path, rounds: int) -> None:
    acts: dict[str, Callable[[], object]] = {
        "events": lambda: count(engine, path),
        "read": lambda: read(engine, {"stdout": path}),
        "bare": lambda: bare(path),
    }
    acts["events"]()
    most = peak()
    told = read(engine, {"stdout": path})
    turns = [{name: timed(act) for name, act in acts.items()} for _ in range(rounds)]
    times = {name: [turn[name] for turn in turns] for name in acts}
    said = {"status": told.status, "events": told.events, "unknown": told.unknown_events, "peak": most, "times": times}
    json.dump(said, sys.stdout)


def count(engine: str, path: Path) -> None:
    deque(events(engine, {"stdout": path}), maxlen=0)


def bare(path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
