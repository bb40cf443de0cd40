"""Links in the place of what we write: nothing is written where they lead (faults C13)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines import load, probe
from git_agent_runner.unattended.policies import taken
from git_agent_runner.unattended.policies.taken import Kept
from support.cli import Cli, ask
from support.runs import leave, record

HANDLE = "7f3a9c21"
REF = "refs/notes/agent"


def test_a_run_directory_that_is_a_link(here: Cli, tmp_path: Path) -> None:
    run = leave(here.repo, HANDLE)
    Path(here.layout.runs_dir).mkdir(exist_ok=True)
    Path(here.layout.run(run.run_id)).symlink_to(tmp_path)
    with pytest.raises(UserError, match="is a symbolic link"):
        taken.write(here.layout, run.run_id, Kept(1, "on_dead", 1))
    assert list(tmp_path.glob("*.yaml")) == []


def test_the_probes_cache(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever name the temporary file has, it is a new one."""
    own = tmp_path / "own"
    own.write_text("mine")
    cache = tmp_path / "cache"
    cache.mkdir()
    engine = load("codex")
    (cache / f"probe-codex.json.{os.getpid()}").symlink_to(own)
    (cache / "probe-codex.json").symlink_to(own)
    probe.probe(engine, None, os.environ, str(cache), None)
    assert own.read_text() == "mine"
    assert not (cache / "probe-codex.json").is_symlink()


@pytest.mark.parametrize("target", ["refs/heads/main", "refs/heads/new"])
def test_a_notes_ref_that_stands_for_a_branch(here: Cli, capfd: pytest.CaptureFixture[str], target: str) -> None:
    here.repo.git("symbolic-ref", REF, target)
    before = here.repo.git("for-each-ref", "refs/heads")
    leave(here.repo, HANDLE, "record")
    with pytest.raises(UserError, match=f"is a symbolic ref to {target}"):
        leave(here.repo, "aaaaaaaa", "note")
    there = here.repo.clone(here.home / "there.git", "--bare")
    here.repo.git("remote", "add", "there", str(there.path))
    assert ask("push", "there") == 128
    assert here.repo.git("for-each-ref", "refs/heads") == before
    assert there.git("for-each-ref", "refs/notes") == ""
    assert ask("doctor") == 1
    assert f"{REF} cannot be read: it is a link to {target}" in capfd.readouterr().out
    assert ask("doctor", "--prune") in (0, 1)
    assert here.repo.git("for-each-ref", "refs/heads") == before
    leave(here.repo, "bbbbbbbb", "note")
    assert record(here.repo, "bbbbbbbb").handle in here.noted()
