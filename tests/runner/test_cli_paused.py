"""Whoever reads our output may pause, as a pager does: that holds the engine up, and nothing else."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

from git_agent_runner.process.capture import PIPE
from support.cli import Cli
from support.gitrepo import GitRepo
from support.waiting import PATIENCE, until

# More than the pipes between the engine and the reader hold; then it works on.
SAID = 4 * PIPE
SAYS = f"head -c {SAID} /dev/zero | tr '\\0' x; exec sleep "


@pytest.fixture
def cli(repo: GitRepo, isolated: Path) -> Cli:
    return Cli(repo, isolated)


def paused(cli: Cli, *words: str, seconds: int) -> subprocess.Popen[bytes]:
    """A `start` whose reader does not read, and that can show no more until it does."""
    reader, writer = os.pipe()
    process = cli.start_into(writer, "start", "-e", "codex", "begin", *words, cwd=None, FAKE_CMD=f"{SAYS}{seconds}")
    until(lambda: not select.select([], [writer], [], 0)[1], "the pipe is full")
    os.close(writer)
    process.stderr = os.fdopen(reader, "rb")
    return process


def said(cli: Cli) -> bytes:
    return b"".join(path.read_bytes() for path in Path(cli.layout.runs_dir).glob("*/attempts/0001/stderr"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_engine_all_the_same(cli: Cli, number: signal.Signals) -> None:
    process = paused(cli, seconds=600)
    process.send_signal(number)
    until(lambda: cli.attempt().ended_at, "the attempt has ended")
    process.communicate(timeout=PATIENCE)
    assert (process.returncode, cli.record().status) == (128 + number, "interrupted")


def test_the_time_out_ends_the_engine_all_the_same(cli: Cli) -> None:
    process = paused(cli, "--timeout", "15", seconds=600)
    until(lambda: cli.attempt().ended_at, "the attempt has ended")
    _, err = process.communicate(timeout=PATIENCE)
    assert cli.record().status == "timed_out"
    assert b"timed_out" in err


def test_a_reader_that_goes_on_gets_all(cli: Cli) -> None:
    _, err = paused(cli, seconds=0).communicate(timeout=PATIENCE)
    assert err.count(b"x" * SAID) == said(cli).count(b"x" * SAID) == 1
    assert cli.record().status == "completed"
