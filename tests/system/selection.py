"""Which engine versions a system test runs on: the newest always, older ones in part, a different part each commit."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from git_agent_fixtures.engines import NEWEST, PINS, Pin

PARTS = 4  # of so many tests on an older version, one runs
LONG_PARTS = 64  # of so many tests of a long matrix, one runs, whatever the version
_ROOMS = ("runner/git_agent_runner/engines", "extractors/git_agent_extractors")


class Slice(NamedTuple):
    """`commit` (any word) draws the part; engines in `touched` run whole on their older versions too."""

    commit: str
    touched: tuple[str, ...] = ()

    def __str__(self) -> str:
        whole = f", all of {', '.join(self.touched)} (changed)" if self.touched else ""
        return f"1/{PARTS} of the tests on older engine versions, drawn by {self.commit[:12] or 'no commit'}{whole}"


def selected(test: str, pin: Pin, chosen: Slice, *, every: bool) -> bool:
    """Does the test with this node id run on this version? `every`: it runs on all of them."""
    return every or pin in NEWEST or pin.engine in chosen.touched or _drawn(f"{chosen.commit} {test}")


def selected_of_long(test: str, chosen: Slice) -> bool:
    """The same for a test of a long matrix, which no run but that of every version goes through."""
    return _drawn(f"{chosen.commit} {test}", LONG_PARTS)


def _drawn(text: str, parts: int = PARTS) -> bool:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % parts == 0


def touched(paths: Iterable[str]) -> tuple[str, ...]:
    """The engines that have files of their own among these paths: `engines/codex_store.py` is codex's."""
    places = map(PurePosixPath, paths)
    names = {place.stem.partition("_")[0] for place in places if str(place.parent) in _ROOMS}
    return tuple(sorted(names & {pin.engine for pin in PINS}))


def of_change(root: Path, commit: str | None = None) -> Slice:
    """The slice of the commit checked out at `root`, or of another; nothing is touched where there is no history."""
    commit = commit or _git(root, "rev-parse", "HEAD")
    base = _git(root, "merge-base", "HEAD", "origin/main")
    if not base or base == _git(root, "rev-parse", "HEAD"):
        base = _git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    return Slice(commit, touched(_git(root, "diff", "--name-only", base).splitlines()) if base else ())


def _git(root: Path, *words: str) -> str:
    """What git prints; nothing where it fails: an unpacked archive and a shallow clone are tested too."""
    done = subprocess.run(("git", *words), cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
