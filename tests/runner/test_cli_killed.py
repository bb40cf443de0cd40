"""git-agent or its engine ended from outside: what is recorded, what the next commands say, how it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from git_agent_extractors.model import Session
from git_agent_fixtures.recording.processes import over
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.index import Index
from support.cli import Cli, wait_for
from support.waiting import PATIENCE, until


class Running:
    """A `start` whose stand-in has printed its session and works until it is ended."""

    def __init__(self, cli: Cli, *words: str, work: str = "exec sleep 600", when: str = "FAKE_CMD") -> None:
        ready = cli.home / "ready"
        ready.unlink(missing_ok=True)
        self.process = cli.start(*words, cwd=None, **{when: f"echo $$ > '{ready}'; {work}"})
        self.tool = psutil.Process(int(wait_for(ready)))
        record = cli.record()
        wait_for(Path(cli.layout.attempt(record.run_id, record.attempts), "stdout"))
        until(lambda: cli.record().session.value, "the session is known")

    @property
    def engine(self) -> int:
        return os.getsid(self.tool.pid)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def ended(self) -> bool:
        return over(self.tool)

    def kill_all(self) -> None:
        power_cut(self.process)


def power_cut(process: subprocess.Popen[bytes]) -> None:
    """git-agent and all below it are gone at once: nobody has the time to write anything."""
    running = family(process)
    for one in running:
        with suppress(psutil.NoSuchProcess):  # it has ended by itself meanwhile
            one.kill()
    process.communicate()
    wait_until_over(running)


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def wait_until_over(running: list[psutil.Process]) -> None:
    until(lambda: all(map(over, running)), "everything is over")


@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 143, id="TERM"),
        pytest.param(signal.SIGHUP, 129, id="HUP"),
    ],
)
def test_asked_to_end(cli: Cli, number: int, status: int) -> None:
    run = Running(cli, "start", "-e", "codex", "x")
    assert (run.end(number), run.ended()) == (status, True)
    record, attempt = cli.record(), cli.attempt()
    assert (record.status, attempt.status, attempt.error) == ("interrupted", "interrupted", None)
    assert (record.session.value is None, attempt.survivors) == (False, ())
    assert (cli.noted(), cli.pointers()) == ([record.handle], {"main": record.handle})
    cli.ok("resume", "go on")
    assert cli.attempt(2).resumed == "yes"


def test_twice_means_now(cli: Cli) -> None:
    """The first Ctrl-C goes to the engine, which takes no notice; the second does not wait for it."""
    run = Running(cli, "start", "-e", "codex", "x", work="trap '' INT TERM; sleep 600 & wait; sleep 600")
    os.kill(run.engine, signal.SIGSTOP)  # nor does the engine itself
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGINT)
    run.process.communicate(timeout=PATIENCE)
    assert (run.process.returncode, run.ended(), cli.record().status) == (130, True, "interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_work_that_was_done_is_done(cli: Cli, number: int) -> None:
    """The engine has finished its turn, and lingers."""
    run = Running(cli, "start", "-e", "claude", "x", when="FAKE_END")
    assert (run.end(number), cli.record().status) == (128 + number, "completed")


def settled(cli: Cli) -> None:
    """Every reading command says what happened, none of them writes it, and the next resume does."""
    record = cli.record()
    assert (record.status, record.session.value is None, cli.attempt().ended_at) == (None, False, None)
    assert cli.pointers() == {"main": record.handle}
    before = cli.state()
    assert "status    dead (git-agent could not settle it)" in cli.ok("status").out
    assert "attempt 1  start, dead (git-agent could not settle it)" in cli.ok("show").out
    assert "  dead  " in cli.ok("list").out
    listed = cli.ok("list", "--json").json["runs"][0]
    assert (listed["state"], listed["status"]) == ("dead", "interrupted")
    done = cli.run("doctor")
    assert (done.status, done.out.splitlines()) == (
        1,
        [
            f"problem: git-agent could not settle attempt 1 of run {record.handle}",
            f'    fix: continue it: git agent resume {record.handle} "<message>"',
        ],
    )
    assert cli.state() - before <= {"cache", "cache/list"}


def test_killed_with_its_engine(cli: Cli) -> None:
    Running(cli, "start", "-e", "codex", "x").kill_all()
    cli.repo.git("config", "notes.rewriteRef", "refs/notes/agent")
    settled(cli)
    begun = cli.record()
    done = cli.ok("resume", "go on")
    said = f"git-agent: git-agent could not settle attempt 1 of run {begun.handle}: interrupted"
    first, second = cli.attempt(1), cli.attempt(2)
    assert (done.lines, first.status, first.session) == ([said], "interrupted", begun.session)
    assert (second.resumed, cli.record().status, cli.noted()) == ("yes", "completed", [begun.handle])
    assert "\nattempt 1  start, interrupted, its end was not seen\n" in cli.ok("show").out
    assert cli.run("doctor").out == "nothing is wrong\n"


def test_killed_after_the_engine_was_done(cli: Cli) -> None:
    run = Running(cli, "start", "-e", "claude", "x", when="FAKE_END")
    kept = Path(cli.layout.attempt(cli.record().run_id, 1), "stdout")
    until(lambda: '"type":"result"' in kept.read_text(), "the result is printed")
    run.kill_all()
    assert "  dead  " in cli.ok("list").out
    cli.ok("resume", "go on")
    assert cli.attempt(1).status == "completed"


def test_killed_while_resuming(cli: Cli) -> None:
    begun = cli.begin("codex")
    Running(cli, "resume", "go on").kill_all()
    cli.ok("resume", "again")
    assert [cli.attempt(number).status for number in (1, 2, 3)] == ["completed", "interrupted", "completed"]
    assert cli.record().session == begun.session


@pytest.mark.parametrize("engine", ["claude", "opencode"])
def test_killed_before_the_engine_said_its_session(cli: Cli, engine: str) -> None:
    """claude's id is ours, but claude never began; opencode's would be in its store."""
    program, ready = cli.home / engine, cli.home / "ready"
    program.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo 2.1.332 && exit\necho $$ > '{ready}'; sleep 600\n")
    program.chmod(0o755)
    cli.repo.git("config", f"agent.{engine}.binary", str(program))
    process = cli.start("start", "-e", engine, "x")
    wait_for(ready)
    power_cut(process)
    done = cli.run("resume", "go on")
    record = cli.record()
    assert (done.status, record.status, record.session.value) == (128, "interrupted", None)
    assert done.lines[1].startswith(f"fatal: run {record.handle} has no session id")


def test_killed_while_it_went_on_with_the_newest_session(cli: Cli) -> None:
    """No session was asked for: the one that the engine printed is the run's from now on. faults E"""
    begun = cli.begin("codex")
    asked = cli.attempt()._replace(kind="continue", requested_session=None, ended_at=None, status=None)
    attempts.save(cli.layout, asked)
    other = Session("thread_id", "0199c9a8-5b1e-7a10-8f00-1234567890ab")
    Index(cli.layout).update(begun.handle, lambda record: record._replace(session=other))
    cli.ok("resume", "go on")
    first = cli.attempt(1)
    assert (first.resumed, first.session, first.parent_session) == ("unverified", begun.session, other.value)
    assert (cli.record().session, cli.attempt(2).resumed) == (begun.session, "yes")
    attempts.save(cli.layout, cli.attempt(2)._replace(ended_at=None, status=None, parent_session=None))
    cli.ok("resume", "again")
    assert (cli.attempt(2).parent_session, cli.record().parent_session) == (other.value, other.value)


