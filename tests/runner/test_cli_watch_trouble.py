"""`git agent watch`, with stand-ins for engines: gates, odd runs, and its own end keep nothing from going on."""

from __future__ import annotations

import errno
import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from git_agent_runner.unattended import worker
from git_agent_runner.unattended.policies import watch as watching
from support.cli import Cli, ask, wait_for
from support.waiting import PATIENCE, until
from support.watching import CRASH, kept, ours, policies

RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings"
LIMITED = str(RECORDINGS / "codex/0.171.0/14a-ratelimit/stdout")


@pytest.mark.parametrize(
    ("command", "attempts", "status"),
    [
        pytest.param(["true"], 2, 0, id="passes"),
        pytest.param(["false"], 1, 1, id="does not"),
        pytest.param(["/nowhere/at/all"], 1, 1, id="cannot be run"),
    ],
)
def test_a_gate(cli: Cli, command: list[str], attempts: int, status: int) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, f'on_dead = {{ action = "gate", run = {json.dumps(command)} }}')
    done = cli.run("watch")
    assert (done.status, cli.record().attempts) == (status, attempts)
    assert ("the gate failed" in done.out) == (status == 1)


def test_a_gate_that_hangs_ends_with_the_watch(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    mark = cli.home / "pids"
    command = ["sh", "-c", f'sleep 600 & echo $$ $! >"{mark}"; wait']
    policies(cli, f'on_dead = {{ action = "gate", run = {json.dumps(command)} }}')
    watch = cli.start("watch")
    pids = [int(pid) for pid in wait_for(mark).split()]
    watch.send_signal(signal.SIGTERM)
    watch.communicate(timeout=PATIENCE)
    assert watch.returncode == 128 + signal.SIGTERM
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids), "all of the gate is gone")


def test_a_signal_while_a_person_is_told_ends_the_watch(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    mark = cli.home / "pid"
    command = ["sh", "-c", f'echo $$ >"{mark}"; exec sleep 600']
    policies(cli, f'on_dead = {{ action = "escalate", run = {json.dumps(command)} }}')
    watch = cli.start("watch")
    pid = int(wait_for(mark))
    watch.send_signal(signal.SIGTERM)
    watch.communicate(timeout=PATIENCE)
    assert (watch.returncode, psutil.pid_exists(pid)) == (128 + signal.SIGTERM, False)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param('rm "$RECORD"', id="its record is removed"),
        pytest.param('rm -r "$RECORD" "$RUN"', id="the run is removed"),
        pytest.param('echo "[" >"$RECORD"', id="its record is damaged"),
        pytest.param('rm -r "$RUN"; exit 1', id="the run is removed, and the gate says no"),
    ],
)
def test_what_happens_to_one_run_does_not_end_the_watch(cli: Cli, tmp_path: Path, command: str) -> None:
    odd, other = cli.begin(FAKE_CMD=CRASH), tmp_path / "other"
    cli.repo.worktree(other, "other")
    cli.begin(cwd=other, FAKE_CMD=CRASH)
    script = f'[ "$GIT_AGENT_RUN" != {odd.handle} ] || {{ {command}; }}'
    policies(cli, f'on_dead = {{ action = "gate", run = {json.dumps(["sh", "-c", script])} }}')
    done = cli.run("watch", "--jobs", "1", RECORD=cli.layout.index_file(odd.handle), RUN=cli.layout.run(odd.run_id))
    assert done.status in (0, 1)
    assert "other: attempt 2: completed" in done.err


def test_a_run_whose_engine_is_gone_does_not_end_the_watch(cli: Cli) -> None:
    begun = cli.begin(FAKE_CMD=CRASH, FAKE_OUT=LIMITED)
    for path in (cli.layout.index_file(begun.handle), f"{cli.layout.attempt(begun.run_id, 1)}/attempt.yaml"):
        text = Path(path).read_text()
        Path(path).write_text(text.replace('agentName: "codex"', 'agentName: "gone"'))
    policies(cli, 'on_error = "resume"\non_dead = "resume"')
    done = cli.run("watch")
    assert done.status == 1
    assert "unknown engine 'gone'" in done.err


@pytest.mark.parametrize(
    ("ended", "cooldown"),
    [
        pytest.param("2126-01-01T00:00:00Z", "500ms", id="the clock was set back since"),
        pytest.param("soon", "1h", id="it is none, which is long ago"),
    ],
)
def test_a_time_that_cannot_be_makes_no_wait_longer(cli: Cli, ended: str, cooldown: str) -> None:
    begun = cli.begin(FAKE_CMD=CRASH)
    path = Path(cli.layout.attempt(begun.run_id, 1), "attempt.yaml")
    path.write_text(path.read_text().replace(f'endedAt: "{cli.attempt().ended_at}"', f'endedAt: "{ended}"'))
    policies(cli, f'on_dead = {{ action = "resume", cooldown = "{cooldown}" }}')
    cli.ok("watch")
    assert cli.attempt(2).status == "completed"


def test_a_gate_is_asked_once(cli: Cli) -> None:
    """What it is asked by is not how a person is told."""
    cli.begin(FAKE_CMD=CRASH)
    asked = cli.home / "asked"
    gate = json.dumps(["sh", "-c", f'echo + >>"{asked}"; exit 1'])
    policies(cli, f'on_dead = {{ action = "gate", run = {gate} }}')
    assert cli.run("watch").status == 1
    assert asked.read_text() == "+\n"


