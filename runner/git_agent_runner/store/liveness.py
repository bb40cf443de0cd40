"""Does an engine that was left behind still live? A pid alone proves nothing: the kernel gives numbers out again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from git_agent_runner.store.layout import handle_of

if TYPE_CHECKING:
    import psutil

    from git_agent_runner.model import Attempt

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_MARKER = "GIT_AGENT_HANDLE"  # in the environment of an engine and of all that it starts


def boot_id() -> str | None:
    """The name of the machine's present boot; None where the platform has none to read (macOS)."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def lives(attempt: Attempt) -> bool:
    """Does anything live in the session of the attempt's engine? Its launcher may be gone already.

    A tool's daemon, which sits in a session of its own, does not count.
    """
    pid = attempt.pid
    if pid is None or attempt.process_started is None:
        return False
    if attempt.boot_id is not None and attempt.boot_id != boot_id():
        return False  # nothing survives a boot, and pids begin anew
    import psutil  # costs 15 ms, and only a run that was left behind needs it

    try:
        if not _is_same(psutil.Process(pid), attempt):
            return False  # used again, which the kernel does to no number that a living session still has
    except psutil.Error:
        pass  # gone, but perhaps not alone
    return any(_lives_in(process, pid) for process in psutil.process_iter())


def started_then(process: psutil.Process, started: float) -> bool:
    return abs(process.create_time() - started) <= 1


def _is_same(process: psutil.Process, attempt: Attempt) -> bool:
    """Start times are computed from the clock: one that was set since moves them. What is inherited stays."""
    import psutil

    if started_then(process, attempt.process_started or 0.0):
        return True
    try:
        return process.environ().get(_MARKER) == handle_of(attempt.run_id)
    except psutil.AccessDenied:
        return False  # another user's


def _lives_in(process: psutil.Process, session: int) -> bool:
    import psutil

    try:
        mine = session in (process.pid, os.getsid(process.pid))
        return mine and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False
