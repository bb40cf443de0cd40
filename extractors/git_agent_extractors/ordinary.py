"""The one way to open a file that somebody else may have put there: ordinary files only, and no more than a limit.

Opening a pipe would wait for a writer, reading a device never ends, and a huge file takes all memory.
"""

from __future__ import annotations

import errno
import os
import stat

_BLOCK = 1 << 20


def opened(path: str | os.PathLike[str], flags: int = 0, dir_fd: int | None = None) -> int:
    """The descriptor, to read. Raises OSError, also for anything but an ordinary file."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags, dir_fd=dir_fd)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "not an ordinary file", os.fspath(path))


def head(path: str | os.PathLike[str], limit: int) -> bytes:
    """The first `limit` bytes. Raises OSError."""
    fd = opened(path)
    try:
        data = b""
        while len(data) < limit and (block := os.read(fd, min(_BLOCK, limit - len(data)))):
            data += block
        return data
    finally:
        os.close(fd)


def whole(path: str | os.PathLike[str], limit: int) -> bytes:
    """All of it. Raises OSError, `EFBIG` for a file of more than `limit` bytes."""
    data = head(path, limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 10} KiB", os.fspath(path))
    return data
