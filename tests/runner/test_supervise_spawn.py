"""Headless runs of real processes: what reaches the engine, what reaches the disk, and when it is over."""

from __future__ import annotations

import json
import os
import resource
import stat
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.process.lifetime import Outcome
from git_agent_runner.process.spawn import SpawnFailed, run_headless
from support.drive import files, invocation

ENGINES = Path(__file__).parents[1] / "support" / "engines"


def run(folder: Path, *words: str, stdin: bytes | None = None, **limits: Any) -> Outcome:
    env = dict(os.environ) | {"GIT_AGENT_HANDLE": "7f3a9c21", "GIT_AGENT_RUN_DIR": str(folder)}
    return run_headless(invocation(*words, stdin=stdin), env, files(folder), **limits)


def test_bytes_land_in_private_files(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        outcome = run(tmp_path, "flood", "5000000")
    finally:
        os.umask(old)
    assert outcome.exit_status == 0
    assert (tmp_path / "stdout").read_bytes() == b"x" * 5_000_000
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("stdout", "stderr")] == [0o600, 0o600]


def test_chunks_are_the_file_and_come_after_it(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def on_chunk(source: str, chunk: bytes) -> None:
        seen.append(chunk)
        assert source == "stdout"
        assert (tmp_path / "stdout").stat().st_size == sum(map(len, seen))

    run(tmp_path, "flood", "5000000", on_chunk=on_chunk)
    assert b"".join(seen) == (tmp_path / "stdout").read_bytes()


def test_the_pid_is_told_with_its_start(tmp_path: Path) -> None:
    told: list[tuple[int, float]] = []
    before = time.time()
    printed = tmp_path / "stdout"
    run(tmp_path, "hang", on_spawn=lambda *one: told.append(one), cancel=lambda: printed.stat().st_size > 0)
    [(pid, created)] = told
    assert printed.read_text() == f"ready {pid}\n"
    assert before - 2 <= created <= time.time() + 2


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"--fix \x1b[31m $(id)\n", id="hostile"),
        pytest.param(b"m" * 200_000, id="more than an argument may hold (pitfall 13)"),
        pytest.param(b"m" * 3_000_000, id="more than a pipe holds, echoed while it is written"),
    ],
)
def test_the_message_arrives_whole_and_ends(tmp_path: Path, message: bytes) -> None:
    outcome = run(tmp_path, "echo", stdin=message)
    assert outcome.exit_status == 0
    assert (tmp_path / "stdout").read_bytes() == message


def test_a_message_that_has_no_room_is_not_sent_in_part(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(SpawnFailed, match="its message cannot be put into a temporary file: File too large"):
            run(tmp_path, "echo", stdin=b"go on")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_engine_that_does_not_read_its_message_is_not_our_failure(tmp_path: Path) -> None:
    outcome = run(tmp_path, "careless", stdin=b"m" * 3_000_000)
    assert outcome.exit_status == 0
    assert (tmp_path / "stdout").read_text() == "not interested\n"


@pytest.mark.parametrize(
    ("stdin", "kind"), [pytest.param(None, "null", id="none"), pytest.param(b"go on", "file", id="message")]
)
def test_stdin_is_never_ours(tmp_path: Path, stdin: bytes | None, kind: str) -> None:
    """C10 and pitfalls 7 and 1: an inherited open pipe makes every engine wait for ever."""
    reader, writer = os.pipe()
    saved = os.dup(0)
    os.dup2(reader, 0)
    log = tmp_path / "log"
    try:
        env = dict(os.environ) | {"FAKE_LOG": str(log)}
        run_headless(Invocation((str(ENGINES / "codex"),), stdin, str(tmp_path)), env, files(tmp_path))
    finally:
        os.dup2(saved, 0)
        for fd in (reader, writer, saved):
            os.close(fd)
    logged = json.loads(log.read_text())
    assert (logged["stdin_kind"], logged["stdin"]) == (kind, (stdin or b"").decode())


def test_the_environment_and_the_directory_are_those_given(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ), os.getcwd())"
    target = Invocation((sys.executable, "-c", code), None, str(tmp_path))
    run_headless(target, {"ONLY": "this", "LC_ALL": "C.UTF-8"}, files(tmp_path))
    assert (tmp_path / "stdout").read_text() == f"['LC_ALL', 'ONLY'] {tmp_path}\n"


def test_an_engine_leads_a_session_of_its_own(tmp_path: Path) -> None:
    code = "import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())"
    run_headless(Invocation((sys.executable, "-c", code), None, "/"), dict(os.environ), files(tmp_path))
    assert (tmp_path / "stdout").read_text() == "True\n"


