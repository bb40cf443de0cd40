"""Signals to a supervisor: the engine hears Ctrl-C once, its whole tree ends, our handlers are restored."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from git_agent_runner.process.signals import ENDING, caught
from support.waiting import PATIENCE, until

DRIVE = Path(__file__).parents[1] / "support" / "drive.py"
ROOT = Path(__file__).parents[2]
IMPORTS = os.pathsep.join(str(ROOT / name) for name in ("runner", "extractors", "tests"))


def drive(folder: Path, *words: str, how: str = "headless") -> subprocess.Popen[bytes]:
    """A supervisor whose engine has printed its first line."""
    argv = [sys.executable, str(DRIVE), how, str(folder), *words]
    process = subprocess.Popen(argv, env=dict(os.environ) | {"PYTHONPATH": IMPORTS})
    until(lambda: b"\n" in read(folder), "the first line")
    return process


def read(folder: Path) -> bytes:
    path = folder / "stdout"
    return path.read_bytes() if path.exists() else b""


def pid(folder: Path) -> int:
    return int(read(folder).split()[1])


def finish(process: subprocess.Popen[bytes], folder: Path) -> dict[str, Any]:
    assert process.wait(timeout=PATIENCE) == 0
    outcome: dict[str, Any] = json.loads((folder / "outcome").read_text())
    return outcome


def gone(number: int) -> bool:
    try:
        return psutil.Process(number).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_ctrl_c_reaches_the_engine_once(tmp_path: Path) -> None:
    process = drive(tmp_path, "deaf", "SIGINT")
    process.send_signal(signal.SIGINT)
    until(lambda: b"SIGINT" in read(tmp_path), "the signal arrives")
    process.send_signal(signal.SIGINT)  # the second asks to end it
    outcome = finish(process, tmp_path)
    assert read(tmp_path).count(b"SIGINT") == 1
    assert (outcome["exit_status"], outcome["signals"]) == (-signal.SIGTERM, ["SIGINT", "SIGTERM"])
    assert (outcome["received"], outcome["interrupted"]) == (signal.SIGINT, True)


def test_an_engine_that_obeys_is_not_hit_again(tmp_path: Path) -> None:
    process = drive(tmp_path, "hang", "0")
    process.send_signal(signal.SIGINT)
    outcome = finish(process, tmp_path)
    assert (outcome["exit_status"], outcome["signals"]) == (0, ["SIGINT"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_ended_ends_the_engine(tmp_path: Path, number: signal.Signals) -> None:
    process = drive(tmp_path, "hang", "0")
    process.send_signal(number)
    outcome = finish(process, tmp_path)
    assert (outcome["received"], outcome["survivors"]) == (number, [])
    assert gone(pid(tmp_path))


@pytest.mark.parametrize("start", [pytest.param("launcher", id="launcher waits"), pytest.param("shim", id="shim left")])
def test_the_real_engine_ends_though_the_direct_child_is_gone(tmp_path: Path, start: str) -> None:
    """D11, pitfalls 14 and 13: in a session of its own and deaf to everything but SIGKILL."""
    process = drive(tmp_path, "launcher", start, "deaf", "SIGINT", "SIGTERM")
    process.send_signal(signal.SIGTERM)
    outcome = finish(process, tmp_path)
    assert outcome["signals"][-1] == "SIGKILL"
    assert gone(pid(tmp_path))


def test_ignored_signals_stay_ignored(tmp_path: Path) -> None:
    """nohup, and a script's background job."""
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with caught(ENDING):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) is not old
    finally:
        signal.signal(signal.SIGHUP, old)


def test_an_ignored_interrupt_has_no_effect_on_us() -> None:
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with caught(ENDING) as inbox:
            os.kill(os.getpid(), signal.SIGINT)
            inbox.collect()
            assert inbox.take() == ()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, old)


_LOOK = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
_BACKGROUND = f"""
import os, signal, sys
from git_agent_runner.engines.spec import Invocation
from git_agent_runner.process.spawn import run_headless
from support.drive import files
from support.waiting import PATIENCE, until
signal.signal(signal.SIGINT, signal.SIG_IGN)
run_headless(Invocation((sys.executable, "-c", {_LOOK!r}), None, "/"), dict(os.environ), files(sys.argv[1]))
"""


def test_an_engine_of_a_background_job_hears_an_interrupt(tmp_path: Path) -> None:
    """A shell's `&` leaves SIGINT ignored, and we end engines by it."""
    argv = [sys.executable, "-c", _BACKGROUND, str(tmp_path)]
    subprocess.run(argv, check=True, env=dict(os.environ) | {"PYTHONPATH": IMPORTS})
    assert read(tmp_path) == b"False\n"


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (*ENDING, signal.SIGCHLD)]
    with caught(ENDING) as inbox:
        os.kill(os.getpid(), signal.SIGTERM)
        inbox.collect()
        assert inbox.take() == (signal.SIGTERM,)
        assert inbox.take() == ()
    assert [signal.getsignal(number) for number in (*ENDING, signal.SIGCHLD)] == before


def test_an_ignored_sigchld_does_not_lose_the_exit_status(tmp_path: Path) -> None:
    code = "import signal,sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    code += "from support.drive import main; main(*sys.argv[1:])"
    argv = [sys.executable, "-c", code, "headless", str(tmp_path), "half_closed", "0"]
    subprocess.run(argv, check=True, env=dict(os.environ) | {"PYTHONPATH": IMPORTS})
    assert json.loads((tmp_path / "outcome").read_text())["exit_status"] == 7


def test_the_message_is_whole_though_we_are_killed_before_it_is_read(tmp_path: Path) -> None:
    """Faults A19: a pipe that we fed held the first MiB, and the engine worked on that."""
    message = os.urandom(3_000_000)
    (tmp_path / "message").write_bytes(message)
    process = drive(tmp_path, "late", str(tmp_path), how="fed")
    process.kill()
    process.wait()
    (tmp_path / "gate").touch()
    until((tmp_path / "got").exists, "the message is read")
    assert (tmp_path / "got").read_bytes() == message


def test_nobody_else_can_read_the_message(tmp_path: Path) -> None:
    """Faults A19: it is a file, of ours alone, that has no name."""
    (tmp_path / "message").write_bytes(b"a secret")
    process = drive(tmp_path, "hang", how="fed")
    facts = os.stat(f"/proc/{pid(tmp_path)}/fd/0") if sys.platform == "linux" else None
    process.send_signal(signal.SIGINT)
    finish(process, tmp_path)
    assert facts is None or (stat.S_IMODE(facts.st_mode), facts.st_nlink) == (0o600, 0)