def test_what_cannot_go_on_needs_a_person(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    cli.repo.git("config", "agent.codex.binary", "/nowhere/codex")
    policies(cli, 'on_dead = { action = "resume", attempts = "forever" }')
    done = cli.run("watch")
    found = kept(cli)
    assert found
    assert (done.status, found.end, cli.record().attempts) == (1, "escalated", 1)
    assert "/nowhere/codex" in found.reason


def test_one_that_cannot_be_looked_at_keeps_no_other_from_going_on(cli: Cli, tmp_path: Path) -> None:
    """The profile of its engine was taken away; the record of a third cannot be read."""
    names = ("fine", "strange", "damaged")
    for name in names:
        cli.repo.git("worktree", "add", "-q", "-b", name, str(tmp_path / name))
    fine, strange, damaged = (cli.begin(cwd=tmp_path / name, FAKE_CMD=CRASH, FAKE_ID="new") for name in names)
    attempt = Path(cli.layout.attempt(strange.run_id, 1), "attempt.yaml")
    text = attempt.read_text().replace('agentName: "codex"', 'agentName: "mine"')
    attempt.write_text(text.replace('status: "interrupted"', 'status: "failed"'))
    Path(cli.layout.index_file(damaged.handle)).write_text("]")
    policies(cli, 'on_dead = "resume"\non_error = "resume"')
    done = cli.run("watch")
    assert (done.status, cli.attempt(2, fine.handle).status) == (1, "completed")
    assert cli.record(strange.handle).attempts == 1
    assert f"{strange.handle} strange: unknown engine 'mine'" in ours(done)
    warnings = [line for line in done.lines if line.startswith("warning: cannot read ")]
    assert (len(warnings), damaged.handle in warnings[0]) == (1, True)


def test_a_watch_that_was_killed_goes_on(cli: Cli) -> None:
    """Its worker works on; the next watch neither acts beside it nor forgets what was tried."""
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = { action = "resume", attempts = 1 }')
    first = cli.start("watch", FAKE_CMD="sleep 3; kill -9 $PPID")
    until(lambda: len(cli.calls()) == 2, "its worker has started an engine")
    first.kill()
    first.communicate()
    done = cli.run("watch", FAKE_CMD=CRASH)
    assert (done.status, cli.record().attempts, len(cli.calls())) == (1, 2, 2)
    assert "resume was tried 1 time" in done.out


def test_two_do_not_watch_at_once(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = "resume"')
    first = cli.start("watch", FAKE_CMD="sleep 600")
    until(lambda: len(cli.calls()) == 2, "its worker has started an engine")
    second = cli.run("watch", "--json")
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=PATIENCE)
    assert second.json["error"]["code"] == "watch_live"
    assert f"process {first.pid}" in second.json["error"]["message"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_it_started(cli: Cli, number: signal.Signals) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = { action = "resume", attempts = "forever" }')
    watch = cli.start("watch", FAKE_CMD="exec sleep 600")
    until(lambda: cli.record().attempts == 2 and cli.attempt(2).pid, "its worker has started an engine")
    watch.send_signal(number)
    watch.communicate(timeout=PATIENCE)
    assert watch.returncode == 128 + number
    assert cli.attempt(2).status == "interrupted"
    assert cli.attempt(2).survivors == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_watch_ended_with_itself_the_next_takes_up(cli: Cli, number: signal.Signals) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = "resume"')
    watch = cli.start("watch", FAKE_CMD="exec sleep 600")
    until(lambda: cli.record().attempts == 2 and cli.attempt(2).pid, "its worker has started an engine")
    watch.send_signal(number)
    watch.communicate(timeout=PATIENCE)
    done = cli.ok("watch")
    assert [cli.attempt(2).status, cli.attempt(3).status] == ["interrupted", "completed"]
    assert f'{cli.record().handle} main: dead: resume with "Continue from where you left off."' in ours(done)
    assert cli.ok("watch").out == ""


def test_a_process_that_cannot_be_started_is_none_that_was_tried(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system had no room for it; a second later it has."""
    here.begin(FAKE_CMD=CRASH)
    policies(here, 'on_dead = { action = "resume", attempts = 1 }')
    failures = iter([OSError(errno.EAGAIN, "Resource temporarily unavailable")])

    def start(*given: Any) -> worker.Worker:
        for failure in failures:
            raise failure
        return worker.start(*given)

    monkeypatch.setattr(watching, "start", start)
    assert ask("watch") == 0
    assert [here.attempt(2).status, here.record().attempts] == ["completed", 2]


def test_what_a_stopped_watch_was_to_end_is_ended(cli: Cli) -> None:
    """The policy called it done; that it was ended is no reason to continue it."""
    mark = cli.home / "mark"
    ending = f"trap 'echo + >\"{mark}\"' INT TERM; while :; do sleep 0.1; done"
    at_work = cli.start("start", "-e", "codex", "begin", FAKE_CMD=ending)
    until(lambda: cli.calls() and cli.record().session.value, "the session is stored")
    cli.repo.git("config", "agent.stallAfter", "0.1")
    policies(cli, 'on_idle = "done"\non_dead = "resume"')
    watch = cli.start("watch")
    wait_for(mark)
    watch.send_signal(signal.SIGTERM)
    watch.communicate(timeout=PATIENCE)
    at_work.communicate(timeout=PATIENCE)
    cli.run("watch")
    assert (cli.attempt().status, cli.record().attempts) == ("interrupted", 1)
