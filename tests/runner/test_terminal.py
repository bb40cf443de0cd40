"""Interactive runs inside a pseudo-terminal that stands for the person's."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.process.spawn import SpawnFailed
from git_agent_runner.process.terminal import run_terminal
from support.drive import BEHAVE, invocation
from support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
IMPORTS = os.pathsep.join(str(ROOT / name) for name in ("runner", "extractors", "tests"))


# A shell with job control, whose user reads that the job is stopped and types Enter to continue it.
JOB = 'set -m; "$@"; echo the job is stopped; read enter; fg %1 >/dev/null'


class Person:
    """Someone at a terminal of 40 rows and 100 columns, in which a supervisor runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.eyes, self.terminal = os.openpty()
        self.resize(40, 100)
        modes = termios.tcgetattr(self.terminal)
        modes[6][termios.VERASE] = b"\x08"
        termios.tcsetattr(self.terminal, termios.TCSANOW, modes)
        self.modes = termios.tcgetattr(self.terminal)
        self.seen = b""
        self.process: subprocess.Popen[bytes] | None = None

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.eyes, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def start(self, *words: str, shell: str = "") -> subprocess.Popen[bytes]:
        """The supervisor; with a `shell`, as what that script calls "$@"."""
        argv = [sys.executable, str(ROOT / "tests/support/drive.py"), "terminal", str(self.folder), *words]
        argv = ["sh", "-c", shell, "sh", *argv] if shell else argv
        self.process = subprocess.Popen(
            argv,
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            env=dict(os.environ) | {"PYTHONPATH": IMPORTS, "TERM": "xterm-kitty"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here
        )
        return self.process

    def see(self, text: bytes) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self.look(0.1)

    def look(self, seconds: float) -> bool:
        if not select.select([self.eyes], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.eyes, 65536)
        return True

    def type(self, keys: bytes) -> None:
        while keys:
            ready, writable, _ = select.select([self.eyes], [self.eyes], [], PATIENCE)
            if ready:
                self.look(0)
            if writable:
                keys = keys[os.write(self.eyes, keys[:512]) :]

    def outcome(self) -> dict[str, Any]:
        assert self.process
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline
            self.look(0.1)
        while self.look(0):
            pass
        assert self.process.returncode == 0, self.seen
        outcome: dict[str, Any] = json.loads((self.folder / "outcome").read_text())
        return outcome


def until_stopped(pid: int) -> None:
    deadline = time.monotonic() + 30
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    someone = Person(tmp_path)
    yield someone
    if someone.process and someone.process.poll() is None:
        someone.process.kill()
        someone.process.wait()
    os.close(someone.eyes)
    os.close(someone.terminal)


def test_the_engine_has_a_terminal_like_ours(person: Person) -> None:
    person.start("tty_facts")
    assert person.outcome()["exit_status"] == 0
    assert person.seen == b"xterm-kitty True True True True 100 40\r\nerase b'\\x08'\r\n"


def test_what_was_shown_is_recorded_privately(person: Person) -> None:
    person.start("tty_facts")
    person.outcome()
    recorded = person.folder / "pty-output"
    assert recorded.read_bytes() == person.seen
    assert stat.S_IMODE(recorded.stat().st_mode) == 0o600


def test_a_new_size_reaches_the_engine(person: Person) -> None:
    person.start("resized")
    person.see(b"ready")
    person.resize(50, 132)
    person.see(b"size 132 50")
    assert person.outcome()["exit_status"] == 0


def test_keys_pass_byte_for_byte(person: Person) -> None:
    """Ctrl-C, Ctrl-D, Ctrl-S, Ctrl-Q, escapes, invalid UTF-8, a Ctrl-Z that was pasted: all are the engine's."""
    keys = b"\x03\x04\x13\x11\x1c\r\n\x1b[A\x1b[200~paste\x1a\x1b[201~\xff\x00\x7fq"
    person.start("keys")
    person.see(b"ready")
    person.type(keys)
    assert person.outcome()["exit_status"] == 0
    assert keys.hex().encode() in person.seen


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(b"\x1a", id="byte"),
        pytest.param(b"\x1b[122;5u", id="kitty"),
        pytest.param(b"\x1b[122::122;133:1u", id="kitty, num lock"),
        pytest.param(b"\x1b[27;5;122~", id="modifyOtherKeys"),
    ],
)
def test_ctrl_z_stops_the_engine_and_us_until_fg(person: Person, key: bytes) -> None:
    """Faults G2: the engine's group is not a job of the shell's, so it froze, and only `kill -CONT` helped. One that
    was slow to see its narrower terminal saw its old size, and did not draw all of its screen again.
    """
    person.start("draws", "0.5", shell=JOB)
    person.see(b"drawn 100 40")
    person.type(b"before" + key + b"after")
    person.see(b"the job is stopped")
    assert termios.tcgetattr(person.terminal) == person.modes
    assert person.seen.index(b"\x1b[?1049l") < person.seen.index(b"the job is stopped")
    until_stopped(int(person.seen.split()[1]))
    person.seen = b""
    person.type(b"\n")
    person.see(b"drawn 99 40")  # it draws again: its size was another one for a moment
    person.see(b"drawn 100 40")
    assert b"\x1b[?1049h" in person.seen
    person.type(b"q")
    assert person.outcome()["exit_status"] == 0
    assert b"beforeafterq" in person.seen
    assert termios.tcgetattr(person.terminal) == person.modes


