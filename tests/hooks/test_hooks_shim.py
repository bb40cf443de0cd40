"""What an installed hook decides before Python starts: how often it asks git, and that it is never wrong for that."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from git_agent_hooks import shim
from git_agent_hooks.install import install
from git_agent_hooks.place import find
from git_agent_runner import context
from git_agent_runner.store import notes
from support.cli import Cli
from support.gitrepo import GitRepo
from support.runs import leave

HANDLE = "0b01aaaa"


@pytest.fixture
def repo(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """Our hooks; `main` checked out, without a run."""
    monkeypatch.chdir(cli.repo.path)
    ctx = context.load(os.environ)
    install(ctx, find(ctx))
    return cli.repo


def questions(repo: GitRepo, *words: str) -> int:
    """How often the hooks of `git WORDS` ask git for a pointer."""
    trace = repo.path.parent / "trace"
    trace.unlink(missing_ok=True)
    repo.git(*words, env={"GIT_TRACE": str(trace)})
    return trace.read_text().count("built-in: git config --get branch.")


def commit(repo: GitRepo) -> int:
    return questions(repo, "commit", "-q", "--allow-empty", "-m", "work")


def noted(repo: GitRepo) -> list[str]:
    return [note.handle for note in notes.read(repo.facts()).by_commit.get(repo.head(), ())]


def test_git_is_asked_once_for_a_branch_without_a_run(repo: GitRepo) -> None:
    assert [commit(repo), commit(repo), commit(repo)] == [1, 0, 0]


def test_a_run_that_comes_later_is_seen(repo: GitRepo) -> None:
    commit(repo)
    leave(repo, HANDLE, "record pointer")
    assert (commit(repo), noted(repo)) == (1, [HANDLE])
    assert (commit(repo), noted(repo)) == (1, [HANDLE])


def test_each_branch_and_each_work_tree_is_asked_for(repo: GitRepo, tmp_path: Path) -> None:
    commit(repo)
    repo.switch_new("feature")
    leave(repo, HANDLE, "record pointer")
    linked = repo.worktree(tmp_path / "linked", "other")
    assert [commit(linked), commit(linked)] == [1, 0]
    repo.git("switch", "-q", "main")
    assert [commit(repo), commit(repo)] == [1, 0]
    repo.git("switch", "-q", "feature")
    assert (commit(repo), noted(repo)) == (1, [HANDLE])


def test_a_run_moves_with_its_branch_to_a_name_that_had_none(repo: GitRepo) -> None:
    commit(repo)
    repo.switch_new("feature")
    leave(repo, HANDLE, "record pointer")
    repo.git("branch", "-q", "-D", "main")
    repo.git("branch", "-m", "main")
    assert (commit(repo), noted(repo)) == (1, [HANDLE])


def test_an_answer_that_cannot_be_kept_is_asked_for_again(repo: GitRepo) -> None:
    (repo.path / ".git" / shim.NONE).mkdir()
    assert [commit(repo), commit(repo)] == [1, 1]


SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_rewrite_is_told_of_where_a_note_was_lost(repo: GitRepo, shell: str, tmp_path: Path) -> None:
    """By any shell that may be `sh`. The interpreter is a script that keeps what it is told."""
    python, told = tmp_path / "python", tmp_path / "told"
    python.write_text(f"#!/bin/sh\ncat >'{told}'\n")
    python.chmod(0o755)
    words = [shell, *(("sh",) if shell == "busybox" else ()), str(tmp_path / "post-rewrite"), "rebase"]
    Path(words[-2]).write_text(shim.text("post-rewrite", str(python)))
    first = repo.head()
    second = repo.commit("two", f="2\n")
    third = repo.commit("three", f="3\n")

    def tell(*pairs: tuple[str, str]) -> str:
        told.unlink(missing_ok=True)
        lines = "".join(f"{old} {new}\n" for old, new in pairs)
        subprocess.run(words, cwd=repo.path, input=lines, text=True, check=True)
        assert not told.exists() or told.read_text() == lines
        return "told" if told.exists() else "quiet"

    assert tell((first, second), (second, third)) == "quiet"
    leave(repo, HANDLE, "record note")
    assert tell((first, second)) == "quiet"
    assert tell((first, second), (third, second)) == "told"
    repo.git("notes", "--ref=agent", "copy", third, second)
    assert tell((third, second)) == "quiet"
    assert tell() == "told"  # pre-commit passes nothing on: Python finds out
