"""A real engine version, recorded again and compared with the last recorded one: the known differences, no others."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from git_agent_fixtures.engines import Pin, cache_directory, exactly
from support.drift_pairs import PAIRS, Pair
from system.support import BIN

ROOT = Path(__file__).parents[2]
# Read before any test has a home of its own: the cache is the person's.
CACHE = cache_directory(os.environ)


# Each run draws some of the pairs, as of all older versions (`selection.py`); the one with a newest version is in all.
@pytest.mark.parametrize(
    ("pin", "pair"),
    [pytest.param(exactly(pair.engine, pair.version), pair, id=f"{pair.engine}-{pair.version}") for pair in PAIRS],
    scope="session",
)
def test_drift_finds_the_known_differences(pin: Pin, pair: Pair, binary: Path) -> None:
    assert binary.exists()
    flags = [word for name in pair.situations.split() for word in ("--situation", name)]
    argv = (str(BIN / "git-agent"), "drift", pin.engine, "--version", pin.version, "--record", "--json", *flags)
    env = {**os.environ, "GIT_AGENT_CACHE": str(CACHE)}
    done = subprocess.run(
        (*argv, "--against", pair.base), cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    (report,) = json.loads(done.stdout)["reports"]
    assert sorted(report["situations"]) == sorted(pair.situations.split()), done.stderr
    found = {
        (*(one[key] for key in ("area", "what", "before", "after")), " ".join(one["situations"]), one["relied"])
        for one in report["findings"]
    }
    assert {one[:5] for one in found if one[5]} == pair.relied
    assert {one[:5] for one in found if not one[5]} == pair.others
    assert (done.returncode, report["moved"]) == (1, True)
