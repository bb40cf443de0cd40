"""A session has one writer, whoever it is: another repository of the person's, or an engine started by hand."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery
from support.cli import Cli
from support.gitrepo import GitRepo
from support.waiting import until

SESSION = "8fe03d74-77e1-4cea-9127-7d706ad98311"


def writer(engine: str, home: Path, session: str = SESSION) -> str | None:
    return load(engine).writer(StoreQuery({"HOME": str(home)}, "/", (99,), session))


@contextmanager
def flocked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def claude_says(home: Path, **changes: object) -> None:
    """As 2.1.332 writes it while it runs."""
    process = psutil.Process()
    facts = {
        "pid": process.pid,
        "sessionId": SESSION,
        "startedAt": process.create_time() * 1000 + 200,
        "pidDomain": f"linux:3d1219c7:{os.readlink('/proc/self/ns/pid')}",
    }
    path = home / ".claude/sessions" / f"{process.pid}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**facts, **changes}))


def test_claude_names_the_process_that_has_a_session_open(tmp_path: Path) -> None:
    """faults A8"""
    assert writer("claude", tmp_path) is None
    claude_says(tmp_path)
    assert writer("claude", tmp_path) == f"claude, process {os.getpid()},"
    assert writer("claude", tmp_path, SESSION.replace("8", "9")) is None


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"startedAt": 1764238502250}, id="pid used again"),
        pytest.param({"pid": 2**22 + 1}, id="ended without a word"),
        pytest.param({"pid": -1}, id="no pid"),
        pytest.param({"pid": 10**30}, id="no number of a process"),
        pytest.param({"startedAt": "now"}, id="no time"),
        pytest.param({"pidDomain": "linux:3d1219c7:pid:[1]"}, id="another container"),
    ],
)
def test_what_claude_left_behind_holds_nothing(tmp_path: Path, changes: dict[str, object]) -> None:
    claude_says(tmp_path, **changes)
    assert writer("claude", tmp_path) is None


@pytest.mark.parametrize("bad", ["", "[1]", "{", "null"])
def test_a_sign_of_life_that_cannot_be_read_holds_nothing(tmp_path: Path, bad: str) -> None:
    (tmp_path / ".claude/sessions").mkdir(parents=True)
    (tmp_path / ".claude/sessions/1.json").write_text(bad)
    os.mkfifo(tmp_path / ".claude/sessions/2.json")
    assert writer("claude", tmp_path) is None


@pytest.mark.parametrize(
    ("engine", "lock", "who"),
    [
        ("codex", f".codex/thread-writer-locks/{SESSION}.lock", "codex, started by another program,"),
        ("copilot", f".copilot/session-state/{SESSION}/inuse.4711.hold", "copilot, process 4711,"),
    ],
)
def test_the_engine_s_own_lock_counts(tmp_path: Path, engine: str, lock: str, who: str) -> None:
    """faults A8: codex 0.171.0 and copilot 1.0.102 hold these while they have the session open."""
    assert writer(engine, tmp_path) is None
    with flocked(tmp_path / lock):
        assert writer(engine, tmp_path) == who
    assert writer(engine, tmp_path) is None


def test_an_engine_started_by_hand_is_not_written_beside(cli: Cli) -> None:
    """faults A8"""
    session = str(cli.begin("codex").session.value)
    with flocked(cli.home / f".codex/thread-writer-locks/{session}.lock"):
        done = cli.run("resume", "two")
    assert (done.status, done.lines[0]) == (
        128,
        f"fatal: codex, started by another program, is using session {session}",
    )
    cli.ok("resume", "two")


def test_a_copy_made_while_the_run_is_at_work_neither_ends_nor_joins_it(cli: Cli, tmp_path: Path) -> None:
    """faults A8: the copied attempt was never settled there; its engine is the original's."""
    begun = cli.begin("claude")
    ready, gate = cli.home / "ready", cli.home / "gate"
    os.mkfifo(ready)
    os.mkfifo(gate)
    work = cli.start("resume", "slow", FAKE_CMD=f"echo > '{ready}'; read line < '{gate}'")
    ready.read_text()
    until(lambda: cli.attempt(2).pid, "the attempt names its engine")
    shutil.copytree(cli.repo.path, tmp_path / "copy", symlinks=True)
    copy = Cli(GitRepo(tmp_path / "copy"), cli.home)
    for words in (["resume", "x"], ["resume", "--kill", "x"]):
        done = copy.run(*words)
        assert (done.status, done.lines[0]) == (
            128,
            f"fatal: run {begun.handle} is still running in '{cli.repo.path}', the repository this one was copied from",
        )
    gate.write_text("go on\n")
    assert work.wait(timeout=60) == 0
    copy.ok("resume", "in the copy")
    assert (copy.record().parent_session, cli.record().session) == (begun.session.value, begun.session)


def test_a_copy_of_the_repository_is_a_second_writer(cli: Cli, tmp_path: Path) -> None:
    """faults A8: the original is at work when its copy resumes the same run."""
    begun = cli.begin("claude")
    shutil.copytree(cli.repo.path, tmp_path / "copy", symlinks=True)
    copy, ready, gate = Cli(GitRepo(tmp_path / "copy"), cli.home), cli.home / "ready", cli.home / "gate"
    os.mkfifo(ready)
    os.mkfifo(gate)
    work = cli.start("resume", "slow", FAKE_CMD=f"echo > '{ready}'; read line < '{gate}'")
    ready.read_text()
    done = copy.run("resume", "--json", "other")
    assert (done.status, done.json["error"]["code"]) == (128, "session_held")
    assert f"in {cli.repo.path}, since " in done.json["error"]["message"]
    gate.write_text("go on\n")
    work.communicate(timeout=60)
    assert [call["stdin"] for call in cli.calls()] == ["begin", "slow"]
    assert cli.record().session == begun.session
