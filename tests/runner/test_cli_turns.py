"""One writer to a session: a second one is refused, waits for its turn with --wait, or ends the first with --kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from git_agent_extractors.model import Session
from git_agent_runner.core.model import Record
from git_agent_runner.store.files.locks import is_locked
from git_agent_runner.store.records import attempts
from support.cli import Cli, wait_for
from support.waiting import PATIENCE, until


class Working:
    """A command whose stand-in has printed its session and works until `go_on`."""

    def __init__(self, cli: Cli, *words: str, work: str = "") -> None:
        self.cli = cli
        self.ready, self.gate = cli.home / "ready", cli.home / "gate"
        for path in (self.ready, self.gate):
            path.unlink(missing_ok=True)
        loop = f"while [ ! -e '{self.gate}' ]; do sleep 0.02; done"
        self.process = cli.start(*words, FAKE_CMD=f"{work}; echo $$ > '{self.ready}'; {loop}".removeprefix("; "))
        self.tool = int(wait_for(self.ready))

    def go_on(self) -> None:
        self.gate.touch()
        self.process.communicate(timeout=PATIENCE)


class Left:
    """A resume whose launcher was killed and whose engine, the launcher's child, works on; nobody watches it."""

    def __init__(self, cli: Cli) -> None:
        self.cli, self.handle = cli, cli.begin("codex").handle
        work = Working(cli, "resume", "one", work="trap '' INT TERM")
        self.engine = work.tool
        os.kill(os.getsid(work.tool), signal.SIGKILL)
        work.process.communicate(timeout=PATIENCE)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.engine, signal.SIGKILL)
        until_gone(self.engine)


def until_gone(pid: int) -> None:
    until(
        lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE,
        f"process {pid} ends",
    )


def until_waiting(cli: Cli, handle: str) -> None:
    until(lambda: is_locked(cli.layout.waiting_lock(handle)), f"somebody waits for {handle}")


@pytest.fixture
def two(cli: Cli, tmp_path: Path) -> tuple[Cli, Cli, Record, Record]:
    """Two runs in two work trees that share one session, as `resume --session` makes them."""
    first = cli.begin("codex")
    there = Cli(cli.repo.worktree(tmp_path / "linked", "feature"), cli.home)
    second = there.begin("codex")
    assert (first.session, first.handle == second.handle) == (second.session, False)
    return cli, there, first, second


def test_a_second_writer_of_another_run_and_work_tree_is_refused(two: tuple[Cli, Cli, Record, Record]) -> None:
    cli, there, first, _ = two
    work = Working(cli, "resume", "one")
    expected = f"fatal: run {first.handle} (git-agent is process {work.process.pid}, in {cli.repo.path}, since "
    for words in (
        ["resume", "two"],
        ["resume", "--strict", "two"],
        ["start", "--resume", "two"],
        ["resume", "-n", "two"],
    ):
        done = there.run(*words)
        assert done.status == 128
        line = done.lines[0].replace("fatal: Session resumption failed: ", "fatal: ")
        assert line.startswith(expected)
        assert line.endswith(f" is using session {first.session.value}")
    told = there.ok("status", "--json").json
    assert (told["resumable"], told["reason"]["code"], told["state"]) == (False, "session_held", "finished")
    work.go_on()
    there.ok("resume", "two")
    assert [call["stdin"] for call in cli.calls()][-2:] == ["one", "two"]


def test_a_session_given_by_hand_is_held_too(two: tuple[Cli, Cli, Record, Record]) -> None:
    cli, there, first, _ = two
    other = there.begin("codex", FAKE_ID="new")
    work = Working(cli, "resume", "one")
    done = there.run("resume", other.handle, "--session", str(first.session.value), "--json", "two")
    assert (done.status, done.json["error"]["code"]) == (128, "session_held")
    there.ok("resume", other.handle, "two")
    work.go_on()


def test_the_session_that_a_start_has_just_begun_is_held(cli: Cli, tmp_path: Path) -> None:
    there = Cli(cli.repo.worktree(tmp_path / "linked", "feature"), cli.home)
    other = there.begin("codex", FAKE_ID="new")
    work = Working(
        cli, "start", "-e", "codex", "one", work=f"until grep -q value '{cli.layout.index_dir}'/*; do :; done"
    )
    until(lambda: cli.record(cli.pointers()["main"]).session.value, "the session is known")
    session = cli.record(cli.pointers()["main"]).session
    done = there.run("resume", other.handle, "--session", str(session.value), "two")
    assert (done.status, "is using session" in done.lines[0]) == (128, True)
    work.go_on()


