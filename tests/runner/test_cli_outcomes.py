"""What an attempt came to is read from the engine, never from exit 0 and some words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner.engines import MODULES
from git_agent_runner.store.files import liveness
from support import schemas
from support.cli import Cli
from support.terminal import Person
from support.waiting import until

SHIM = "no version is set for this program; run: asdf install"


@pytest.mark.parametrize("engine", MODULES)
def test_a_wrapper_that_says_something_and_exits_0_has_done_nothing(cli: Cli, engine: str) -> None:
    """Faults B1: `start` called it completed, and stored the id that was minted for a session that never was."""
    done = cli.run("start", "-e", engine, "--json", "x", FAKE_WORDS=SHIM)
    told = done.json
    assert (done.status, told["status"], told["exitFrom"], told["engineExit"]) == (1, "no_output", "verdict", 0)
    assert (told["session"]["value"], cli.record().session.value) == (None, None)
    cli.begin(engine)
    handle = cli.pointers()["main"]
    session = cli.record(handle).session
    again = cli.run("resume", "--json", "y", FAKE_WORDS=SHIM)
    assert (again.status, again.json["status"], again.json["exitFrom"]) == (1, "no_output", "verdict")
    assert cli.record(handle).session == session
    assert [cli.attempt(number, handle).session_from for number in (1, 2)] == ["stdout", "record"]


@pytest.mark.parametrize("engine", ["codex", "claude", "gemini", "opencode", "qwen", "copilot"])
def test_an_interface_that_was_opened_and_left_takes_no_session_away(person: Person, engine: str) -> None:
    """Faults A6: the branch's pointer moved to a run whose session never existed, and stayed there."""
    cli = person.cli
    begun = cli.begin(engine)
    process = person.start("start", "-i", "-e", engine, FAKE_WORDS="Welcome!")
    assert person.wait(process) == 1
    (empty,) = {path.stem for path in Path(cli.layout.index_dir).glob("*.yaml")} - {begun.handle}
    assert (cli.record(empty).status, cli.record(empty).session.value) == ("no_output", None)
    assert f"resume    no: {engine} has no session for it; this branch continues with run {begun.handle}" in person.seen
    assert cli.pointers() == {"main": begun.handle}
    cli.ok("resume", "go on")
    assert (cli.record(begun.handle).attempts, cli.attempt(2, begun.handle).resumed) == (2, "yes")
    problems = cli.run("doctor", "--json").json["problems"]
    assert [problem for problem in problems if empty in problem["problem"]] == []


@pytest.mark.parametrize("word", ["start", "resume"])
def test_the_object_of_an_interface_is_the_last_line(person: Person, word: str) -> None:
    """Faults F6: the interface is on the same standard output."""
    if word == "resume":
        person.cli.begin("codex")
    words = (word, "-i", *(("-e", "codex") if word == "start" else ()), "--json", "hello")
    person.wait(person.start(*words, FAKE_WORDS="Welcome!"))
    last = person.seen.rstrip().splitlines()[-1]
    schemas.check(words, last)
    assert json.loads(last)["kind"] == word


def test_a_start_that_failed_takes_no_session_away(cli: Cli) -> None:
    """Faults A6: headless, too."""
    begun = cli.begin("claude")
    done = cli.run("start", "-e", "codex", "x", FAKE_ID="none", FAKE_EXIT="1")
    assert done.status == 1
    assert cli.pointers() == {"main": begun.handle}


def test_an_interface_that_our_signal_ended_is_not_completed(person: Person) -> None:
    """Faults G1: its time was up in the middle of a turn, and exit 0 made it completed."""
    person.cli.begin("codex")
    process = person.start("resume", "-i", "--timeout", "2")
    assert person.wait(process) == 1
    assert person.cli.record().status == "timed_out"
    assert "exit 1 (--timeout; engine: " in person.seen
    listed = person.cli.ok("resume", "--all", "-n", "--json").json
    assert [run["handle"] for run in listed["resumed"]] == [person.cli.record().handle]


