"""How long the session's id takes to find in a long transcript, by where it stands; a plain read is the yardstick.

Timed within the process: a start of Python alone takes about as long as the search may.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import transcript
from measure import Limits, Row, Sample, row

AT_ONCE = Limits(ms=10, mib=40)
PLACES = {
    "first": AT_ONCE,
    "last": AT_ONCE,
    "middle": Limits(ratio=1.5, mib=40),
    "nowhere": Limits(ratio=1.5, mib=40),
}


def measure(folder: Path, rounds: int, quick: bool) -> list[Row]:
    size = transcript.Size(8 * transcript.MIB, transcript.MIB) if quick else transcript.Size()
    made = transcript.write(folder / "transcript", size)
    rows = []
    for place, limits in PLACES.items():
        transcript.place(made, place)
        finds, reads = _samples(made.path, rounds, None if place == "nowhere" else transcript.SESSION)
        rows += [
            row(f"plain read, id {place}", reads),
            row(f"find, id {place}", finds, ("read", reads), limits),
        ]
    return rows


def _samples(path: str, rounds: int, session: str | None) -> tuple[list[Sample], list[Sample]]:
    argv = (sys.executable, str(Path(__file__).with_name("finding.py")), path, str(rounds))
    said = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
    if said["found"] != session:
        raise RuntimeError(f"found the session {said['found']} instead of {session}")
    finds, reads = ([Sample(wall, cpu, said["peak"]) for wall, cpu in said[name]] for name in ("find", "read"))
    return finds, reads
