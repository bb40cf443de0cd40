"""What must hold after everything ended at some moment: nothing complete is lost, all is fixed, the run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

FAULTY = Path(__file__).with_name("faulty.py")
# Each moment of an attempt at which the world ends: the step, and which time it is reached. What an attempt reaches
# more often, it reaches for the same reason.
_ONCE = (
    "run-locked",
    "attempt-begun",
    "record-begun",
    "engine-spawned",
    "process-saved",
    "output-came",
    "engine-ended",
    "output-read",
    "attempt-settled",
    "record-settled",
    "note-locked",
    "note-made",
    "note-written",
    "copy-begun",
    "copy-made",
    "session-kept",
)
_FILES = tuple((step, nth) for nth in range(1, 7) for step in ("file-written", "file-replaced"))
POINTS = (*((step, 1) for step in _ONCE), *_FILES)
# A new run has these besides; the session of one that is resumed is known.
START_POINTS = (
    *POINTS,
    ("run-directory-made", 1),
    ("session-printed", 1),
    ("session-in-attempt", 1),
    ("session-in-record", 1),
    ("pointer-locked", 1),
    ("pointer-written", 1),
)
RESUME_POINTS = (*POINTS, ("session-locked", 1))


class Fault(NamedTuple):
    """What happens (`do`), when a step is reached for the nth time, or at the nth write. `log` tells that it did."""

    do: str
    step: str
    nth: int
    log: str
    path: str = ""

    def words(self, *arguments: str) -> tuple[str, ...]:
        return (str(FAULTY), json.dumps(self._asdict()), *arguments)

    def happened(self) -> bool:
        return Path(self.log).exists()


class Ended(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def out(self) -> str: ...

    @property
    def err(self) -> str: ...


Agent = Callable[..., Ended]


def complete(agent_dir: Path) -> dict[str, str]:
    """Every file of the attempts that are settled, by its content: none of it may ever change."""
    found = {}
    for attempt in agent_dir.glob("runs/*/attempts/*"):
        text = (attempt / "attempt.yaml").read_text() if (attempt / "attempt.yaml").exists() else ""
        if "endedAt: " in text and "endedAt: null" not in text:
            for file in attempt.iterdir():
                found[str(file.relative_to(agent_dir))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def fixed(agent: Agent) -> None:
    """`doctor --repair` leaves nothing that is wrong."""
    agent("doctor", "--repair")
    done = agent("doctor", "--json")
    assert (done.status, json.loads(done.out)["problems"]) == (0, []), done.err


def says_why(done: Ended) -> bool:
    """It did not go on, and said so in the way that users are owed: one fatal line, and what to do."""
    return (
        done.status == 128 and done.err.count("fatal: ") == 1 and "hint: " in done.err and "Traceback" not in done.err
    )
