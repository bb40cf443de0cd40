"""What a command must not do because it costs too much: modules loaded, git processes, files read. Nothing is timed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.cli import Cli


@pytest.mark.parametrize("command", ["status", "show"])
def test_a_subject_line_loads_no_library_of_git(cli: Cli, command: str) -> None:  # faults D4
    cli.begin("codex")
    code = f"import sys; from git_agent_runner import cli; cli.main([{command!r}]); print('git' in sys.modules)"
    done = subprocess.run(
        (sys.executable, "-P", "-c", code),
        cwd=cli.repo.path,
        env=cli.environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    *shown, loaded = done.stdout.splitlines()
    subject = cli.repo.git("log", "-1", "--format=%s")
    assert any(subject in line for line in shown)
    assert loaded == "False"