def test_ctrl_z_is_not_passed_on_where_no_shell_could_bring_us_back(person: Person) -> None:
    """Faults G2: a window that runs nothing but git-agent."""
    person.start("draws")
    person.see(b"drawn 100 40")
    person.type(b"\x1a")
    person.see(b"git-agent: Ctrl-Z is not passed on")
    person.type(b"q")
    assert person.outcome()["exit_status"] == 0


def test_a_stopped_job_can_be_ended(person: Person) -> None:
    """Faults G2: SIGTERM from elsewhere, with SIGCONT, as --kill sends them."""
    person.start("draws", shell=JOB)
    person.see(b"drawn 100 40")
    person.type(b"\x1a")
    person.see(b"the job is stopped")
    supervisor = psutil.Process(int(person.seen.split()[1])).parent()
    assert supervisor
    supervisor.send_signal(signal.SIGTERM)
    supervisor.resume()
    deadline = time.monotonic() + 30
    while supervisor.status() != psutil.STATUS_ZOMBIE:  # the shell has not asked yet
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert json.loads((person.folder / "outcome").read_text())["received"] == signal.SIGTERM
    assert termios.tcgetattr(person.terminal) == person.modes
    person.type(b"\n")


def test_a_long_paste_blocks_nobody(person: Person) -> None:
    person.start("paste", "300000")
    person.see(b"ready")
    person.type(b"p" * 300_000)
    person.see(b"all")
    assert person.outcome()["exit_status"] == 0


def test_the_terminal_is_as_before(person: Person) -> None:
    person.start("hang")
    person.see(b"ready")
    assert termios.tcgetattr(person.terminal) != person.modes
    person.type(b"\x03")
    assert person.outcome()["exit_status"] == 0
    assert termios.tcgetattr(person.terminal) == person.modes
    assert b"\x1b" not in person.seen  # nothing was on, so nothing is switched off


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminal_is_as_before_when_we_are_ended(person: Person, number: signal.Signals) -> None:
    process = person.start("hang", "5")
    person.see(b"ready")
    os.kill(process.pid, number)
    outcome = person.outcome()
    assert (outcome["received"], outcome["exit_status"], outcome["survivors"]) == (number, 5, [])
    assert termios.tcgetattr(person.terminal) == person.modes