def make(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        pytest.param(None, 0, "No such file or directory", id="missing"),
        pytest.param(
            "#!/no/such/node\n", 0o755, "the program that its first line (#!) names does not exist", id="shebang"
        ),
        pytest.param("#!/bin/sh\n", 0o644, "Permission denied", id="not executable"),
        pytest.param("just text\n", 0o755, "it is not a program of this system", id="no program"),
    ],
)
def test_what_cannot_be_started_says_why(tmp_path: Path, text: str | None, mode: int, reason: str) -> None:
    program = str(tmp_path / "engine") if text is None else make(tmp_path / "engine", text, mode)
    with pytest.raises(SpawnFailed) as caught:
        run_headless(Invocation((program,), None, "/"), {}, files(tmp_path))
    assert caught.value.message.startswith(f"cannot start {program}: {reason}")
    assert caught.value.code == "spawn_failed"


@pytest.mark.parametrize(
    ("words", "cwd", "reason"),
    [
        pytest.param(("m" * 200_000,), "/", "the arguments are too long (20", id="E2BIG (pitfall 12)"),
        pytest.param(("a\0b",), "/", "an argument or a variable holds a character", id="NUL"),
        pytest.param((), "/no/such/place", "there is no directory /no/such/place", id="no directory"),
    ],
)
def test_arguments_that_no_program_can_be_given(tmp_path: Path, words: tuple[str, ...], cwd: str, reason: str) -> None:
    with pytest.raises(SpawnFailed) as caught:
        run_headless(Invocation((sys.executable, *words), None, cwd), {}, files(tmp_path))
    assert caught.value.reason.startswith(reason)


def test_an_earlier_attempt_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("precious")
    with pytest.raises(UserError) as caught:
        run(tmp_path, "echo")
    assert (tmp_path / "stdout").read_text() == "precious"
    assert caught.value.message == f"cannot create {tmp_path}/stdout: File exists"


def test_a_full_disk_does_not_stop_the_engine(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        outcome = run(tmp_path, "flood", "5000000")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert outcome.exit_status == 0
    assert outcome.write_error == f"cannot write {tmp_path}/stdout: File too large"
    assert (tmp_path / "stdout").read_bytes() == b"x" * 1_000_000


def test_output_closed_early_is_not_the_end(tmp_path: Path) -> None:
    """Pitfall 29: claude works on to the end."""
    outcome = run(tmp_path, "half_closed", "0.3")
    assert outcome.exit_status == 7


def test_what_an_engine_leaves_running_is_named_and_lives_on(tmp_path: Path) -> None:
    outcome = run(tmp_path, "daemon")
    child = psutil.Process(int((tmp_path / "stdout").read_text().split()[1]))
    try:
        assert outcome.survivors == (f"{child.pid} {child.name()}",)
        assert (outcome.exit_status, outcome.signals) == (0, ())
        assert child.status() != psutil.STATUS_ZOMBIE
    finally:
        child.kill()


def test_a_child_that_writes_for_ever_does_not_keep_us(tmp_path: Path) -> None:
    outcome = run(tmp_path, "chatterbox")
    assert outcome.exit_status == 0
    assert len(outcome.survivors) == 1


def test_silence_is_told_once_each_time(tmp_path: Path) -> None:
    told: list[float] = []
    outcome = run(tmp_path, "quiet", "0.6", stall_after=0.2, on_stall=told.append)
    assert outcome.exit_status == 0
    assert (tmp_path / "stdout").read_text() == "before\nafter\n"
    assert len([seconds for seconds in told if seconds >= 0.2]) == len(told) <= 3
    assert told


def test_time_out_ends_it(tmp_path: Path) -> None:
    outcome = run(tmp_path, "hang", timeout=3.0)
    assert (outcome.exit_status, outcome.timed_out, outcome.interrupted) == (0, True, False)
    assert outcome.signals == ("SIGINT",)
    assert outcome.survivors == ()


def test_cancelling_ends_it(tmp_path: Path) -> None:
    outcome = run(tmp_path, "hang", "3", cancel=lambda: (tmp_path / "stdout").stat().st_size > 0)
    assert (outcome.exit_status, outcome.timed_out, outcome.interrupted) == (3, False, True)
    assert outcome.received is None


def test_output_is_read_while_the_engine_ends(tmp_path: Path) -> None:
    """An engine that has more to say than its pipe holds could not end otherwise."""
    outcome = run(tmp_path, "full_pipe", cancel=lambda: (tmp_path / "stdout").stat().st_size > 0)
    assert outcome.signals == ("SIGINT",)
    assert (tmp_path / "stdout").stat().st_size >= 3_000_000


def test_a_callback_that_fails_leaves_nothing_running(tmp_path: Path) -> None:
    pids: list[int] = []

    def on_chunk(source: str, chunk: bytes) -> None:
        pids.append(int(chunk.split()[1]))
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run(tmp_path, "launcher", "deaf", "SIGINT", "SIGTERM", on_chunk=on_chunk)
    assert not psutil.pid_exists(pids[0]) or psutil.Process(pids[0]).status() == psutil.STATUS_ZOMBIE
