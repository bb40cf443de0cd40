"""`git-agent-check` holds staged recordings to their truth, and finds what should not leave the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors import ordinary
from git_agent_fixtures.recording import folder
from git_agent_hooks import main
from git_agent_runner import git
from support import docs
from support.cli import Cli
from support.runs import leave

NAME = "fixtures/recordings/opencode/1.18.33/rate-limit"


def check(cli: Cli) -> tuple[int, list[str]]:
    code = "import sys, git_agent_hooks.main as main; sys.exit(main.main(['check']))"
    argv = (sys.executable, "-c", code)
    done = subprocess.run(argv, cwd=cli.repo.path, env=cli.environ(), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


def stage(cli: Cli, old: bytes = b"", new: bytes = b"") -> Path:
    place = cli.repo.path / NAME
    shutil.copytree(docs.ROOT / NAME, place, dirs_exist_ok=True)
    files = folder.read_files(place)
    folder.write({**files, "stdout": files["stdout"].replace(old, new) if old else files["stdout"]}, place)
    cli.repo.git("add", "fixtures")
    return place


def test_notes_that_git_cannot_read_are_named(cli: Cli) -> None:
    cli.begin()
    assert check(cli) == (0, [])
    (cli.repo.path / ".git/refs/notes/agent").write_text("")
    status, (line,) = check(cli)
    assert status == 1
    assert line.startswith("git-agent: refs/notes/agent cannot be read: ")
    assert "fix it with: git agent doctor --repair" in line


def test_another_clones_bad_note_stops_nobody(cli: Cli) -> None:
    """Agents in hooks F12: it is named, and the hint can be typed."""
    cli.repo.git("notes", "--ref=agent", "add", "-m", "hello", "HEAD")
    noted = cli.repo.head()
    cli.repo.commit("two", f="2\n")
    status, (line,) = check(cli)
    problem, hint = line.split("; fix it with: ")
    assert (status, problem) == (0, f"git-agent: note on {noted[:12]}: line 1 is not a run record")
    found = cli.run("doctor", "--json").json["problems"]
    assert [one["fix"] for one in found if one["code"] == "note_malformed"] == [hint]
    cli.repo.git(*hint.split()[1:], env={"GIT_EDITOR": "true >"})
    assert check(cli) == (0, [])


def test_another_branchs_record_stops_nobody(cli: Cli) -> None:  # agents in hooks F12
    leave(cli.repo, "aaaaaaaa", branch="other")
    cli.repo.git("config", "branch.main.agentHandle", "bbbbbbbb")  # of another clone
    path = cli.repo.path / ".git/agent/index/aaaaaaaa.yaml"
    path.write_text("handle: [\n")
    assert check(cli) == (0, [])
    cli.repo.git("config", "branch.main.agentHandle", "aaaaaaaa")
    status, (line,) = check(cli)
    assert (status, str(path) in line) == (1, True)


def test_its_cost_does_not_grow_with_runs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # agents in hooks F12
    leave(cli.repo, "aaaaaaaa")
    monkeypatch.chdir(cli.repo.path)
    asked: list[str] = []
    spawn, whole = git._spawn, ordinary.whole

    def spawned(words: Sequence[str], *rest: Any) -> git.Result:
        asked.append(words[0])
        return spawn(words, *rest)

    def read(path: str | os.PathLike[str], limit: int) -> bytes:
        asked.append(os.fspath(path))
        return whole(path, limit)

    monkeypatch.setattr(git, "_spawn", spawned)
    monkeypatch.setattr(ordinary, "whole", read)
    assert main.main(["check"]) == 0
    alone = list(asked)
    assert len(alone) > 1
    for number in range(20):
        leave(cli.repo, f"bbbbbb{number:02}", branch=f"other{number}")
    asked.clear()
    assert main.main(["check"]) == 0
    assert asked == alone


def test_a_good_recording_passes(cli: Cli) -> None:
    stage(cli)
    assert check(cli) == (0, [])


def test_what_is_not_staged_is_not_looked_at(cli: Cli) -> None:
    stage(cli, b'"type":"error"', b'"type":"odd"')
    cli.repo.git("reset", "-q")
    assert check(cli) == (0, [])


def test_a_recording_that_is_read_wrong_is_named(cli: Cli) -> None:
    stage(cli, b'"type":"error"', b'"type":"odd"')
    status, lines = check(cli)
    assert status == 1
    assert [line for line in lines if line.startswith(f"git-agent: {NAME}: unknown events: odd 1, expected none")]


def test_a_secret_in_a_recording_is_named_and_not_shown(cli: Cli) -> None:
    stage(cli, b'"message":"', b'"message":"jane.roe@corp-mail.com ')
    status, lines = check(cli)
    assert status == 1
    assert [line for line in lines if line == f"git-agent: {NAME}: secrets: e-mail, expected none"]
    assert "jane" not in "".join(lines)
