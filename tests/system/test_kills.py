"""Killed at any moment: the session is kept, nothing is left running, and the next resume goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from git_agent_fixtures.engines import PINS
from git_agent_fixtures.recording.processes import over
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.files.locks import is_locked
from support.waiting import until
from system.stores import sessions
from system.support import ALLOW, World, alive, end_all, refused, succeeded

# Versions whose session has no turn on disk before its first reply is complete.
FIRST_REPLY_LOST = {"claude-1.0.128"}
# Versions that end, tool and all, when nobody reads their output any more; the others go on working.
END_WITH_THEIR_READER = {"codex-0.171.0"}


@pytest.mark.engine_independent
def test_git_agent_is_killed_alone_in_a_tool_call_of_the_second_turn(world: World) -> None:
    """The engine works on: nothing starts beside it. Once it is gone, too, the run continues its whole history."""
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    session = world.session()
    process = in_a_tool_call(world, "MK2 SLOWTOOL")
    (engine,) = psutil.Process(process.pid).children()
    running = alive(world.home)
    process.kill()
    process.wait()
    if str(world.pin) in END_WITH_THEIR_READER:
        until(lambda: all(map(over, running)), "the engine ends")
    else:
        nothing_starts_beside(world, engine)
    assert world.facts()["state"] == "dead"
    world.resume("MK4 and go on")
    world.carried("MK1", "MK2", "MK4")
    facts = world.facts()
    assert facts["session"]["value"] == session
    assert [attempt["status"] for attempt in facts["attempts"]] == ["completed", "interrupted", "completed"]
    assert sessions(world) == {session}


@pytest.mark.engine_independent
def test_the_launcher_is_killed_alone_in_a_tool_call(world: World) -> None:
    """Faults A14: git-agent lives and settles the attempt, but what the launcher began works on in the session."""
    session, survivors = left_by_its_launcher(world)
    asked = len(world.requests())
    done = world.agent("resume", "--json", "--message=MK3 and go on")
    refused(done, "still running", "launcher ended, but it is still running as process ")
    assert [pid for pid in survivors if f"process {pid} " in done.err or f", {pid} " in done.err]
    assert json.loads(done.out)["error"]["code"] == "run_live"
    assert world.facts()["state"] == "running"
    problems = json.loads(world.agent("doctor", "--json").out)["problems"]
    assert "engine_unwatched" in [problem["code"] for problem in problems]
    assert len(world.requests()) == asked
    signal_all(survivors, signal.SIGCONT)
    succeeded(world.agent("resume", "--kill", "--message=MK4 and go on"))
    assert not {survivor.pid for survivor in alive(world.home)} & survivors
    world.carried("MK1", "MK4")  # copilot has not written the second message by then
    assert world.session() == session
    assert sessions(world) == {session}


@pytest.mark.engine_independent
def test_a_resume_waits_for_what_a_killed_launcher_left(world: World) -> None:
    """Faults A14: it begins once that has ended by itself, and no second engine works on the session before."""
    session, survivors = left_by_its_launcher(world)
    asked = len(world.requests())
    waiter = world.spawn("resume", "--wait", "--message=MK3 and go on")
    assert waiter.stderr
    told = waiter.stderr.readline()
    assert "git-agent: waiting: run " in told
    assert "launcher ended, but it is still running as process " in told
    facts, layout = world.facts(), Layout(str(world.repo / ".git"))
    until(lambda: is_locked(layout.waiting_lock(facts["handle"])) or stopped(waiter), "it waits for its turn")
    assert (facts["state"], len(world.requests())) == ("running", asked)
    assert {process.pid for process in alive(world.home)} == {*survivors, waiter.pid}
    signal_all(survivors, signal.SIGKILL)
    _, err = waiter.communicate()
    assert waiter.returncode == 0, err
    world.carried("MK1", "MK3")  # copilot has not written the second message by then
    assert world.session() == session
    assert sessions(world) == {session}


@pytest.mark.one_of("end")
def test_the_machine_crashes_in_the_first_reply(world: World) -> None:
    """Everything dies at once. The run is found again, or the reason why its session cannot be is named."""
    process = in_a_reply(world, "start", "-e", world.pin.engine, "--prompt=MK1 SLOWSTREAM")
    process.kill()
    end_all(world.home)
    process.wait()
    assert world.facts()["state"] == "dead"
    goes_on_after_the_first_reply(world)
    assert world.facts()["attempts"][0]["status"] == "interrupted"


@pytest.mark.one_of("end")
def test_ctrl_c_in_the_first_reply(world: World) -> None:
    process = in_a_reply(world, "start", "-e", world.pin.engine, "--prompt=MK1 SLOWSTREAM")
    ended(world, process, signal.SIGINT, 130)
    assert world.facts()["status"] == "interrupted"
    goes_on_after_the_first_reply(world)


# What prints no id before the model has answered, so that its store must be asked.
LATE = pytest.mark.parametrize("pin", [pin for pin in PINS if pin.engine == "opencode"], ids=str, scope="session")


@LATE
def test_an_id_that_was_not_printed_yet_comes_from_the_store(world: World) -> None:
    process = unanswered(world)
    ended(world, process, signal.SIGINT, 130)
    assert 'sessionFrom: "store"' in attempt_file(world).read_text()
    assert sessions(world) == {world.session()}
    world.resume("MK2 and go on")
    world.carried("MK1", "MK2")


@LATE
def test_of_two_sessions_that_may_be_the_runs_none_is_taken(world: World) -> None:
    """Everything died before an id was printed, and then somebody started another session here by hand."""
    process = unanswered(world)
    process.kill()
    end_all(world.home)
    process.wait()
    (mine,) = sessions(world)
    succeeded(world.run(str(world.binary), "run", "--format", "json", stdin="MK2 by hand"))
    (other,) = sessions(world) - {mine}
    asked = len(world.requests())
    told = f"no session id: opencode printed none, and several started here during the attempt: {mine}, {other}"
    refused(world.agent("resume", "--message=MK3 and go on"), told, "--session VALUE")
    assert world.facts()["session"] == {"field": None, "value": None}
    assert len(world.requests()) == asked
    assert world.agent("resume", f"--session={mine}", "--message=MK3 and go on").status == 0
    world.carried("MK1", "MK3")
    assert world.session() == mine


@pytest.mark.one_of("end")
@pytest.mark.parametrize(
    ("number", "status"),
    [pytest.param(signal.SIGTERM, 143, id="SIGTERM"), pytest.param(signal.SIGINT, 130, id="Ctrl-C")],
)
def test_a_signal_in_a_tool_call_of_the_second_turn(world: World, number: signal.Signals, status: int) -> None:
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    session = world.session()
    process = in_a_tool_call(world, "MK2 SLOWTOOL")
    ended(world, process, number, status)
    # codex 0.65.0 was seen to take the tool's end for its result, and to finish its turn before it ended itself.
    finished = bool(world.requests()[-1].tool_results)
    assert world.facts()["status"] == ("completed" if finished else "interrupted")
    world.resume("MK3 and go on")
    world.carried("MK1", "MK2", "MK3")
    assert world.session() == session
    assert sessions(world) == {session}


@pytest.mark.one_of("end")
def test_a_time_out_in_a_tool_call(world: World) -> None:
    """Whether the time was enough to reach the tool is the machine's affair; that nothing is left is not."""
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    done = world.agent("resume", "--timeout", "8", "--message=MK2 SLOWTOOL")
    assert done.status not in (0, 128, 129)
    assert "timed_out" in done.err
    assert alive(world.home) == []
    assert world.facts()["status"] == "timed_out"
    world.resume("MK3 and go on")
    world.carried("MK1", "MK3")


