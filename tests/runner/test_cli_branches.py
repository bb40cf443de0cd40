"""Branches that change while an engine works: the run stays with what its branch has become, and with nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.cli import Cli


@pytest.mark.parametrize("reflogs", ["true", "false"])
def test_a_branch_renamed_during_a_run_takes_the_run_along(cli: Cli, reflogs: str) -> None:
    cli.repo.git("config", "core.logAllRefUpdates", reflogs)
    cli.repo.git("switch", "-qc", "a")
    cli.ok("start", "-e", "codex", "x", FAKE_CMD="git branch -m a b && git branch a main")
    assert (cli.record().branch, cli.attempt().branch) == ("b", "b")
    assert cli.pointers() == {"b": cli.record().handle}
    cli.ok("resume", "go on")
    cli.repo.git("switch", "-q", "a")
    assert cli.run("resume", "who").lines[0] == "fatal: no run found for branch 'a'"


def test_a_branch_deleted_during_a_run_leaves_no_pointer(cli: Cli) -> None:
    cli.repo.git("config", "core.logAllRefUpdates", "false")
    cli.repo.git("switch", "-qc", "doomed")
    cli.ok("start", "-e", "codex", "x", FAKE_CMD="git switch -q main && git branch -qD doomed")
    assert cli.pointers() == {}


def test_a_run_that_its_branch_does_not_name_is_resumed_by_its_handle(cli: Cli) -> None:
    cli.ok("start", "-e", "codex", "first")
    lock = cli.repo.path / ".git/config.lock"
    lock.touch()
    done = cli.run("start", "-e", "codex", "second")
    lock.unlink()
    (newest,) = (run for run in cli.ok("list", "--json").json["runs"] if run["handle"] not in cli.pointers().values())
    assert done.status == 0
    assert any("agentHandle could not be written" in line for line in done.lines)
    assert f'git agent resume {newest["handle"]} "<message>"' in done.err


@pytest.mark.parametrize("option", ["--handle", "--branch"])
def test_an_empty_name_is_not_this_branch(cli: Cli, option: str) -> None:
    cli.begin()
    done = cli.run("resume", option, "", "x")
    assert (done.status, done.lines[0], len(cli.calls())) == (129, f"fatal: {option} is empty", 1)


def test_a_tracked_program_of_another_work_tree_is_not_run(cli: Cli, tmp_path: Path) -> None:
    tree = cli.repo.worktree(tmp_path / "other", "other")
    program = tree.path / "codex"
    shutil.copy2(shutil.which("true") or "/bin/true", program)
    cli.repo.git("config", "agent.codex.binary", str(program))
    done = cli.run("start", "-e", "codex", "x")
    assert (done.status, "is inside this repository" in done.lines[0]) == (128, True)


@pytest.mark.parametrize("harm", ["missing", "torn"])
def test_a_run_whose_record_is_gone_is_rebuilt_and_not_replaced(cli: Cli, harm: str) -> None:
    begun = cli.begin()
    file = Path(cli.layout.index_file(begun.handle))
    file.unlink() if harm == "missing" else file.write_text('handle: "')
    for words in (["resume", "x"], ["start", "--resume", "-e", "codex", "x"], ["status"]):
        done = cli.run(*words)
        assert done.status == 128
        assert done.lines[-1] == "hint: rebuild it: git agent doctor --repair"
    assert len(cli.calls()) == 1
    cli.run("doctor", "--repair")
    cli.ok("resume", "go on")


def test_what_only_looks_like_a_run_directory(cli: Cli) -> None:
    (cli.repo.path / ".git/agent").write_text("")
    done = cli.run("doctor")
    assert (done.status, done.lines[0].startswith("fatal: cannot list")) == (128, True)


def test_a_message_without_an_end_is_refused(cli: Cli) -> None:
    done = cli.run("start", "-e", "codex", "--prompt-file", "/dev/zero")
    assert (done.status, done.lines[0]) == (129, "fatal: the message from '/dev/zero' is longer than 16 MiB")


def test_nan_is_no_duration(cli: Cli) -> None:
    assert cli.run("start", "-e", "codex", "--timeout", "nan", "x").status == 129


def test_a_handle_in_the_environment_that_is_no_run_is_named(cli: Cli) -> None:
    begun = cli.begin()
    done = cli.run("resume", "x", GIT_AGENT_HANDLE="deadbeef")
    assert "git-agent: GIT_AGENT_HANDLE is 'deadbeef', which is no run of this repository" in done.lines
    assert cli.record().handle == begun.handle
