"""Who holds a lock that is held long, and the lock of a session: one writer, whatever run and work tree it is in."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, NamedTuple

from git_agent_runner.errors import UserError
from git_agent_runner.model import Record
from git_agent_runner.store import attempts
from git_agent_runner.store.layout import Layout
from git_agent_runner.store.liveness import lives
from git_agent_runner.store.locks import Lock, is_locked, try_lock, written

_LIMIT = 16 * 1024  # bytes of a signature; a path may be 4096 long, and JSON writes some characters as six


class Holder(NamedTuple):
    """A git-agent at work on a run. `process_started` is in seconds since the epoch, `since` a record's time."""

    handle: str
    run_id: str
    pid: int
    process_started: float
    worktree: str
    since: str


def ourselves(record: Record, since: str) -> Holder:
    import psutil  # the supervisor needs it in any case

    started = psutil.Process().create_time()
    return Holder(record.handle, record.run_id, os.getpid(), started, record.worktree, since)


def sign(lock: Lock, holder: Holder) -> None:
    """Write into the lock's file who holds it. Not worth failing for: then it is held by somebody unnamed."""
    with suppress(OSError):
        os.ftruncate(lock.fd, 0)
        os.pwrite(lock.fd, json.dumps(holder._asdict()).encode(), 0)


def signed(path: str) -> Holder | None:
    """Who signed the lock last, which says nothing of whether it is held."""
    try:
        found = json.loads(written(path, _LIMIT))
        return Holder(
            str(found["handle"]),
            str(found["run_id"]),
            _pid(found["pid"]),
            float(found["process_started"]),
            str(found["worktree"]),
            str(found["since"]),
        )
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None


def _pid(value: Any) -> int:
    """Raises ValueError for what no process has: to signal 0 or less would reach many."""
    if type(value) is int and value > 0:
        return value
    raise ValueError(value)


def hold_session(layout: Layout, holder: Holder, engine: str, session: str) -> Lock:
    """The session's lock. Raises UserError `session_held`, which names who has it, and `lock_failed`."""
    path = layout.session_lock(engine, session)
    lock = try_lock(path)
    if lock is None:
        raise _held(session, _holder(signed(path)), holder.handle)
    if left := _left_behind(layout, path, holder.handle):
        lock.release()
        raise _held(session, left, holder.handle)
    sign(lock, holder)
    return lock


def refuse_held(layout: Layout, handle: str, engine: str, session: str) -> None:
    """Raises UserError `session_held` where run `handle` could not have the session's lock now."""
    path = layout.session_lock(engine, session)
    who = _holder(signed(path)) if is_locked(path) else _left_behind(layout, path, handle)
    if who:
        raise _held(session, who, handle)


def _holder(holder: Holder | None) -> str:
    if holder is None:
        return "another git-agent"
    return f"run {holder.handle} (git-agent is process {holder.pid}, in {holder.worktree}, since {holder.since})"


def _left_behind(layout: Layout, path: str, handle: str) -> str | None:
    """The last holder, when its git-agent was killed and its engine works on. A run's own state tells of its own."""
    last = signed(path)
    if last is None or last.handle == handle:
        return None
    with suppress(UserError):  # a file that says nonsense names nobody
        attempt = attempts.latest(layout, last.run_id)
        if attempt and attempt.ended_at is None and lives(attempt):
            return f"run {last.handle} ({attempt.agent_name} is process {attempt.pid}, though its git-agent was killed)"
    return None


def _held(session: str, who: str, handle: str) -> UserError:
    return UserError(
        f"{who} is at work on session {session}",
        code="session_held",
        hints=(f'wait for it: git agent resume {handle} --wait "<message>"', "other runs: git agent list"),
    )
