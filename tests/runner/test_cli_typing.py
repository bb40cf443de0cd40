"""What a person need not type: the only engine, a new branch, the long names of the message. Issue 14."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.cli import STAND_INS, Cli


@pytest.fixture
def one_engine(cli: Cli, tmp_path: Path) -> str:
    """A PATH on which codex is the only engine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "codex").symlink_to(STAND_INS / "codex")
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def test_the_only_engine_that_is_installed_needs_no_name(cli: Cli, one_engine: str) -> None:
    done = cli.ok("start", "-v", "begin", PATH=one_engine)
    assert cli.record().agent_name == "codex"
    assert "engine codex, the only one installed;" in done.err
    assert cli.run("start", "begin").lines[0] == "fatal: no engine: give one with -e, or set agent.engine"


def test_a_program_in_the_repository_is_no_engine(cli: Cli) -> None:
    """Nothing tracked chooses what runs."""
    (cli.repo.path / "bin").mkdir()
    (cli.repo.path / "bin/codex").symlink_to(STAND_INS / "codex")
    done = cli.run("start", "--json", "begin", PATH=os.pathsep.join([f"{cli.repo.path}/bin", os.environ["PATH"]]))
    assert (done.json["error"]["code"], cli.calls()) == ("engine_unset", [])


def test_m_is_the_message(cli: Cli) -> None:
    cli.ok("start", "-e", "codex", "-m", "- begin")
    cli.ok("resume", "-m", "go on")
    assert [cli.attempt(number).message for number in (1, 2)] == ["- begin", "go on"]


def test_a_branch_is_made_for_the_run(cli: Cli) -> None:
    old, head = cli.repo.git("branch", "--show-current"), cli.repo.head()
    done = cli.ok("start", "-e", "codex", "-c", "feature/new", "begin")
    assert (cli.repo.git("branch", "--show-current"), cli.repo.head()) == ("feature/new", head)
    assert "git-agent: switched to the new branch 'feature/new'" in done.lines
    assert cli.record().branch == "feature/new"
    assert cli.pointers() == {"feature/new": cli.record().handle}
    assert old != "feature/new"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        pytest.param(["-e", "nobody", "-c", "new"], 128, id="no such engine"),
        pytest.param(["-e", "codex", "-c", "new", "--", "--last"], 129, id="flags that cannot be"),
        pytest.param(["-e", "codex", "-c", "new", "--branch", "other"], 129, id="two branches"),
        pytest.param(["-e", "codex", "-c", "new", "--resume"], 129, id="nothing to resume on a new branch"),
        pytest.param(["-e", "codex", "-c", "taken"], 128, id="it exists"),
        pytest.param(["-e", "codex", "-c", "--detach"], 128, id="an option of git's"),
        pytest.param(["-e", "codex", "-c", "a..b"], 128, id="no name for a branch"),
    ],
)
def test_nothing_is_made_where_nothing_starts(cli: Cli, words: list[str], status: int) -> None:
    cli.repo.git("branch", "taken")
    before = (cli.repo.git("symbolic-ref", "HEAD"), cli.repo.git("for-each-ref"))
    assert cli.run("start", "begin", *words).status == status
    assert (cli.repo.git("symbolic-ref", "HEAD"), cli.repo.git("for-each-ref")) == before
    assert cli.calls() == []