def test_an_engine_that_outlives_its_git_agent(cli: Cli) -> None:
    run = Running(cli, "start", "-e", "codex", "x")
    engine = run.engine
    running = family(run.process)
    run.process.kill()
    run.process.communicate()
    handle = cli.record().handle
    done = cli.run("resume", "go on")
    assert (done.status, done.lines) == (
        128,
        [
            f"fatal: run {handle} is still running: codex is process {engine}; the git-agent that started it is gone",
            f'hint: wait for its end: git agent resume {handle} --wait "<message>"',
            f'hint: or end it first: git agent resume {handle} --kill "<message>"',
        ],
    )
    assert "status    running" in cli.ok("status").out
    assert f"codex is process {engine}; the git-agent that started it is gone" in cli.run("doctor").out
    os.killpg(engine, signal.SIGINT)
    wait_until_over(running)
    cli.ok("resume", "go on")
    assert [cli.attempt(number).status for number in (1, 2)] == ["interrupted", "completed"]


def test_a_run_that_is_running(cli: Cli) -> None:
    """A second git-agent keeps its hands off it."""
    run = Running(cli, "start", "-e", "codex", "x")
    handle = cli.record().handle
    for words in (["resume", "y"], ["resume", "--fallback", "fresh", "y"], ["start", "--resume", "y"]):
        done = cli.run(*words)
        message = f"fatal: run {handle} is still running: codex is process {run.engine}"
        assert (done.status, done.lines[0]) == (128, message)
    assert "  running  " in cli.ok("list").out
    cli.repo.git("config", "agent.stallAfter", "0.01")
    assert "status    running, stalled: nothing printed for " in cli.ok("status").out
    run.end(signal.SIGTERM)
    assert cli.record().attempts == 1


