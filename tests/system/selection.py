"""Which tests one run goes through: engines in their newest versions, of the rest a part that the commit draws."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from git_agent_fixtures.engines import NEWEST, PINS, Pin

TOUCHED_PARTS = 4  # of so many tests on the older version of an engine whose files are touched, one runs
ENGINES = tuple(sorted({pin.engine for pin in NEWEST}))
DRAWN_ENGINES = 3  # a test runs on so many; those whose files are touched come first
INDEPENDENT_ENGINES = 2  # the same of what is no different from engine to engine
_ROOMS = ("runner/git_agent_runner/engines", "extractors/git_agent_extractors")


class Draw(NamedTuple):
    """`word`, the commit unless one is given, draws the part; engines in `touched` run on their older versions too."""

    word: str
    touched: tuple[str, ...] = ()

    def __str__(self) -> str:
        older = f"; older versions of {', '.join(self.touched)}, whose files are changed" if self.touched else ""
        return f"{self.word[:12] or 'no commit'}{older}"


class Marks(NamedTuple):
    """What a test says of itself, by pytest's marks of these names.

    `long_matrix`: of so many of its cases one runs. `one_of`: its group, whose tests run on the same engines.
    """

    every_version: bool = False
    engine_independent: bool = False
    long_matrix: int = 1
    one_of: str = ""


def selected(test: str, pin: Pin | None, draw: Draw, marks: Marks) -> bool:
    """Does the test with this node id run on this version?"""
    if not _one_of(marks.long_matrix, f"{draw.word} {test}"):
        return False
    if marks.long_matrix > 1 or marks.every_version or pin is None or pin.engine not in ENGINES:
        return True
    if pin.engine not in _engines(marks.one_of or test, pin, draw, marks):
        return False
    return pin in NEWEST or _is_touched(test, pin, draw)


def one_of_each(groups: Mapping[str, str], draw: Draw) -> set[str]:
    """Of tests by node id, with their groups, the one of each group that is drawn."""
    found: dict[str, str] = {}
    for test in sorted(groups, key=lambda test: _number(f"{draw.word} {test}")):
        found.setdefault(groups[test], test)
    return set(found.values())


def _engines(test: str, pin: Pin, draw: Draw, marks: Marks) -> list[str]:
    """The engines that this test runs on: the same for all its cases, others for the next test."""
    name = re.sub(re.escape(str(pin)), "", test)
    number = INDEPENDENT_ENGINES if marks.engine_independent else DRAWN_ENGINES
    return sorted(ENGINES, key=lambda one: (one not in draw.touched, _number(f"{draw.word} {name} {one}")))[:number]


def _is_touched(test: str, pin: Pin, draw: Draw) -> bool:
    """However many engines a change touches, their older versions take the time of one."""
    return pin.engine in draw.touched and _one_of(TOUCHED_PARTS * len(draw.touched), f"{draw.word} {test}")


def _one_of(parts: int, text: str) -> bool:
    return _number(text) % parts == 0


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def touched(paths: Sequence[str]) -> tuple[str, ...]:
    """The engines that have files of their own among these paths: `codex.py`, `codex_items.py`, `codex/store.py`."""
    names = {place.parts[0].partition("_")[0].partition(".")[0] for place in _in_rooms(paths)}
    return tuple(sorted(names & {pin.engine for pin in PINS}))


def _in_rooms(paths: Sequence[str]) -> Iterator[PurePosixPath]:
    """Below the folders that hold a file or a folder for each engine."""
    for room in _ROOMS:
        yield from (PurePosixPath(path).relative_to(room) for path in paths if path.startswith(f"{room}/"))


def of_change(root: Path, word: str | None = None) -> Draw:
    """The draw of the commit checked out at `root`, or of a word; nothing is touched where there is no history."""
    head = _git(root, "rev-parse", "HEAD")
    base = _git(root, "merge-base", "HEAD", "origin/main")
    if not base or base == head:
        base = _git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    changed = _git(root, "diff", "--name-only", base).splitlines() if base else ()
    return Draw(word or head, touched(changed))


def _git(root: Path, *words: str) -> str:
    """What git prints; nothing where it fails: an unpacked archive and a shallow clone are tested too."""
    done = subprocess.run(("git", *words), cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
