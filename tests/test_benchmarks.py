"""The benchmarks run and find what they look for; how long anything takes is not asked here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.command

RUN = Path(__file__).parent.parent / "benchmarks" / "run.py"


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        pytest.param("startup", ["U", "git agent resume --dry-run, feature/noted", "git-agent list"], id="start-up"),
        pytest.param("capture", ["cat", "capture", "git-agent start"], id="capture"),
        pytest.param("hooks", ["U", "rebase, ours", "ours add to commit, no run"], id="hooks"),
        pytest.param(
            "many", ["doctor", "status, no run", "start, before the engine", "watch, 50 sleeping runs"], id="many"
        ),
        pytest.param("find", ["find, id first", "find, id last", "find, id middle", "find, id nowhere"], id="find"),
    ],
)
def test_each_benchmark_runs(name: str, measured: list[str], tmp_path: Path) -> None:
    argv = (sys.executable, RUN, name, "--quick", "--rounds=1")
    done = subprocess.run(argv, env={"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("|")]
    assert set(measured) <= set(rows)
    assert list(tmp_path.iterdir()) == []
