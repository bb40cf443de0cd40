"""`git-agent` in a process to which something happens: `faulty.py FAULT ARGUMENTS…`, the fault as JSON (faults.Fault).

It stands on the product's own named steps, and on the one system call by which the product writes files; nothing in the
environment can do the same to an installed git-agent.
"""

from __future__ import annotations

import datetime as datetimes
import errno
import json
import os
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from git_agent_fixtures.recording.processes import over
from git_agent_runner import cli, context
from git_agent_runner.core import checkpoints

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

PATIENCE = 300.0  # seconds
JUMP = -86_400.0  # seconds; backwards is the worse direction


def main() -> int:
    fault, arguments = json.loads(sys.argv[1]), sys.argv[2:]
    acts: dict[str, Callable[[], None]] = {
        "kill both": kill_both,
        "kill git-agent": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "kill engine": kill_engine,
        "jump the clock": jump,
        "remove the work tree": lambda: shutil.rmtree(fault["path"]),
    }
    if fault["do"] == "fill the disk":
        fill_the_disk(fault["nth"], fault["log"])
    else:
        happen(fault["step"], fault["nth"], fault["log"], acts[fault["do"]])
    return cli.main(arguments)


def happen(step: str, nth: int, log: str, act: Callable[[], None]) -> None:
    seen = 0

    def watcher(reached: checkpoints.Step) -> None:
        nonlocal seen
        seen += reached == step
        if reached == step and seen == nth:
            note(log, f"{step} {nth}")
            act()

    checkpoints.watcher = watcher


def fill_the_disk(nth: int, log: str) -> None:
    """From the nth write to a file on, there is no space."""
    write, seen = os.write, 0  # the one call by which files of ours get their bytes

    def full(fd: int, data: Buffer, /) -> int:
        nonlocal seen
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return write(fd, data)
        seen += 1
        if seen < nth:
            return write(fd, data)
        if seen == nth:
            os.write = write
            note(log, f"write {nth}")
            os.write = full
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    os.write = full


def note(log: str, text: str) -> None:
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def kill_both() -> None:
    kill_engine()
    os.kill(os.getpid(), signal.SIGKILL)


def kill_engine() -> None:
    """All at once: whoever is stopped first cannot react to the end of the others. A moment later they are gone."""
    tree = psutil.Process().children(recursive=True)
    for process in tree:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    tree += [late for late in psutil.Process().children(recursive=True) if late not in tree]
    for process in tree:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    until = time.monotonic() + PATIENCE
    while not all(map(over, tree)) and time.monotonic() < until:
        time.sleep(0.01)


def jump() -> None:
    """The clock that records are written by, and the one that waits are measured by, are another from now on."""
    now = time.time
    time.time = lambda: now() + JUMP

    class Shifted(datetimes.datetime):
        @classmethod
        def now(cls, tz: datetimes.tzinfo | None = None) -> Shifted:
            moved = datetimes.datetime.now(tz) + datetimes.timedelta(seconds=JUMP)
            return cls.fromisoformat(moved.isoformat())

    vars(context)["datetime"] = Shifted  # the module's own name for it


if __name__ == "__main__":
    raise SystemExit(main())