def test_waiting_for_the_run_itself(cli: Cli) -> None:
    """Two wait; each goes on in its turn, on what the ones before it left."""
    handle = cli.begin("codex").handle
    work = Working(cli, "resume", "one")
    first = cli.start("resume", "--wait", "two")
    until_waiting(cli, handle)
    second = cli.start("resume", "--wait", "three")
    assert "status    running, another resume waits for it, " in cli.ok("status").out
    assert cli.ok("status", "--json").json["state"] == "running"
    work.go_on()
    told = [process.communicate(timeout=PATIENCE)[1].decode() for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert told[0].count("git-agent: waiting: ") == 1
    assert f"git-agent: waiting: run {handle} is still running: codex is process " in told[0]
    messages = [cli.attempt(number).message for number in range(1, 5)]
    assert (messages[:2], sorted(map(str, messages[2:]))) == (["begin", "one"], ["three", "two"])
    assert {cli.attempt(number).resumed for number in (2, 3, 4)} == {"yes"}
    assert cli.ok("status", "--json").json["state"] == "finished"


def test_waiting_for_another_run_that_has_the_session(two: tuple[Cli, Cli, Record, Record]) -> None:
    cli, there, first, second = two
    work = Working(cli, "resume", "one")
    waiting = there.start("resume", "--wait", "--timeout", "50", "two")
    until_waiting(there, second.handle)
    assert "status    waiting: a resume is queued until its session is free, " in there.ok("status").out
    assert there.ok("status", "--json").json["state"] == "waiting"
    listed = {row["handle"]: row["status"] for row in cli.ok("list", "--json").json["runs"]}
    assert listed == {first.handle: "running", second.handle: "waiting"}
    work.go_on()
    told = waiting.communicate(timeout=PATIENCE)[1].decode()
    assert (waiting.returncode, told.count(f"git-agent: waiting: run {first.handle} ")) == (0, 1)
    assert there.record(second.handle).status == "completed"


def test_nothing_to_wait_for(cli: Cli) -> None:
    cli.begin("codex")
    assert "waiting" not in cli.ok("resume", "--wait", "go on").err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_the_wait_is_ended(cli: Cli, number: int, status: int) -> None:
    handle = cli.begin("codex").handle
    work = Working(cli, "resume", "one")
    waiting = cli.start("resume", "--wait", "two")
    until_waiting(cli, handle)
    waiting.send_signal(number)
    waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, is_locked(cli.layout.waiting_lock(handle))) == (status, False)
    work.go_on()
    assert (cli.record().attempts, [call["stdin"] for call in cli.calls()]) == (2, ["begin", "one"])


def test_a_killed_waiter_leaves_no_one_waiting(cli: Cli) -> None:
    """And a run that nobody settled is settled by the next, though another one is queued."""
    handle = cli.begin("codex").handle
    work = Working(cli, "resume", "one")
    waiting = [cli.start("resume", "--wait", word) for word in ("two", "three")]
    until_waiting(cli, handle)
    engine = os.getsid(work.tool)
    work.process.kill()
    work.process.communicate()
    os.killpg(engine, signal.SIGKILL)
    for process in waiting:
        process.communicate(timeout=PATIENCE)
    assert [process.returncode for process in waiting] == [0, 0]
    statuses = [cli.attempt(number).status for number in range(1, 5)]
    assert statuses == ["completed", "interrupted", "completed", "completed"]


def test_kill_ends_what_goes_on_and_then_resumes(cli: Cli) -> None:
    session = cli.begin("codex").session
    work = Working(cli, "resume", "one")
    handle = cli.record().handle
    done = cli.ok("resume", "--kill", "two")
    told = work.process.communicate(timeout=PATIENCE)[1].decode()
    assert done.lines[0] == f"git-agent: ending the running attempt of run {handle}"
    assert "warning: codex: interrupted: ended by git agent resume --kill, process " in told  # faults G9
    assert (work.process.returncode, cli.attempt(2).status) == (143, "interrupted")
    until_gone(work.tool)
    assert (cli.attempt(3).resumed, cli.attempt(3).status, cli.record().session) == ("yes", "completed", session)
    assert cli.attempt(2).survivors == ()


def test_stop_ends_what_goes_on_and_leaves_it_to_be_resumed(cli: Cli) -> None:
    """By its branch's name, from another branch."""
    session, branch = cli.begin("codex").session, cli.repo.git("branch", "--show-current")
    work = Working(cli, "resume", "one")
    cli.repo.switch_new("other")
    handle = cli.record().handle
    done = cli.ok("stop", branch)
    assert done.lines[0] == f"git-agent: ending the running attempt of run {handle}"
    assert done.lines[1].startswith(
        f"git-agent: stopped run {handle} (codex, branch '{branch}'); to continue: git agent "
    )
    told = work.process.communicate(timeout=PATIENCE)[1].decode()
    assert "warning: codex: interrupted: ended by git agent stop, process " in told
    until_gone(work.tool)
    assert (cli.attempt(2).status, cli.record().session) == ("interrupted", session)
    assert cli.ok("stop", handle).lines == [f"git-agent: run {handle} is not running"]


