"""The git above us: what a hook started must notice when it is gone."""

from __future__ import annotations

import subprocess
import sys

from support.waiting import PATIENCE

WATCHER = """
import os, sys, time
from git_agent_runner.process.parent import git_gone
gone = git_gone()
print(gone(), flush=True)
while not gone():
    time.sleep(0.02)
print("gone", flush=True)
"""


def test_a_git_that_is_killed_is_noticed_through_the_shell_between() -> None:
    """Faults of agents in hooks F4b: a hook's agent used to work for a commit that nobody made any more."""
    alias = f"!{sys.executable} -c '{WATCHER}'; true"
    with subprocess.Popen(("git", "-c", f"alias.x={alias}", "x"), stdout=subprocess.PIPE, text=True) as git:
        assert git.stdout
        assert git.stdout.readline() == "False\n"
        git.kill()
        git.wait(timeout=PATIENCE)
        assert git.stdout.readline() == "gone\n"