@pytest.mark.engine_independent
def test_what_an_engine_leaves_running_is_named(world: World, tmp_path: Path) -> None:
    """The tool starts a daemon that nobody waits for; the engine ends well and the daemon is told of."""
    tools = tmp_path / "tools"
    tools.mkdir()
    # The slow tool's `sleep`: it returns at once, and leaves another one behind.
    script = "#!/bin/sh\n[ -e daemon ] || { setsid /bin/sleep 600 </dev/null >/dev/null 2>&1 & echo $! >daemon; }\n"
    (tools / "sleep").write_text(script)
    (tools / "sleep").chmod(0o755)
    world.home.env["PATH"] = f"{tools}:{world.home.env['PATH']}"
    (world.home.root / ".bash_profile").write_text(f"PATH={tools}:$PATH\n")  # codex may ask a login shell
    free = ("--dangerously-bypass-approvals-and-sandbox",) if world.pin.engine == "codex" else ALLOW[world.pin.engine]
    done = world.start("MK1 SLOWTOOL", *free)
    pid = int((world.repo / "daemon").read_text())
    assert [process.pid for process in alive(world.home)] == [pid]
    assert f"still running after the engine ended: process {pid} sleep" in done.err
    assert world.facts()["attempts"][0]["survivors"] == [f"{pid} sleep"]