def test_stop_all_ends_what_runs_and_settles_what_its_git_agent_left(cli: Cli) -> None:
    cli.begin("codex")
    assert cli.ok("stop", "--all").lines == ["git-agent: nothing is running"]
    left = Left(cli)
    cli.ok("stop", "--all")
    record = cli.record(left.handle)
    assert (record.status, cli.attempt(record.attempts, left.handle).status) == ("interrupted", "interrupted")
    assert cli.run("stop", "--all", left.handle).status == 129


def test_kill_ends_an_engine_whose_git_agent_is_gone(cli: Cli) -> None:
    cli.begin("codex")
    work = Working(cli, "resume", "one", work="trap '' INT TERM")
    work.process.kill()
    work.process.communicate()
    cli.ok("resume", "--kill", "two")
    until_gone(work.tool)
    assert [cli.attempt(number).status for number in (2, 3)] == ["interrupted", "completed"]


DEAF = """
import signal, sys
from git_agent_runner.store import session_locks
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records.index import Index
signal.signal(signal.SIGTERM, signal.SIG_IGN)
layout = Layout(sys.argv[1])
record = Index(layout).read(sys.argv[2])
lock = locks.try_lock(layout.run_lock(record.handle))
session_locks.sign(lock, session_locks.ourselves(layout, record, "now"))
print("held", flush=True)
signal.pause()
"""


def test_kill_ends_a_git_agent_that_does_not_answer(cli: Cli) -> None:
    handle = cli.begin("codex").handle
    argv = (sys.executable, "-c", DEAF, cli.layout.common_dir, handle)
    with subprocess.Popen(argv, env=cli.environ(), stdout=subprocess.PIPE) as deaf:
        assert deaf.stdout
        assert deaf.stdout.readline() == b"held\n"
        cli.ok("resume", "--kill", "two")
        assert deaf.wait(PATIENCE) == -signal.SIGKILL


def test_kill_wakes_a_git_agent_that_was_stopped(cli: Cli) -> None:
    """Faults G2: Ctrl-Z leaves a job that hears no signal until it goes on."""
    cli.begin("codex")
    work = Working(cli, "resume", "one")
    work.process.send_signal(signal.SIGSTOP)
    cli.ok("resume", "--kill", "two")
    until_gone(work.tool)
    work.process.communicate(timeout=PATIENCE)
    assert work.process.returncode == 128 + signal.SIGTERM
    assert [cli.attempt(number).status for number in (2, 3)] == ["interrupted", "completed"]


def test_kill_of_a_run_that_is_not_running(cli: Cli) -> None:
    cli.begin("codex")
    assert "ending" not in cli.ok("resume", "--kill", "go on").err


def test_kill_leaves_another_runs_attempt_alone(two: tuple[Cli, Cli, Record, Record]) -> None:
    cli, there, first, _ = two
    work = Working(cli, "resume", "one")
    done = there.run("resume", "--kill", "two")
    assert (done.status, f"run {first.handle} " in done.lines[0]) == (128, True)
    work.go_on()
    assert (work.process.returncode, cli.record(first.handle).status) == (0, "completed")


@pytest.mark.parametrize(("option", "what"), [("--wait", "wait for itself"), ("--kill", "end itself")])
def test_from_inside_of_the_run(cli: Cli, option: str, what: str) -> None:
    """An agent that resumes its own run would wait, or end, for ever."""
    handle = cli.begin("codex").handle
    work = Working(cli, "resume", "one")
    done = cli.run("resume", option, "--json", "two", GIT_AGENT_HANDLE=handle)
    assert (done.status, done.json["error"]["code"]) == (128, "inside_run")
    assert done.lines[-2] == f"fatal: this is inside run {handle}, which would {what}"
    work.go_on()
    assert work.process.returncode == 0


@pytest.mark.parametrize(
    ("words", "pair"),
    [
        (["--wait", "--kill"], "--wait and --kill"),
        (["--wait", "-n"], "--wait and --dry-run"),
        (["--kill", "-n"], "--kill and --dry-run"),
    ],
)
def test_options_that_exclude_each_other(cli: Cli, words: list[str], pair: str) -> None:
    done = cli.run("resume", *words, "x")
    assert (done.status, done.lines[0]) == (129, f"fatal: {pair} cannot be used together")


