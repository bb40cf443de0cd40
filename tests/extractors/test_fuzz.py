"""The fuzz targets run, find nothing, and would find something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_extractors.profile import UUID
from git_agent_extractors.profiles import NAMES
from support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
PLANTED = """
import re, sys
from pathlib import Path
from profiles import fuzz, profile_of
broken = profile_of("claude")._replace({})
fuzz(broken, Path(sys.argv[1]), sys.argv[2:])
"""


def run(words: list[str], corpus: Path, runs: int) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(ROOT / room) for room in ("fuzz", "extractors", "runner"))
    return subprocess.run(
        [sys.executable, *words, str(corpus), f"-runs={runs}", "-seed=1", f"-artifact_prefix={corpus}/"],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=corpus.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.one_of("engine")
@pytest.mark.parametrize("engine", [*sorted(NAMES), pytest.param(str(ROOT / "docs/examples/pi.yaml"), id="declared")])
def test_fuzzing_finds_nothing(tmp_path: Path, engine: str) -> None:
    done = run([str(ROOT / "fuzz" / "profiles.py"), engine], tmp_path / "corpus", 3000)
    assert done.returncode == 0, done.stderr
    runs = re.search(r"^Done (\d+) runs", done.stderr, re.MULTILINE)
    assert runs is not None
    assert int(runs[1]) == 3000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param("untyped=lambda obj: [][len(obj)]", "IndexError", id="a crash"),
        pytest.param(
            f"session=lambda obj, _: (re.findall('{UUID}', str(obj)) or [None])[0]", "in a string", id="a text"
        ),
    ],
)
def test_fuzzing_finds_a_planted_bug(tmp_path: Path, change: str, said: str) -> None:
    done = run(["-c", PLANTED.format(change)], tmp_path / "corpus", 1_000_000)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
