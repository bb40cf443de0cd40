"""The pre-push hook of docs/scripts.md lets a push go where the branch has no run, and in no other case (faults F1)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import docs
from support.cli import PROGRAM, STAND_INS, Cli
from support.runs import leave

(HOOK,) = (
    body for body in docs.blocks((docs.ROOT / "docs/scripts.md").read_text(), "sh") if body.startswith("#!/bin/sh")
)
HANDLE = "7f3a9c21"


def run(cli: Cli, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """The hook as git runs it, `git agent` on PATH."""
    folder = cli.home / "programs"
    folder.mkdir(exist_ok=True)
    program = folder / "git-agent"
    program.write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    env = {**cli.environ(), "PATH": f"{folder}{os.pathsep}{STAND_INS}{os.pathsep}/usr/bin:/bin", **changes}
    return subprocess.run(("sh", "-c", HOOK), cwd=cli.repo.path, env=env, capture_output=True, check=False)


def wrong_setting(cli: Cli) -> None:
    leave(cli.repo, HANDLE)
    cli.repo.git("config", "agent.fallback", "maybe")


def tracked_setting(cli: Cli) -> None:
    cli.repo.git("config", "--file", str(cli.repo.path / "tracked"), "agent.engine", "codex")
    cli.repo.git("config", "include.path", "../tracked")


def torn_record(cli: Cli) -> None:
    leave(cli.repo, HANDLE)
    Path(cli.layout.index_file(HANDLE)).write_text("handle: 7f")


def unreadable_index(cli: Cli) -> None:
    Path(cli.layout.root).mkdir()
    Path(cli.layout.index_dir).write_text("no folder\n")


def lost_session(cli: Cli) -> None:
    leave(cli.repo, HANDLE)


@pytest.mark.parametrize(
    "harm",
    [
        wrong_setting,
        tracked_setting,
        torn_record,
        unreadable_index,
        lost_session,
    ],
)
def test_whatever_else_is_wrong_stops_the_push(cli: Cli, harm: Callable[[Cli], None]) -> None:
    harm(cli)
    done = run(cli)
    assert done.returncode != 0, done


def test_a_program_that_is_not_there_stops_the_push(cli: Cli) -> None:
    assert run(cli, PATH="/usr/bin:/bin").returncode != 0


def test_a_branch_without_a_run_is_pushed(cli: Cli) -> None:
    done = run(cli)
    assert (done.returncode, cli.calls()) == (0, [])
    leave(cli.repo, HANDLE, branch="another")
    assert run(cli).returncode == 0
