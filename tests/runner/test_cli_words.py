"""What is printed besides a command's own output: how it decided, how to log in, lines on a narrow terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from git_agent_runner.console import lines as present
from git_agent_runner.engines import MODULES, load
from support.cli import Cli
from support.terminal import Person

RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings"


def test_a_verbose_start_says_how_it_chose(cli: Cli) -> None:
    """faults B17"""
    done = cli.ok("start", "-v", "-e", "codex", "x")
    assert f"git-agent: engine codex, from -e; directory '{cli.repo.path}'" in done.lines


def test_a_summary_breaks_at_blanks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """faults B17: at 80 columns a terminal broke the line within `attempt`."""
    run = ".git/agent/runs/20261127T101502Z-codex-7f3a9c21  attempt 2, 41 s, exit 0, interrupted"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "fileno", lambda: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _fd: os.terminal_size((80, 24)))
    summary = present.Summary("7f3a9c21", "codex", "thread_id x", "main @ 1a2b3c4", run, "git agent resume")
    present.print_summary(summary)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(line.strip() for line in lines[2:4]).split() == ["run", *run.split()]


FAILURES = {
    "codex": ("codex/0.171.0/auth-failure", "Incorrect API key provided", 2),  # a retry, which names it, too
    "claude": ("claude/2.1.332/resume-unknown-stream-json", "No conversation found with session ID", 1),
    "copilot": ("copilot/1.0.102/auth-failure", "Authentication failed with provider", 1),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_told_once_on_a_terminal(person: Person, name: str) -> None:
    """Faults B17: the engine's words were shown as they came, and once more in the summary."""
    recording, words, times = FAILURES[name]
    stdout = RECORDINGS / recording / "stdout"
    status = person.wait(person.start("start", "-e", name, "x", FAKE_OUT=str(stdout), FAKE_EXIT="1"))
    assert (status, person.seen.count(words)) == (1, times), person.seen
    assert f"warning: {name}: {person.cli.record().status}" in person.seen


@pytest.mark.parametrize("name", [name for name in MODULES if name != "iflow"])
def test_each_engine_says_how_to_log_in(name: str) -> None:
    """faults B17: a login that failed named neither the command nor the variable."""
    assert name in (load(name).login or "")
