"""Ctrl-C in the program's first and last moments prints no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from support.cli import Cli

HIT = "os.kill(os.getpid(), signal.SIGINT)"
BEFORE = f"""
class Hit:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            {HIT}
sys.meta_path.insert(0, Hit())
"""
AFTER = f"atexit.register(lambda: {HIT})"
ASKED = "from git_agent_runner.entry import main; sys.argv[1:] = ['-h']; sys.exit(main())"


@pytest.mark.parametrize(
    ("harm", "status"),
    [pytest.param(BEFORE, -signal.SIGINT, id="first"), pytest.param(AFTER, 0, id="last")],
)
def test_ctrl_c_is_silent(cli: Cli, harm: str, status: int) -> None:
    script = f"import atexit, os, signal, sys\n{harm}\n{ASKED}"
    done = subprocess.run(
        (sys.executable, "-P", "-c", script), env=cli.environ(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (status, "")
