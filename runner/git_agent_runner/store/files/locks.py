"""Locks between processes: `flock` on their own file.

The kernel drops a lock with the process that held it, so a killed git-agent never leaves one behind, and no pid has
to be believed. Lock files stay when they are released: to unlink one that another process has just opened would give
two processes "the" lock. Should one be removed anyway, by hand or by its holder, `try_lock` notices.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import quote

_PROBE_TRIES = 5
_PROBE_PAUSE = 0.002
_POLL = 0.05


class Lock:
    """A held lock. It ends with `release`, with the `with` block, or with the process."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def release(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


@contextmanager
def locked(path: str, *, wait: float | None = None, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock during the block. `wait` is in seconds, None is for ever; `on_wait` is called once if we must.

    Raises UserError `locked` when the time is over, `lock_failed` when the lock file cannot be opened.
    """
    lock = try_lock(path)
    if lock is None:
        if on_wait:
            on_wait()
        lock = _wait(path, wait)
    with lock:
        yield


def try_lock(path: str) -> Lock | None:
    """The lock, or None when another process holds it. Raises UserError `lock_failed`.

    `is_locked` holds the lock for some microseconds, so one refusal alone proves nothing.
    """
    for _ in range(_PROBE_TRIES):
        if lock := _take(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return lock
        time.sleep(_PROBE_PAUSE)
    return None


def is_locked(path: str) -> bool:
    """Does a process hold this lock? Shared, so that two who ask at once do not see each other.

    What is not a file of ours cannot be held: it must not keep a list from showing the other runs.
    """
    try:
        fd = _ordinary(path, os.O_RDONLY)
    except (FileNotFoundError, _NoFile):
        return False
    except OSError as error:
        raise _failed(path, error) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def written(path: str, limit: int) -> bytes:
    """What a holder wrote into the lock's file, as far as `limit`. Raises OSError."""
    fd = _ordinary(path, os.O_RDONLY)
    try:
        return os.read(fd, limit)
    finally:
        os.close(fd)


def _wait(path: str, wait: float | None) -> Lock:
    if wait is None:
        while (lock := _take(path, fcntl.LOCK_EX)) is None:
            pass  # the file was removed while we waited: the lock is on its successor
        return lock
    deadline = time.monotonic() + wait
    while (lock := _take(path, fcntl.LOCK_EX | fcntl.LOCK_NB)) is None:
        if time.monotonic() >= deadline:
            raise UserError(
                f"another git-agent holds '{path}'",
                code="locked",
                hints=(f"waited {wait:g} seconds; try again when it has ended",),
            )
        time.sleep(_POLL)
    return lock


def _take(path: str, how: int) -> Lock | None:
    """One `flock`. None when it is held, or when the file we locked is no longer the one at `path`."""
    try:
        with ExitStack() as undo:
            lock = undo.enter_context(Lock(_open(path)))
            fcntl.flock(lock.fd, how)
            if os.fstat(lock.fd).st_nlink:
                undo.pop_all()
                return lock
    except BlockingIOError:
        pass
    except OSError as error:
        raise _failed(path, error) from error
    return None


def _open(path: str) -> int:
    try:
        return _ordinary(path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        atomic.make_dir(os.path.dirname(path))
        return _ordinary(path, os.O_RDWR | os.O_CREAT)


class _NoFile(OSError):  # noqa: N818  reads as what it says
    """A link, whose target a signature would overwrite, a pipe, which would hang us, or something else."""


def _ordinary(path: str, flags: int) -> int:
    """The descriptor of an ordinary file. Close-on-exec: an engine must not inherit the lock."""
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _NoFile(error.errno, "it is not an ordinary file") from None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise _NoFile(errno.EINVAL, "it is not an ordinary file")


def _failed(path: str, error: OSError) -> UserError:
    if isinstance(error, _NoFile):
        return UserError(f"cannot lock '{path}': {error.strerror}", code="lock_failed", hints=(f"rm -r {quote(path)}",))
    hints = {
        errno.ENOLCK: "this file system has no locks; git-agent needs them in the git directory",
        errno.EOPNOTSUPP: "this file system has no locks; git-agent needs them in the git directory",
    }
    hint = hints.get(error.errno or 0, "check who may write there")
    return UserError(f"cannot lock '{path}': {error.strerror}", code="lock_failed", hints=(hint,))
