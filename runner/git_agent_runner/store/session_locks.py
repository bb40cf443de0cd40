"""Who holds a lock that is held long, and the lock of a session: one writer, whatever run and repository it is in.

A session is in the person's store, not in a repository: its lock lies below the person's state directory, so that a
copy of the repository, another clone and this one are one another's second writers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from git_agent_runner.core import atomic
from git_agent_runner.core.clock import began
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.files.liveness import at_work, remaining
from git_agent_runner.store.files.locks import Lock, is_locked, try_lock, written
from git_agent_runner.store.records import attempts

_LIMIT = 16 * 1024  # bytes of a signature; a path may be 4096 long, and JSON writes some characters as six


class Holder(NamedTuple):
    """A git-agent using a run of the repository whose common git directory is `common_dir`.

    `process_started` is in seconds since the epoch, `since` a record's time.
    """

    handle: str
    run_id: str
    pid: int
    process_started: float
    worktree: str
    since: str
    common_dir: str
    common_dir_id: str


class Seat(NamedTuple):
    """A session, and its lock, as a run of this repository sees it. `message`: what its engine takes with a resume."""

    path: str
    session: str
    handle: str
    message: str
    common_dir: str


def ourselves(layout: Layout, record: Record, since: str) -> Holder:
    common_dir = layout.common_dir
    where = (record.worktree, since, common_dir, directory_id(common_dir))
    return Holder(record.handle, record.run_id, os.getpid(), began(os.getpid()), *where)


def directory_id(path: str) -> str:
    """Of a directory, however it is moved: `<device>:<inode>`; empty where there is none. A copy has another."""
    try:
        facts = os.stat(path)
    except OSError:
        return ""
    return f"{facts.st_dev}:{facts.st_ino}"


def session_lock(layout: Layout, environ: Mapping[str, str], store: tuple[str, str], session: str) -> str:
    """The lock's path. `store` is the engine and the root of its store. It is held as long as an attempt may write.

    Where the person has no state directory that can be written, it lies in this repository.
    """
    from hashlib import sha256  # costs 2 ms, and a list needs none

    engine, root = store
    seat = "\0".join((engine, os.path.realpath(root), session))
    name = f"session-{sha256(seat.encode(errors='surrogateescape')).hexdigest()[:32]}"
    folder = f"{user_state_dir(environ)}/sessions"
    try:
        atomic.make_dir(folder)
    except (UserError, OSError):
        return layout.lock(name)
    return f"{folder}/{name}" if os.access(folder, os.W_OK | os.X_OK) else layout.lock(name)


def user_state_dir(environ: Mapping[str, str]) -> str:
    """This program's folder for what outlives a process and belongs to no repository; it need not exist."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base) and sys.platform.startswith("linux") and environ.get("HOME"):
        base = os.path.join(environ["HOME"], ".local/state")
    if os.path.isabs(base):
        return os.path.join(base, "git-agent")
    import platformdirs

    return platformdirs.user_state_dir("git-agent", appauthor=False)


def sign(lock: Lock, holder: Holder) -> None:
    """Write into the lock's file who holds it. Not worth failing for: then it is held by somebody unnamed."""
    with suppress(OSError):
        os.ftruncate(lock.fd, 0)
        os.pwrite(lock.fd, json.dumps(holder._asdict()).encode(), 0)


def signed(path: str) -> Holder | None:
    """Who signed the lock last, which does not show whether it is held."""
    try:
        found = json.loads(written(path, _LIMIT))
        return Holder(
            str(found["handle"]),
            str(found["run_id"]),
            _pid(found["pid"]),
            float(found["process_started"]),
            str(found["worktree"]),
            str(found["since"]),
            str(found["common_dir"]),
            str(found["common_dir_id"]),
        )
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None


def _pid(value: Any) -> int:
    """Raises ValueError for what no process has: to signal 0 or less would reach many."""
    if type(value) is int and value > 0:
        return value
    raise ValueError(value)


def hold_session(seat: Seat, holder: Holder) -> Lock:
    """The session's lock. Raises UserError `session_held`, which names who has it, and `lock_failed`."""
    lock = try_lock(seat.path)
    if lock is None:
        raise held(seat, _holder(signed(seat.path)))
    if left := _left_behind(seat):
        lock.release()
        raise held(seat, left)
    sign(lock, holder)
    return lock


def refuse_held(seat: Seat) -> None:
    """Raises UserError `session_held` where the run could not have the session's lock now."""
    who = _holder(signed(seat.path)) if is_locked(seat.path) else _left_behind(seat)
    if who:
        raise held(seat, who)


def _holder(holder: Holder | None) -> str:
    if holder is None:
        return "another git-agent"
    return f"run {holder.handle} (git-agent is process {holder.pid}, in {holder.worktree}, since {holder.since})"


def _left_behind(seat: Seat) -> str | None:
    """The last holder, when its engine works on without its git-agent or its launcher. A run's own state tells of its
    own.
    """
    last = signed(seat.path)
    if last is None or (last.handle, last.common_dir) == (seat.handle, seat.common_dir):
        return None
    with suppress(UserError):  # a file that says nonsense names nobody
        attempt = attempts.latest(Layout(last.common_dir), last.run_id)
        if attempt and at_work(attempt):
            return f"run {last.handle} ({left_working(attempt)})"
    return None


def left_working(attempt: Attempt) -> str:
    """What works on, of an attempt that nobody watches."""
    if left := remaining(attempt):
        return f"{attempt.agent_name}'s launcher ended, but it is still running as process {', '.join(left)}"
    return f"{attempt.agent_name} is process {attempt.pid}; the git-agent that started it is gone"


def held(seat: Seat, who: str) -> UserError:
    return UserError(
        f"{who} is using session {seat.session}",
        code="session_held",
        hints=(f"wait for it: git agent resume {seat.handle} --wait {seat.message}", "other runs: git agent list"),
    )