def left_by_its_launcher(world: World) -> tuple[str, set[int]]:
    """The session of a run whose launcher was killed in a tool call, its attempt settled, and what is left at work.

    That is stopped: the tool takes half a minute, and a busy machine may need more for what is asked meanwhile.
    """
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    process = in_a_tool_call(world, "MK2 SLOWTOOL")
    (launcher,) = psutil.Process(process.pid).children()
    signal_all((child.pid for child in launcher.children(recursive=True)), signal.SIGSTOP)
    launcher.kill()
    process.communicate()
    return world.session(), {survivor.pid for survivor in alive(world.home)}


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # it ended with another one
            os.kill(pid, number)


def in_a_tool_call(world: World, message: str) -> subprocess.Popen[str]:
    """`git-agent resume`, the tool's shell running under it."""
    process = world.spawn("resume", f"--message={message}")
    until(lambda: tool_runs(world) or stopped(process), "the tool runs")
    return process


def tool_runs(world: World) -> bool:
    for found in alive(world.home):
        with suppress(psutil.Error):  # gone meanwhile
            if "slow-tool-began" in " ".join(found.cmdline()):
                return True
    return False


def in_a_reply(world: World, *words: str) -> subprocess.Popen[str]:
    """`git-agent WORDS`, the model's reply dripping in, and the session in the engine's store, where it gets there."""
    process = world.spawn(*words)
    until(lambda: any(entry.scenario == "SLOWSTREAM" for entry in world.requests()) or stopped(process), "it is asked")
    until(lambda: str(world.pin) in FIRST_REPLY_LOST or sessions(world) or stopped(process), "the session is kept")
    return process


def unanswered(world: World) -> subprocess.Popen[str]:
    """`git-agent start`, its engine trying again and again in silence to have its first prompt answered."""
    process = world.spawn("start", "-e", world.pin.engine, "--prompt=MK1 RATELIMIT")
    until(lambda: bool(world.requests() and sessions(world)) or stopped(process), "it is asked")
    return process


def stopped(process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None, process.communicate()
    return False


def ended(world: World, process: subprocess.Popen[str], number: signal.Signals, status: int) -> None:
    """The signal goes to git-agent alone, as in a terminal: the engine leads a session of its own."""
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == status, err
    assert alive(world.home) == []


def attempt_file(world: World) -> Path:
    (file,) = (world.repo / ".git" / "agent" / "runs").glob("*/attempts/0001/attempt.yaml")
    return file


def goes_on_after_the_first_reply(world: World) -> None:
    asked = len(world.requests())
    done = world.agent("resume", "--message=MK2 and go on")
    if str(world.pin) in FIRST_REPLY_LOST:
        refused(done, "cannot be resumed", f"claude {world.pin.version} saves nothing of a session")
        assert len(world.requests()) == asked
        return
    assert done.status == 0, done.err
    world.carried("MK1", "MK2")
    assert sessions(world) == {world.session()}


def nothing_starts_beside(world: World, engine: psutil.Process) -> None:
    """Neither while the engine's first process lives, nor while the one that it launched goes on without it."""
    asked = len(world.requests())
    done = world.agent("resume", "--json", "--message=MK3 and go on")
    refused(done, "still running", f"is process {engine.pid}; the git-agent that started it is gone")
    assert json.loads(done.out)["error"]["code"] == "run_live"
    if any(os.getsid(child.pid) == engine.pid for child in engine.children()):
        engine.kill()
        refused(world.agent("resume", "--message=MK3 and go on"), "still running")
    assert world.facts()["state"] == "running"
    assert len(world.requests()) == asked
    end_all(world.home)
