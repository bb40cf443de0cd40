"""Which tests one run goes through: engines in their newest versions, of the rest a part that the commit draws."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from git_agent_fixtures.engines import NEWEST, OLDER, PINS, Pin

TOUCHED_PARTS = 4  # of that many tests on the older version of an engine whose files are touched, one runs
ENGINES = tuple(sorted({pin.engine for pin in NEWEST}))
DRAWN_ENGINES = 2  # a test runs on that many, and on one whose files are touched
INDEPENDENT_ENGINES = 1  # the same of what is no different from engine to engine
DRAWN_OLDER = 2  # of the older versions that many run what is marked for every version
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

    `long_matrix`: of that many of its cases one runs. `one_of`: its group, whose tests run on the same engines; it
    begins with the path of their file.
    """

    every_version: bool = False
    every_engine: bool = False
    engine_independent: bool = False
    long_matrix: int = 1
    one_of: str = ""


def selected(test: str, pin: Pin | None, draw: Draw, marks: Marks, turn: int | None = None) -> bool:
    """Does the test with this node id run on this version? `turn`: where in its file's round of engines it begins."""
    if not _one_of(marks.long_matrix, f"{draw.word} {test}"):
        return False
    if marks.long_matrix > 1 or pin is None or pin.engine not in ENGINES:
        return True
    if marks.every_version:
        return pin in NEWEST or pin.engine in draw.touched or pin in _older(draw)
    if not marks.every_engine and pin.engine not in _engines(name(test, pin, marks), draw, marks, turn):
        return False
    return pin in NEWEST or _is_touched(test, pin, draw)


def one_of_each(groups: Mapping[str, str], draw: Draw) -> set[str]:
    """Of tests by node id, with their groups, the one of each group that is drawn."""
    found: dict[str, str] = {}
    for test in sorted(groups, key=lambda test: _number(f"{draw.word} {test}")):
        found.setdefault(groups[test], test)
    return set(found.values())


def name(test: str, pin: Pin | None, marks: Marks) -> str:
    """What all its cases have in common that run on the same engines."""
    return marks.one_of or re.sub(re.escape(str(pin)), "", test)


def turns(tests: Iterable[tuple[str, Pin, Marks]]) -> dict[str, int]:
    """Where in its file's round of the engines each test begins, by name: together they come to as many as they can."""
    engines: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, int] = {}
    for test, pin, marks in tests:
        engines[name(test, pin, marks)].add(pin.engine)
        numbers[name(test, pin, marks)] = _how_many(marks)
    found: dict[str, int] = {}
    begun: Counter[str] = Counter()
    for one, its in engines.items():
        if its.issuperset(ENGINES):
            found[one] = begun[_file(one)]
            begun[_file(one)] += numbers[one]
    return found


def _engines(name: str, draw: Draw, marks: Marks, turn: int | None) -> list[str]:
    """The engines that this test runs on: the same for all its cases, others for the next test of its file."""
    order = sorted(ENGINES, key=lambda one: _number(f"{draw.word} {_file(name)} {one}"))
    begin = _number(f"{draw.word} {name}") if turn is None else turn
    round_of = [order[(begin + nth) % len(order)] for nth in range(_how_many(marks))]
    touched = sorted(draw.touched, key=lambda one: _number(f"{draw.word} {name} {one}"))
    return round_of if marks.engine_independent else round_of + touched[:1]


def _how_many(marks: Marks) -> int:
    return INDEPENDENT_ENGINES if marks.engine_independent else DRAWN_ENGINES


def _file(name: str) -> str:
    return re.split("::| ", name)[0]


def _older(draw: Draw) -> list[Pin]:
    return sorted(OLDER, key=lambda pin: _number(f"{draw.word} {pin}"))[:DRAWN_OLDER]


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