def test_the_boot_is_written_down(cli: Cli) -> None:
    cli.begin("codex")
    boot = Path("/proc/sys/kernel/random/boot_id")
    assert cli.attempt().boot_id == (boot.read_text().strip() if boot.exists() else None)


def test_an_attempt_of_an_earlier_boot_is_over(cli: Cli) -> None:
    """Its pid is somebody else's by now, who started at the same time."""
    record = cli.begin("codex")
    alive = subprocess.Popen(("sleep", "600"), start_new_session=True)
    started = psutil.Process(alive.pid).create_time()
    open_one = cli.attempt()._replace(pid=alive.pid, process_started=started, ended_at=None, boot_id="another")
    attempts.save(cli.layout, open_one)
    cli.ok("resume", "go on")
    alive.kill()
    alive.wait()
    assert cli.record().attempts == record.attempts + 1
    assert cli.record().session == Session(record.session.field, record.session.value)


@pytest.fixture
def left(cli: Cli) -> Iterator[Left]:
    """A run whose launcher was killed, while git-agent lived, and whose engine works on (faults A14)."""
    work = Left(cli)
    yield work
    work.end()


def test_an_engine_that_outlives_its_launcher_is_at_work(left: Left, tmp_path: Path) -> None:
    """Faults A14: it was settled as interrupted, so the next resume became a second writer of its session."""
    cli, handle = left.cli, left.handle
    assert (cli.attempt(2).status, cli.attempt(2).survivors[0].split()[0]) == ("interrupted", str(left.engine))
    fatal = (
        f"fatal: run {handle} is still running: codex's launcher ended,"
        f" but it is still running as process {left.engine} "
    )
    for words in (["resume", "two"], ["resume", "--strict", "two"], ["start", "--resume", "two"]):
        done = cli.run(*words)
        line = done.lines[0].replace("fatal: Session resumption failed: ", "fatal: ")
        assert (done.status, line.startswith(fatal)) == (128, True)
    shown = cli.ok("status", "--json").json
    assert (shown["state"], shown["resumable"], shown["reason"]["code"]) == ("running", False, "run_live")
    problems = cli.run("doctor", "--json").json["problems"]
    assert [problem["code"] for problem in problems if handle in problem["problem"]] == ["engine_unwatched"]
    assert [row["status"] for row in cli.ok("list", "--json").json["runs"]] == ["running"]
    there = Cli(cli.repo.worktree(tmp_path / "linked", "feature"), cli.home)
    other = there.begin("codex", FAKE_ID="new")
    refused = there.run("resume", other.handle, "--session", str(cli.record(handle).session.value), "--json", "two")
    assert refused.json["error"]["code"] == "session_held"
    left.end()
    cli.ok("resume", "two")
    assert cli.attempt(3, handle).status == "completed"


def test_waiting_for_an_engine_that_outlives_its_launcher(left: Left) -> None:
    """Faults A14."""
    waiting = left.cli.start("resume", "--wait", "two")
    until_waiting(left.cli, left.handle)
    assert left.cli.record().attempts == 2
    left.end()
    waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, left.cli.attempt(3).status) == (0, "completed")


def test_kill_ends_an_engine_that_outlives_its_launcher(left: Left) -> None:
    """Faults A14: --kill said nothing and ended nothing."""
    left.cli.ok("resume", "--kill", "two")
    until_gone(left.engine)
    assert [left.cli.attempt(number).status for number in (2, 3)] == ["interrupted", "completed"]


def test_a_server_that_a_completed_turn_leaves_running_holds_nothing(cli: Cli) -> None:
    ready = cli.home / "server"
    cli.begin("codex", FAKE_END=f"setsid sleep 600 >/dev/null 2>&1 & echo $! > '{ready}'")
    server = cli.attempt().survivors[0].split()[0]
    try:
        cli.ok("resume", "two")
        assert [cli.attempt(number).status for number in (1, 2)] == ["completed", "completed"]
    finally:
        os.kill(int(server), signal.SIGKILL)


def test_status_names_what_a_turn_left_running_while_it_lives(cli: Cli) -> None:
    """Faults A14: a process that had ended since was listed on and on."""
    cli.begin("codex", FAKE_END="setsid sleep 600 >/dev/null 2>&1 &")
    (server,) = cli.attempt().survivors
    assert f"survivors {server}" in cli.ok("status").out
    pid = int(server.split()[0])
    os.kill(pid, signal.SIGKILL)
    until_gone(pid)
    assert "survivors" not in cli.ok("status").out
