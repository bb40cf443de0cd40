"""What an installed hook decides before Python starts: how often it asks git, and that it is never wrong for that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from git_agent_hooks import sh, shim
from git_agent_hooks.install import install
from git_agent_hooks.place import find
from git_agent_runner import context
from git_agent_runner.git import trees
from git_agent_runner.store import notes
from support.cli import Cli
from support.gitrepo import GitRepo, dates
from support.runs import index, leave

HANDLE = "0b01aaaa"


@pytest.fixture
def repo(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """Our hooks; `main` checked out, without a run."""
    monkeypatch.chdir(cli.repo.path)
    ctx = context.load(os.environ)
    install(ctx, find(ctx))
    return cli.repo


POINTER, PYTHON = "config --get branch.", "rev-parse --path-format=absolute"


def commit(repo: GitRepo, question: str = POINTER) -> int:
    """How often the hooks of a commit ask git for a pointer, or what Python asks first."""
    trace = repo.path.parent / "trace"
    trace.unlink(missing_ok=True)
    repo.git("commit", "-q", "--allow-empty", "-m", "work", env={"GIT_TRACE": str(trace)})
    return trace.read_text().count(f"built-in: git {question}")


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
    (repo.path / ".git" / sh.NONE).mkdir()
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


def test_a_run_of_a_work_tree_without_a_branch_is_noted(repo: GitRepo, tmp_path: Path) -> None:
    """faults A2: without a question to git, and not in a work tree without a run."""
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "a"))
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "b"))
    first, second = GitRepo(tmp_path / "a"), GitRepo(tmp_path / "b")
    leave(first, HANDLE, "record")
    trees.mark(first.facts())
    assert (commit(first), noted(first)) == (0, [HANDLE])
    assert commit(second, PYTHON) == 0


def test_the_first_commit_on_a_branch_made_there_takes_the_run_along(repo: GitRepo, tmp_path: Path) -> None:
    """faults A3: one line says so, and a branch that takes none along is looked at once."""
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "a"))
    one = GitRepo(tmp_path / "a")
    leave(one, HANDLE, "record")
    trees.mark(one.facts())
    env = {**os.environ, **dates(int(time.time()))}
    one.git("switch", "-q", "-c", "feat/x", env=env)
    words = ("git", "commit", "-q", "--allow-empty", "-m", "c")
    done = subprocess.run(words, cwd=one.path, env=env, capture_output=True, text=True, check=True)
    said = f"git-agent: run {HANDLE} began in this work tree without a branch; from now on it belongs to 'feat/x'"
    assert said in done.stderr
    assert (noted(one), index(repo).read(HANDLE).branch) == ([HANDLE], "feat/x")
    one.git("switch", "-q", "-c", "other", "main")
    assert [commit(one, PYTHON), commit(one, PYTHON)] == [1, 0]


IDLE = """\
import sys
from git_agent_hooks.entry import main
status = main()
print(status, "git_agent_hooks.main" in sys.modules)
"""


@pytest.mark.parametrize("name", ["record", "carry", "hint", "check"])
def test_pre_commits_hooks_import_nothing_on_a_branch_without_a_run(cli: Cli, name: str) -> None:
    """Agents in hooks F13: what they import is what they cost."""
    words = (sys.executable, "-P", "-c", IDLE, name)
    env = cli.environ(PRE_COMMIT="1", **({"PRE_COMMIT_CHECKOUT_TYPE": "1"} if name == "hint" else {}))

    def imported() -> str:
        return subprocess.run(words, cwd=cli.repo.path, env=env, capture_output=True, text=True, check=True).stdout

    assert imported() == "0 False\n"
    leave(cli.repo, "aaaaaaaa", "record pointer")
    assert imported() == "0 True\n"


def test_what_a_commit_brings_is_looked_at_without_a_run(cli: Cli) -> None:  # agents in hooks F13
    words = (sys.executable, "-P", "-c", IDLE, "check")
    place = cli.repo.path / "a/recordings/codex"
    place.mkdir(parents=True)
    (place / "f").write_text("1\n")
    cli.repo.git("add", "-A")
    done = subprocess.run(words, cwd=cli.repo.path, env=cli.environ(), capture_output=True, text=True, check=True)
    assert done.stdout == "0 True\n"