@pytest.mark.parametrize("engine", ["codex", "claude", "gemini", "opencode", "qwen", "copilot"])
def test_an_interface_is_completed_where_its_session_ends_with_a_turn(person: Person, engine: str) -> None:
    """Faults G1, B4: it exits with 0 in the middle of a turn, too, and draws no words that `log` could read."""
    cli = person.cli
    for keys, status in (("\x03", "interrupted"), ("\r", "completed")):
        process = person.start(*(("resume", "-i") if cli.pointers() else ("start", "-i", "-e", engine)))
        person.look("ready")
        person.seen = ""
        person.type(keys)
        assert person.wait(process) == (status != "completed")
        assert cli.record().status == status
    assert cli.attempt().exit_status == 0
    second = cli.ok("log").out.split("\nattempt 2 ")[1]
    assert second.splitlines()[1:3] == ["> hello", "ok"]
    told = [json.loads(line) for line in cli.ok("log", "--json", "--attempt", "2").out.splitlines()]
    assert [one["data"]["role"] for one in told if one["kind"] == "message"] == ["user", "assistant"]


def test_a_run_without_a_session_hides_no_other_where_there_is_no_pointer(cli: Cli) -> None:
    """Faults A6: by note, by record, and in a work tree without a branch."""
    begun = cli.begin("codex")
    cli.run("start", "-e", "codex", "x", FAKE_ID="none")
    cli.repo.git("config", "--unset", "branch.main.agentHandle")
    assert cli.ok("status", "--json").json["handle"] == begun.handle
    cli.repo.git("update-ref", "-d", "refs/notes/agent")
    assert cli.ok("status", "--json").json["handle"] == begun.handle
    cli.repo.git("switch", "-q", "--detach")
    own = cli.run("start", "-e", "codex", "--json", "y").json["handle"]
    cli.run("start", "-e", "codex", "z", FAKE_ID="none")
    assert cli.ok("status", "--json").json["handle"] == own


DELETED = {"gemini": ".gemini/tmp", "codex": ".codex/sessions"}


@pytest.mark.parametrize("engine", DELETED)
def test_a_session_that_its_engine_deletes_on_leaving_was_copied_while_it_lived(person: Person, engine: str) -> None:
    """Faults G6: gemini deletes the chat of a first turn that was interrupted. codex prints no id before it is left."""
    cli = person.cli
    drawing = f"until ls {cli.layout.runs_dir}/*/session/*/manifest.json; do echo drawing; sleep 0.1; done 2>/dev/null"
    words = ("start", "-i", "-e", engine)
    process = person.start(*words, FAKE_CMD=drawing, FAKE_END=f"rm -r '{cli.home}/{DELETED[engine]}'")
    person.look("manifest.json")
    running = cli.record()
    named = cli.ok("status").out.splitlines()[0]
    assert str(running.session.value or cli.attempt().candidates[0]) in named  # faults G9
    person.type("\r")
    assert person.wait(process) == 1
    assert (cli.record().session.value is None, cli.attempt().candidates) == (False, ())
    assert 'resume    git agent resume "<message>"' in person.seen
    done = cli.ok("resume", "go on")
    assert "restored" in done.err
    assert cli.attempt(2).resumed == "yes"


def test_a_terminal_that_was_left_raw_is_named(person: Person) -> None:
    """Faults G9: git-agent was killed with SIGKILL, and the shell shows nothing of what is typed."""
    cli = person.cli
    cli.begin("codex")
    process = person.start("resume", "-i")
    person.look("ready")
    process.kill()
    process.wait()
    attempt = cli.attempt(2)
    until(lambda: not liveness.lives(attempt), f"the engine ends, whose terminal is gone: process {attempt.pid}")
    assert cli.ok("status", "--json").json["state"] == "dead"
    assert "hint: if its terminal does not show what you type, run there: reset" in cli.ok("resume", "x").lines
