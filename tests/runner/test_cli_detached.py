"""Work trees without a branch, as a person meets them: which session goes on, in which directory, and what is said."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support.cli import Cli
from support.engines.stand_in import IDS

SECOND = "01a21f23-5ab8-7ef1-9437-00000000000b"


def tree(cli: Cli, path: Path) -> Cli:
    cli.repo.git("worktree", "add", "-q", "--detach", str(path))
    return cli._replace(repo=cli.repo._replace(path=path))


def test_two_tasks_on_one_commit_never_mix(cli: Cli, tmp_path: Path) -> None:
    """faults A1: each process works in its own directory and on its own session."""
    first, second = tree(cli, tmp_path / "a"), tree(cli, tmp_path / "b")
    mine = first.begin()
    refused = second.run("resume", "go on")
    assert (refused.status, refused.lines[0]) == (128, "fatal: no run found for the detached HEAD")
    assert f"run {mine.handle} was skipped: it belongs to '{first.repo.path}'" in refused.lines[1]
    second.ok("start", "-e", "codex", "--resume", "task B", FAKE_ID=SECOND)
    second.ok("start", "-e", "codex", "--resume", "--strict", "task B")
    first.ok("resume", "task A")
    by_name = second.ok("resume", mine.handle, "task A")
    assert by_name.lines[0] == f"git-agent: running in '{first.repo.path}', the run's own directory"
    calls = [(call["cwd"], [word for word in call["argv"] if word in (SECOND, IDS["codex"])]) for call in cli.calls()]
    a, b = str(first.repo.path), str(second.repo.path)
    assert calls == [(a, []), (b, []), (b, [SECOND]), (a, [IDS["codex"]]), (a, [IDS["codex"]])]


def test_start_with_another_engine_names_the_session_that_it_passes_over(cli: Cli) -> None:
    """faults F11, and no branch is called None"""
    cli.repo.git("checkout", "-q", "--detach")
    begun = cli.begin()
    resume = f'git agent resume {begun.handle} "<message>"'
    done = cli.ok("start", "-e", "claude", "--resume", "go on")
    assert done.lines[:2] == [
        f"git-agent: skipping codex's run {begun.handle} of the detached HEAD: {resume} continues it",
        "warning: no run of claude found for the detached HEAD; starting a new run",
    ]


def test_without_an_identity_the_run_is_still_found(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """faults F4"""
    cli.repo.git("checkout", "-q", "--detach")
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "")
    begun = cli.begin()
    assert cli.noted() == []
    cli.ok("resume", "go on")
    assert cli.record(begun.handle).attempts == 2


def test_the_next_command_ties_the_run_to_the_new_branch(cli: Cli, tmp_path: Path) -> None:
    """faults A3"""
    one = tree(cli, tmp_path / "a")
    begun = one.begin()
    date = f"{int(time.time())} +0000"
    one.repo.git("switch", "-q", "-c", "feat/x", env={"GIT_COMMITTER_DATE": date})
    said = f"git-agent: run {begun.handle} began in this work tree without a branch; from now on it belongs to 'feat/x'"
    assert one.ok("status").lines == [said]
    assert (cli.pointers(), cli.record().branch, cli.attempt().branch) == ({"feat/x": begun.handle}, "feat/x", "feat/x")
    assert one.ok("resume", "go on").lines == []


@pytest.mark.parametrize("named", [False, True], ids=["by branch", "by handle"])
@pytest.mark.parametrize("words", [("resume", "-n"), ("fork", "-n"), ("fork",)], ids=" ".join)
def test_a_fork_and_a_dry_run_tie_no_run(cli: Cli, tmp_path: Path, words: tuple[str, ...], named: bool) -> None:
    """They write nothing about the run that they look at."""
    one = tree(cli, tmp_path / "a")
    begun = one.begin("claude")
    one.repo.git("switch", "-q", "-c", "feat/x", env={"GIT_COMMITTER_DATE": f"{int(time.time())} +0000"})
    done = one.ok(*words, *([begun.handle] if named else []), "go on")
    assert (cli.record(begun.handle), cli.attempt(1, begun.handle).branch) == (begun, None)
    assert begun.handle not in cli.pointers().values()
    assert "from now on" not in done.err


@pytest.mark.parametrize("where", ["branch 'main'", "this work tree"])
def test_a_start_names_the_run_that_it_replaces(cli: Cli, where: str) -> None:
    """faults B15"""
    if where == "this work tree":
        cli.repo.git("checkout", "-q", "--detach")
    old = cli.begin()
    by_name = f'git agent resume {old.handle} "<message>"'
    done = cli.ok("start", "-e", "claude", "another task")
    assert done.lines == [f"git-agent: {where} used run {old.handle} until now; to continue that one: {by_name}"]


def test_a_branch_that_is_checked_out_twice(cli: Cli, tmp_path: Path) -> None:
    """faults A20: the run works where it began, and the person who is elsewhere is told where."""
    cli.begin()
    cli.repo.git("worktree", "add", "-q", "--force", str(tmp_path / "a"), "main")
    done = cli.ok("resume", "go on", cwd=tmp_path / "a")
    assert done.lines == [f"git-agent: running in '{cli.repo.path}', the run's own directory"]
    assert cli.calls()[-1]["cwd"] == str(cli.repo.path)
