"""On a terminal: sessions that are opened in it, and what is shown of a headless one."""

from __future__ import annotations

import signal
import termios
from pathlib import Path

import pytest

from support.terminal import Person


@pytest.mark.parametrize("engine", ["codex", "claude", "opencode", "qwen", "copilot"])
def test_a_session_is_opened_recorded_and_left(person: Person, engine: str) -> None:
    cli = person.cli
    process = person.start("start", "-i", "-e", engine)
    person.look("ready")
    person.type("\r")
    assert person.wait(process) == 0
    record, attempt = cli.record(), cli.attempt()
    kept = Path(cli.layout.attempt(record.run_id, 1))
    assert [path.name for path in sorted(kept.iterdir())] == ["attempt.yaml", "pty-output"]
    assert (attempt.interactive, attempt.message, record.status) == (True, None, "completed")
    assert record.session.value
    assert record.session.value in (kept / "pty-output").read_text()
    assert termios.tcgetattr(person.terminal) == person.modes
    assert "handle    " in person.seen
    assert cli.calls()[0]["stdin_kind"] == "tty"


@pytest.mark.parametrize("words", [[], ["{handle}"], ["-i"], ["--handle", "{handle}"]])
def test_without_a_message_the_session_opens(person: Person, words: list[str]) -> None:
    begun = person.cli.begin("codex", "--", "--model", "m")
    process = person.start("resume", *(word.format(handle=begun.handle) for word in words))
    person.look("ready")
    person.type("\r")
    assert person.wait(process) == 0
    argv = person.cli.calls()[-1]["argv"]
    assert argv == ["resume", "--no-daemon", "--model", "m", begun.session.value]
    assert (person.cli.attempt(2).resumed, person.cli.record().attempts) == ("yes", 2)


def test_dry_run_of_the_same(person: Person) -> None:
    begun = person.cli.begin("codex")
    assert person.wait(person.start("resume", "-n")) == 0
    assert person.seen.endswith(f"/codex resume --no-daemon {begun.session.value}\r\n")


def test_the_picker(person: Person) -> None:
    """Whatever session the person picks there is the run's from then on."""
    person.cli.begin("codex", FAKE_ID="none")
    process = person.start("resume", "--fallback", "picker")
    person.look("ready")
    person.type("\r")
    assert person.wait(process) == 0
    assert person.cli.calls()[-1]["argv"] == ["resume", "--no-daemon"]
    assert person.cli.record().session.value == "01a21f23-5ab8-7ef1-9437-807dbdda8fbf"


def test_a_message_runs_headless_and_is_shown_as_words(person: Person) -> None:
    process = person.start("start", "-e", "gemini", "x")
    assert person.wait(process) == 0
    shown = person.seen.split("handle    ")[0].replace("\r\n", "\n")
    assert "ok\n" in shown
    assert '"type"' not in shown
    assert person.cli.calls()[0]["stdin_kind"] == "file"


def test_raw_shows_the_engines_own_bytes(person: Person) -> None:
    process = person.start("start", "--raw", "-e", "gemini", "x")
    assert person.wait(process) == 0
    assert '{"type":"init",' in person.seen


def test_what_the_agent_says_does_not_move_the_cursor(person: Person, tmp_path: Path) -> None:
    path = tmp_path / "out"
    said = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"a\\u001b[2Jb\\u009bc"}}\n'
    path.write_text('{"type":"thread.started","thread_id":"01a21f23-5ab8-7ef1-9437-807dbdda8fbf"}\n' + said)
    person.wait(person.start("start", "-e", "codex", "x", FAKE_OUT=str(path)))
    assert "a^[[2Jb\\x9bc" in person.seen
    assert not {"\x1b", "\x9b"} & set(person.seen)


def test_a_terminal_that_is_closed(person: Person) -> None:
    """The engine is ended, and what it did is recorded."""
    process = person.start("start", "-i", "-e", "claude", FAKE_EXIT="0")
    person.look("ready")
    process.send_signal(signal.SIGHUP)
    assert person.wait(process) == 129
    assert person.cli.record().status == "interrupted"


def test_many_runs_are_a_bar_and_a_line_for_each(person: Person) -> None:
    """How far they have come is seen on a terminal, and each that has ended is left on the screen."""
    handle = person.cli.begin(FAKE_CMD="kill -9 $PPID").handle
    gate = person.cli.home / "gate"
    done = person.start("resume", "--all", "go on", FAKE_CMD=f'until [ -e "{gate}" ]; do sleep 0.1; done')
    person.look(until="0/1")
    person.look(until=f"{handle} main (codex)")
    gate.touch()
    assert person.wait(done) == 0
    assert f"{handle} main (codex): completed" in person.seen
    assert f"{handle}  main    codex   completed, attempt 2" in person.seen
