"""Bytes between pipes and files, in bounded memory."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.process.capture import PIPE, Pump, Sink

ROOT = Path(__file__).parents[2]


def test_both_streams_are_read_as_they_come(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []
    pipes = {"stdout": os.pipe(), "stderr": os.pipe()}
    with closing(Pump()) as pump, closing(Sink(str(tmp_path / "both"))) as sink:
        pump.read(pipes["stdout"][0], sink.write, "stdout", lambda *chunk: seen.append(chunk))
        pump.read(pipes["stderr"][0], sink.write, "stderr", lambda *chunk: seen.append(chunk))
        for source, data in (("stderr", b"one"), ("stdout", b"two"), ("stderr", b"three")):
            os.write(pipes[source][1], data)
            assert pump.step(5)
        for _, writer in pipes.values():
            os.close(writer)
        while pump.reading:
            assert pump.step(5)
    assert seen == [("stderr", b"one"), ("stdout", b"two"), ("stderr", b"three")]
    assert (tmp_path / "both").read_bytes() == b"onetwothree"


def test_nothing_happens_in_time(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with closing(Pump()) as pump:
        pump.read(reader, lambda _: None, "stdout", None)
        assert pump.step(0.01) is False
        assert pump.reading
    os.close(writer)


def test_draining_takes_what_is_there_and_no_more(tmp_path: Path) -> None:
    """The pipe is full, its writer lives on."""
    reader, writer = os.pipe()
    kept = bytearray()
    with closing(Pump()) as pump:
        pump.read(reader, kept.extend, "stdout", None)
        os.set_blocking(writer, False)
        filled = os.write(writer, bytes(2 * PIPE))
        pump.drain()
        assert pump.reading
    os.close(writer)
    assert len(kept) == filled > 0


def test_pipes_are_made_wide() -> None:
    """As wide as the system grants one: a user who has many wide pipes gets no more."""
    reader, writer = os.pipe()
    fds = other, theirs = os.pipe()
    with suppress(OSError):
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, PIPE)
    with closing(Pump()) as pump:
        pump.read(reader, lambda _: None, "stdout", None)
        assert fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ) == fcntl.fcntl(other, fcntl.F_GETPIPE_SZ)
    for fd in (writer, *fds):
        os.close(fd)


def test_closing_closes_what_it_was_given() -> None:
    reader, writer = os.pipe()
    with closing(Pump()) as pump:
        pump.read(reader, lambda _: None, "stdout", None)
    os.close(writer)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "stdout").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"cannot create .*: File exists"):
        Sink(str(tmp_path / "stdout"))
    assert not (tmp_path / "elsewhere").exists()


def test_a_line_of_a_hundred_megabytes_needs_little_memory(tmp_path: Path) -> None:
    code = """
import re, sys
from support.drive import files, invocation
from git_agent_runner.process.spawn import run_headless
run_headless(invocation("flood", "100000000"), {}, files(sys.argv[1]), on_chunk=lambda source, chunk: None)
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])  # ru_maxrss counts what forked us
"""
    paths = os.pathsep.join(str(ROOT / name) for name in ("runner", "extractors", "tests"))
    argv = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(argv, env={"PYTHONPATH": paths}, capture_output=True, text=True, check=True)
    assert (tmp_path / "stdout").stat().st_size == 100_000_000
    assert int(ran.stdout) < 40 * 1024
    (tmp_path / "stdout").unlink()
