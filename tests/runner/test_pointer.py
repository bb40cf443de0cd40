"""The pointer in real git configuration, where git itself moves and removes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner.git import settings
from git_agent_runner.store import gitconfig, pointer
from support.gitrepo import GitRepo
from support.stored import written

HANDLE = "7f3a9c21"
NAMES = ["main", "a.b/c.d", 'x"y', "ü/ñ", "--output=pwn", "$(pwn)", "UPPER", "x=y", "a;b#c"]


def read(repo: GitRepo) -> dict[str, str]:
    facts = repo.facts()
    return pointer.read(facts, settings.read(facts))


@pytest.mark.parametrize("name", NAMES)
def test_any_branch_name(repo: GitRepo, name: str) -> None:
    facts = repo.facts()
    assert pointer.write(facts, name, HANDLE)
    assert read(repo) == {name: HANDLE}
    assert repo.git("config", f"branch.{name}.agentHandle") == HANDLE


def test_written_only_when_it_changes(repo: GitRepo) -> None:
    facts = repo.facts()
    assert pointer.write(facts, "main", HANDLE)
    before = written(repo.path / ".git/config")
    assert not pointer.write(facts, "main", HANDLE)
    assert written(repo.path / ".git/config") == before
    assert pointer.write(facts, "main", "00000001")
    assert read(repo) == {"main": "00000001"}


def test_several_values_become_one(repo: GitRepo) -> None:
    for value in ("00000001", HANDLE):
        repo.git("config", "--add", "branch.main.agentHandle", value)
    assert pointer.write(repo.facts(), "main", HANDLE)
    assert repo.git("config", "--get-all", "branch.main.agentHandle") == HANDLE


def test_git_moves_copies_and_removes_it(repo: GitRepo) -> None:
    repo.git("branch", "a")
    pointer.write(repo.facts(), "a", HANDLE)
    repo.git("branch", "-m", "a", "b")
    assert read(repo) == {"b": HANDLE}
    repo.git("branch", "-c", "b", "c")
    assert read(repo) == {"b": HANDLE, "c": HANDLE}
    repo.git("branch", "-q", "-D", "b", "c")
    assert read(repo) == {}


def test_linked_worktree_writes_the_shared_file(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    linked = repo.worktree(tmp_path / "linked", "side")
    pointer.write(linked.facts(), "side", HANDLE)
    assert read(repo) == read(linked) == {"side": HANDLE}


@pytest.mark.parametrize("value", ["", "xyz", "7F3A9C21", "../../../x", "7f3a9c21\n"])
def test_value_that_is_no_handle_is_no_pointer(repo: GitRepo, value: str) -> None:
    repo.git("config", "branch.main.agentHandle", value)
    assert read(repo) == {}


def test_only_the_repositorys_own_file_counts(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (repo.path / ".gitconfig", tmp_path / "global"):
        path.write_text(f'[branch "main"]\n\tagentHandle = {HANDLE}\n')
    repo.git("config", "include.path", "../.gitconfig")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    assert read(repo) == {}


def test_locked_configuration_is_tried_again_and_then_named(repo: GitRepo) -> None:
    facts = repo.facts()
    lock = repo.path / ".git/config.lock"
    lock.touch()
    pauses: list[float] = []
    with pytest.raises(gitconfig.ConfigError) as caught:
        gitconfig.put(facts, "branch.main.agentHandle", HANDLE, enough=lambda _: False, sleep=pauses.append)
    assert caught.value.message.startswith("branch.main.agentHandle could not be written: could not lock config file")
    assert len(pauses) == len(gitconfig.PAUSES)
    assert read(repo) == {}
    lock.unlink()
    assert pointer.write(facts, "main", HANDLE)


def test_lock_that_goes_away_costs_one_retry(repo: GitRepo) -> None:
    lock = repo.path / ".git/config.lock"
    lock.touch()
    put = gitconfig.put(repo.facts(), "a.b", "c", enough=lambda _: False, sleep=lambda _: lock.unlink())
    assert put
    assert repo.git("config", "a.b") == "c"


WRITER = """
import os, sys
from git_agent_runner.git import discover
from git_agent_runner.store import gitconfig, pointer
gitconfig.LOCK_WAIT = 600.0
pointer.write(discover(os.getcwd(), os.environ), *sys.argv[1:])
"""


def test_twenty_writers_at_once(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    wanted = {f"b{number}": f"{number:08x}" for number in range(20)}
    running = [
        subprocess.Popen((sys.executable, "-c", WRITER, branch, handle), cwd=repo.path)
        for branch, handle in wanted.items()
    ]
    assert [process.wait() for process in running] == [0] * 20
    assert read(repo) == wanted
