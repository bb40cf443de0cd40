"""Does an engine that was left behind still live? A pid alone proves nothing: the kernel gives numbers out again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from git_agent_runner.core.clock import moment
from git_agent_runner.store.files.layout import handle_of

if TYPE_CHECKING:
    import psutil

    from git_agent_runner.core.model import Attempt

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_MARKER = "GIT_AGENT_HANDLE"  # in the environment of an engine and of all that it starts


def boot_id() -> str | None:
    """The name of the machine's present boot; None where the platform has none to read (macOS)."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def at_work(attempt: Attempt) -> bool:
    """Does the attempt continue: not settled, and its engine lives; or settled, and not all of it had ended by then?"""
    return lives(attempt) if attempt.ended_at is None else bool(remaining(attempt))


def remaining(attempt: Attempt) -> tuple[str, ...]:
    """The survivors of a settled attempt that are still at its work.

    What a completed turn leaves running, such as a server that it was to start, is not a more of its work.
    """
    return () if attempt.status == "completed" else living(attempt)


def living(attempt: Attempt) -> tuple[str, ...]:
    """The survivors of a settled attempt that live on, as "pid name"."""
    if not attempt.survivors or _of_another_boot(attempt):
        return ()
    return tuple(one for one in attempt.survivors if _lives_since(one, attempt))


def _lives_since(survivor: str, attempt: Attempt) -> bool:
    """Whoever has its number now, and was there already when the attempt was settled, is the same process."""
    import psutil

    try:
        process = psutil.Process(int(survivor.split(maxsplit=1)[0]))
        old = process.create_time() <= (moment(attempt.ended_at or "") or 0.0) + 1
        return old and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ValueError, IndexError, OverflowError):
        return False


def _of_another_boot(attempt: Attempt) -> bool:
    """Nothing survives a boot, and pids begin again."""
    return attempt.boot_id is not None and attempt.boot_id != boot_id()


def lives(attempt: Attempt) -> bool:
    """Does anything live in the session of the attempt's engine? Its launcher may be gone already.

    A tool's daemon, which sits in its own session, does not count.
    """
    pid = attempt.pid
    if pid is None or attempt.process_started is None or _of_another_boot(attempt):
        return False
    import psutil  # costs 15 ms, and only a run that was left behind needs it

    try:
        process = psutil.Process(pid)
        if not _is_same(process, attempt):
            return False  # used again, which the kernel does to no number that a living session still has
        if _lives_in(process, pid):
            return True
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