@pytest.mark.parametrize("how", ["killed", "left"])
def test_the_screen_is_put_right_however_the_engine_ends(person: Person, how: str) -> None:
    """Faults G3: an engine whose worker dies leaves with a status of its own, and its screen as it was."""
    person.start("draws")
    person.see(b"drawn 100 40")
    if how == "killed":
        os.kill(int(person.seen.split()[1]), signal.SIGKILL)
    else:
        person.type(b"q")
    assert person.outcome()["exit_status"] == (-signal.SIGKILL if how == "killed" else 0)
    assert person.seen.endswith(b"\x1b[?25h\x1b[?1003l\x1b[?2004l\x1b[<1u\x1b[?1049l\x1b[0m\x1b[J")
    assert b"\x1b[?1049l" not in (person.folder / "pty-output").read_bytes()
    assert termios.tcgetattr(person.terminal) == person.modes


def test_a_terminal_that_is_gone_ends_the_engine(person: Person) -> None:
    """The window is closed: the kernel hangs up."""
    process = person.start("hang", "5")
    person.see(b"\n")
    os.close(person.terminal)
    os.close(person.eyes)
    try:
        assert process.wait(timeout=PATIENCE) == 0
    finally:
        person.eyes, person.terminal = os.openpty()
    assert json.loads((person.folder / "outcome").read_text())["exit_status"] == 5


def test_a_screen_that_nobody_reads_does_not_keep_the_engine_from_ending(person: Person) -> None:
    """Its terminal is paused, as a tmux pane in copy mode may be; the engine has much to say at its end."""
    process = person.start("full_pipe")
    person.see(b"\n")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0
    assert json.loads((person.folder / "outcome").read_text())["survivors"] == []


@pytest.mark.parametrize("missing", ["keyboard", "screen"])
def test_no_terminal_no_session(tmp_path: Path, person: Person, missing: str) -> None:
    with open(os.devnull, "r+b") as null:
        ends: dict[str, Any] = {"keyboard": person.terminal, "screen": person.terminal, missing: null.fileno()}
        with pytest.raises(UserError) as caught:
            run_terminal(invocation("hang"), {}, str(tmp_path / "pty-output"), **ends)
    assert caught.value.code == "not_a_terminal"
    assert not (tmp_path / "pty-output").exists()


@pytest.mark.parametrize(
    ("argv", "cwd", "reason"),
    [
        pytest.param(("/no/such/engine",), "/", "No such file or directory", id="missing"),
        pytest.param((os.devnull,), "/", "Permission denied", id="not executable"),
        pytest.param((sys.executable, "a\0b"), "/", "an argument or a variable holds a character", id="NUL"),
        pytest.param((sys.executable, "m" * 200_000), "/", "the arguments are too long", id="E2BIG"),
        pytest.param((sys.executable,), "/no/such/place", "there is no directory", id="no directory"),
        pytest.param(("{}/script",), "/", "the program that its first line (#!) names", id="shebang"),
    ],
)
def test_what_cannot_be_started_says_why(
    tmp_path: Path, person: Person, argv: tuple[str, ...], cwd: str, reason: str
) -> None:
    (tmp_path / "script").write_text("#!/no/such/node\n")
    (tmp_path / "script").chmod(0o755)
    words = tuple(word.format(tmp_path) if "{" in word else word for word in argv)
    with pytest.raises(SpawnFailed) as caught:
        run_terminal(
            Invocation(words, None, cwd),
            dict(os.environ),
            str(tmp_path / "pty-output"),
            keyboard=person.terminal,
            screen=person.terminal,
        )
    assert caught.value.reason.startswith(reason)
    assert termios.tcgetattr(person.terminal) == person.modes


def test_a_callback_that_fails_restores_the_terminal(tmp_path: Path, person: Person) -> None:
    def on_chunk(source: str, chunk: bytes) -> None:
        raise RuntimeError

    target = Invocation((sys.executable, BEHAVE, "hang"), None, "/")
    ends: dict[str, Any] = {"keyboard": person.terminal, "screen": person.terminal}
    with pytest.raises(RuntimeError):
        run_terminal(target, dict(os.environ), str(tmp_path / "pty-output"), on_chunk=on_chunk, **ends)
    assert termios.tcgetattr(person.terminal) == person.modes
