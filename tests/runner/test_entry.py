"""Ctrl-C in the program's first and last moments prints no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import SOURCES, Cli

HIT = "os.kill(os.getpid(), signal.SIGINT)"
BEFORE = f"""
class Hit:
    def find_spec(self, name, path=None, target=None):
        if name in ("click", "git_agent_runner.context"):
            {HIT}
sys.meta_path.insert(0, Hit())
"""
AFTER = f"atexit.register(lambda: {HIT})"
ASKED = {
    "git-agent": ("git_agent_runner", "main", ("list",)),
    "pre-commit": ("git_agent_hooks", "main", ("hint", "file")),  # alone it would end in sh, without a run
    "installed hook": ("git_agent_hooks", "installed", ("post-merge",)),
}


@pytest.mark.parametrize(
    ("harm", "status"),
    [pytest.param(BEFORE, -signal.SIGINT, id="first"), pytest.param(AFTER, 0, id="last")],
)
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_ctrl_c_is_silent(cli: Cli, harm: str, status: int, asked: tuple[str, str, tuple[str, ...]]) -> None:
    package, door, words = asked
    asks = f"from {package}.entry import {door} as door; sys.argv[1:] = {words}; sys.exit(door())"
    script = f"import atexit, os, signal, sys\n{harm}\n{asks}"
    where = cli.repo.path
    done = subprocess.run(
        (sys.executable, "-P", "-c", script), env=cli.environ(), cwd=where, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (status, "")


def test_ctrl_c_is_silent_before_anything_is_read_from_the_disk(cli: Cli) -> None:
    """Faults C13: `signal` is a file, too; once the program's first module is there, Ctrl-C is Python's no more."""
    hit = """
class Hit:
    def find_spec(self, name, path=None, target=None):
        if not name.startswith("git_agent_runner"):
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Hit())
"""
    script = (
        f"import os, sys\n{hit}\nfrom git_agent_runner.entry import main; sys.argv[1:] = ['list']; sys.exit(main())"
    )
    words = (sys.executable, "-S", "-P", "-c", script)
    done = subprocess.run(words, env=cli.environ(), cwd=cli.repo.path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


SCRIPTS = Path(sys.executable).parent
DOORS = {
    "git-agent": ((str(SCRIPTS / "git-agent"), "list"), "git_agent_runner"),
    "pre-commit": ((str(SCRIPTS / "git-agent-hook"), "hint"), "git_agent_hooks"),
    "window": ((sys.executable, "-P", "-m", "git_agent_runner.entry", "list"), "click"),
}


@pytest.mark.parametrize(("words", "package"), DOORS.values(), ids=DOORS)
def test_ctrl_c_is_silent_while_a_package_is_looked_for(cli: Cli, words: tuple[str, ...], package: str) -> None:
    """Faults C13: of all the time before the program's first line, this was the most."""
    hit = f"""
import os, sys
class Hit:
    def find_spec(self, name, path=None, target=None):
        if name == "{package}":
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Hit())
"""
    lib = cli.home / "lib"
    lib.mkdir()
    (lib / "sitecustomize.py").write_text(hit)
    env = cli.environ(PYTHONPATH=os.pathsep.join((str(lib), *SOURCES)))
    done = subprocess.run(words, env=env, cwd=cli.repo.path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
