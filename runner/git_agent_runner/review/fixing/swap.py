"""Replacing a file that somebody may be writing to at this moment: whatever was written to it is in it afterwards.

The new content and the file change places in one step, and what was in the file is looked at only then: text that came
since it was read is joined to the new content, which changes places again.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from git_agent_runner.git import run

PATIENCE = 2.0  # seconds that somebody may take to close a file that he writes
TRIES = 20  # of somebody who writes faster than we join
_POLL = 0.01
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE and RENAME_SWAP


class Content(NamedTuple):
    """Of a file, or the target of a link. `mode` is as `os.lstat` has it."""

    data: bytes
    mode: int

    def same(self, other: Content | None) -> bool:
        return other is not None and (self.data, self.kind) == (other.data, other.kind)

    @property
    def kind(self) -> int:
        return stat.S_IFMT(self.mode)


class Busy(Exception):  # noqa: N818  reads as what it says
    """It cannot be put there; nothing was changed. Its text says why."""


def read(path: str) -> Content | None:
    """None where there is nothing. Raises Busy for what is neither a file nor a link."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return Content(os.fsencode(os.readlink(path)), mode)
        if not stat.S_ISREG(mode):
            raise Busy("it is not an ordinary file")
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return Content(file.read(), mode)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Busy(error.strerror or "it cannot be read") from error


def put(path: str, spare: str, old: Content | None, new: Content | None) -> Content | None:
    """Let `path`, which held `old`, hold `new`, and what was written to it since; what it holds then.

    `spare` is a directory on the same file system. Raises Busy where it cannot be done.
    """
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # of a lease that is asked for; it would end us
    try:
        if old and new:
            return _replace(path, spare, old, new)
        if old:
            _remove(path, spare, old)
        if new:
            _create(path, spare, new)
    except OSError as error:
        raise Busy(error.strerror or "it cannot be written") from error
    finally:
        signal.signal(signal.SIGIO, signal.SIG_DFL if before is None else before)
    return new


def _create(path: str, spare: str, new: Content) -> None:
    with _made(spare, new) as made:
        try:
            os.link(made, path, follow_symlinks=False)
        except FileExistsError:
            raise Busy("it is there already") from None


def _remove(path: str, spare: str, old: Content) -> None:
    away = _name(spare)
    os.rename(path, away)
    if not old.same(_settled(away)[0]):
        _restore(away, path)
        raise Busy("it is being written to")
    os.unlink(away)


def _replace(path: str, spare: str, old: Content, new: Content) -> Content:
    tries = 0
    while True:
        tries += 1
        with _made(spare, new) as other:
            _exchange(other, path)
            settled, found = _settled(other)
            if old.same(settled):
                return new
            joined = merged(old.data, new.data, settled.data) if settled and settled.kind == old.kind else None
            if joined is not None and tries < TRIES:
                old, new = new, new._replace(data=joined)
                continue
            back = _exchanged_back(other, path)
            if found is None or back is None or new.same(back):
                raise Busy("it is being written to")
            old, new = found, new._replace(data=merged(new.data, found.data, back.data, union=True) or found.data)


def _settled(aside: str) -> tuple[Content | None, Content | None]:
    """What a file that was moved aside holds: for good, None where somebody still writes to it; and now."""
    try:
        alone, found = _alone(aside), read(aside)
    except (OSError, Busy):
        return None, None
    return (found if alone else None), found


def _exchanged_back(other: str, path: str) -> Content | None:
    try:
        _exchange(other, path)
    except OSError:
        _restore(other, path)
        raise
    return read(other)


def _restore(aside: str, path: str) -> None:
    """Move it back, unless somebody has made it again, with all that he wants in it."""
    try:
        os.link(aside, path, follow_symlinks=False)
    except FileExistsError:
        os.unlink(aside)
    except OSError:  # a file system without links
        os.rename(aside, path)
    else:
        os.unlink(aside)


@contextmanager
def _made(spare: str, content: Content) -> Iterator[str]:
    """A file that holds it. It is removed afterwards, whatever it holds then: `spare` may be the person's directory."""
    path = _name(spare)
    try:
        if stat.S_ISLNK(content.mode):
            os.symlink(os.fsdecode(content.data), path)
        else:
            with open(path, "xb") as file:
                file.write(content.data)
            os.chmod(path, stat.S_IMODE(content.mode))
        yield path
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _name(spare: str) -> str:
    return f"{spare}/.git-agent-{os.urandom(6).hex()}"


def _alone(path: str) -> bool:
    """Does nobody have this file open for writing? Where the system cannot tell, nobody has."""
    ask, lease = getattr(fcntl, "F_SETLEASE", None), getattr(fcntl, "F_RDLCK", 0)
    if ask is None or os.path.islink(path):
        return True
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    until = time.monotonic() + PATIENCE
    try:
        while (busy := _leased(fd, ask, lease)) and time.monotonic() < until:
            time.sleep(_POLL)
    finally:
        os.close(fd)
    return not busy


def _leased(fd: int, ask: int, lease: int) -> bool:
    """Is it refused, since somebody writes there?"""
    try:
        fcntl.fcntl(fd, ask, lease)
        fcntl.fcntl(fd, ask, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _exchange(one: str, other: str) -> None:
    """Raises OSError, too where the system or its file system knows no such thing."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(*names, _EXCHANGE)
        else:
            failed = libc.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)
    except AttributeError:
        raise OSError(errno.ENOSYS, "this system cannot replace a file that may be in use") from None
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def merged(base: bytes, ours: bytes, theirs: bytes, *, union: bool = False) -> bytes | None:
    """What both have changed, None where the two do not go together. Text that was added at the end goes with all."""
    if ours == base:
        return theirs
    if theirs.startswith(base) and (base.endswith(b"\n") or not base):
        return ours + theirs[len(base) :]
    with tempfile.TemporaryDirectory(prefix="git-agent-") as folder:
        names = [f"{folder}/{number}" for number in range(3)]
        for name, data in zip(names, (ours, base, theirs), strict=True):
            with open(name, "wb") as file:
                file.write(data)
        done = run(("merge-file", "-p", *(["--union"] if union else []), *names), check=False)
    return None if done.status else done.out.encode("utf-8", "surrogateescape")
