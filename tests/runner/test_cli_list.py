"""Which runs `git agent list` shows: by branch, engine, state and time. Issue 14."""

from __future__ import annotations

import pytest

from git_agent_runner.context import timestamp
from support import runs
from support.cli import Cli


def now() -> str:
    return timestamp()


@pytest.fixture
def some(cli: Cli) -> Cli:
    """Of two branches, two engines and two ages; the last one is known from a note only."""
    main = cli.repo.git("branch", "--show-current")
    cli.repo.git("branch", "one")
    runs.leave(cli.repo, "aaaaaaa1", "record", branch=main, updated_at="2026-11-20T10:00:00.000Z")
    runs.leave(cli.repo, "aaaaaaa2", "record", branch="one", status="failed", updated_at="2026-11-24T10:00:00.000Z")
    runs.leave(cli.repo, "aaaaaaa3", "record", branch=main, status="rate_limited", updated_at=now())
    claude = {"agent_name": "claude", "run_id": "20261127T101502Z-claude-aaaaaaa4"}
    runs.leave(cli.repo, "aaaaaaa4", "record", branch="one", updated_at="2026-11-24T12:00:00.000Z", **claude)
    runs.leave(cli.repo, "aaaaaaa5", "note", branch="one", updated_at="2026-11-24T11:00:00.000Z")
    return cli


@pytest.mark.parametrize(
    ("words", "handles"),
    [
        pytest.param([], "34521", id="all, newest first"),
        pytest.param(["one"], "452", id="a branch"),
        pytest.param(["one", "none"], "452", id="branches, one that is not there"),
        pytest.param(["-e", "claude"], "4", id="an engine"),
        pytest.param(["--state", "failed"], "2", id="a state"),
        pytest.param(["--state=noted"], "5", id="known from a note"),
        pytest.param(["--state=running"], "", id="none runs"),
        pytest.param(["--since", "2026-11-23"], "3452", id="since a date"),
        pytest.param(["--since", "1h"], "3", id="since a while ago"),
        pytest.param(["-n", "2"], "34", id="the newest"),
        pytest.param(["one", "-n", "2"], "45", id="the newest of a branch"),
        pytest.param(["one", "--engine=codex", "--state=failed", "--all"], "2", id="all at once"),
    ],
)
def test_which(some: Cli, words: list[str], handles: str) -> None:
    found = some.ok("list", "--json", *words).json["runs"]
    assert [run["handle"] for run in found] == [f"aaaaaaa{number}" for number in handles]


def test_a_filter_that_leaves_nothing_is_no_empty_repository(some: Cli) -> None:
    assert some.ok("list", "nobody").out == "no such runs\n"


@pytest.mark.parametrize("words", [["--since", "soon"], ["--state", "tired"], ["-n", "0"], ["-n", "1", "--all"]])
def test_what_cannot_be(some: Cli, words: list[str]) -> None:
    assert some.run("list", *words).status == 129