def test_a_run_directory_without_an_attempt(cli: Cli) -> None:
    """Killed between two system calls; doctor names it and takes it away."""
    path = Path(cli.layout.run("20261127T101502Z-codex-7f3a9c21"))
    path.mkdir(parents=True)
    assert cli.run("doctor").status == 1
    assert (cli.ok("doctor", "--repair").out.endswith("nothing else is wrong\n"), path.exists()) == (True, False)


def test_an_attempt_that_the_record_does_not_know(cli: Cli) -> None:
    """Killed after the attempt's directory was made, before the record was written."""
    begun = cli.begin()
    Path(cli.layout.attempt(begun.run_id, 2)).mkdir()
    cli.ok("resume", "go on")
    assert (cli.record().attempts, cli.attempt(3).resumed) == (3, "yes")


def remove_record(cli: Cli) -> None:
    Path(cli.layout.index_file(cli.record().handle)).unlink()


def tear_record(cli: Cli) -> None:
    Path(cli.layout.index_file(cli.record().handle)).write_text("handle: [")


@pytest.mark.parametrize("harm", [remove_record, tear_record])
def test_a_record_is_rebuilt(cli: Cli, harm: Callable[[Cli], None]) -> None:
    begun = cli.begin("claude", "--", "--model", "m")
    harm(cli)
    assert cli.run("resume", "x").status == 128
    assert cli.ok("doctor", "--repair").out.endswith("nothing else is wrong\n")
    assert cli.record()._replace(updated_at="") == begun._replace(updated_at="")
    cli.ok("resume", "x")


def test_killed_before_the_record_had_the_status(cli: Cli) -> None:
    """It is the attempt's: `list` never calls a state a status."""
    run = cli.begin()
    Index(cli.layout).update(run.handle, lambda record: record._replace(status=None))
    (row,) = cli.ok("list", "--json").json["runs"]
    assert (row["state"], row["status"]) == ("finished", "completed")


def test_a_run_ended_when_it_was_last_seen_at_work_however_late_it_is_settled(cli: Cli) -> None:
    """Else it would be the run of a branch that got the name since (a walk of `make chaos` found it)."""
    record = cli.begin()
    open_since = cli.attempt()._replace(ended_at=None, status=None, pid=None, started_at="2026-11-27T10:00:00.000Z")
    attempts.save(cli.layout, open_since)
    Index(cli.layout).update(record.handle, lambda old: old._replace(status=None, updated_at=open_since.started_at))
    for path in attempts.outputs(cli.layout, open_since).values():
        os.utime(path, (1795774200.0, 1795774200.0))
    cli.run("doctor", "--repair")
    assert cli.attempt().ended_at == "2026-11-27T10:10:00.000Z"
    assert cli.record().updated_at == "2026-11-27T10:10:00.000Z"
