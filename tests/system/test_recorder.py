"""The recorder on a real engine: what it writes, and that it writes the same twice."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from git_agent_fixtures.engines import Pin, cache_directory, pinned
from git_agent_fixtures.recording import folder
from git_agent_fixtures.recording.lane import lane
from git_agent_fixtures.recording.record import cleaned
from system.support import BIN

# Read before any test has a home of its own: the cache is the person's.
CACHE = cache_directory(os.environ)
PIN = pytest.mark.parametrize("pin", [pinned("codex")], ids=str, scope="session")


@PIN
def test_the_same_version_gives_the_same_bytes(pin: Pin, binary: Path) -> None:
    """Also where one situation is recorded without others. Homes, ports, ids and times all differ."""
    with lane(pin, binary) as one, lane(pin, binary) as other:
        first = {name: cleaned(one, one.record(name)) for name in ("start-json", "tool", "resume-twice")}
        again = {name: cleaned(other, other.record(name)) for name in ("resume-twice", "tool")}
    assert again == {name: first[name] for name in again}


@PIN
def test_record_and_check(pin: Pin, binary: Path, tmp_path: Path) -> None:
    """One command records, another finds nothing to say against it."""
    wanted = ("resume-unknown-json", "resume-json", "kill-sigterm", "interactive-start", "help-exec")
    flags = [word for name in wanted for word in ("--situation", name)]
    done = _fixtures("record", f"{pin.engine}@{pin.version}", "--into", str(tmp_path), *flags)
    assert done.returncode == 0, done.stderr
    told = {place.name: folder.read(place) for place in folder.folders(tmp_path)}
    assert told.keys() == set(wanted)
    assert {name: (one.truth.status, one.truth.resumed) for name, one in told.items()} == {
        "resume-json": ("completed", "yes"),
        "resume-unknown-json": ("session_missing", "no"),
        "kill-sigterm": ("interrupted", None),
        "interactive-start": ("completed", None),
        "help-exec": ("completed", None),
    }
    assert told["resume-json"].facts.prepared == ("start-json",)
    assert (told["kill-sigterm"].facts.signals, told["kill-sigterm"].facts.ended) == (("SIGTERM",), "signalled")
    assert set(told["interactive-start"].files) == {"pty-output", "session-head"}
    checked = _fixtures("check", str(tmp_path))
    assert (checked.returncode, checked.stdout) == (0, "5 recordings, 0 deviations\n")


def _fixtures(*words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "GIT_AGENT_CACHE": str(CACHE)}
    argv = (str(BIN / "git-agent"), "fixtures", *words)
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
