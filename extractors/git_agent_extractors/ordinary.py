"""The one way to open a file that somebody else may have put there: ordinary files only, and no more than a limit.

Opening a pipe would wait for a writer, reading a device never ends, and a huge file takes all memory.
"""

from __future__ import annotations

import errno
import os
import stat

_BLOCK = 1 << 20


def opened(path: str | os.PathLike[str], flags: int = 0, dir_fd: int | None = None) -> int:
    """The descriptor, to read; an `opener` of `open`. Raises OSError, also for anything but an ordinary file."""
    return _opened(path, flags, dir_fd)[0]


def _opened(path: str | os.PathLike[str], flags: int = 0, dir_fd: int | None = None) -> tuple[int, int]:
    """The descriptor, and the file's size."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags, dir_fd=dir_fd)
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode):
        return fd, found.st_size
    os.close(fd)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, "not an ordinary file", os.fspath(path))


def head(path: str | os.PathLike[str], limit: int) -> bytes:
    """The first `limit` bytes. Raises OSError."""
    fd = opened(path)
    try:
        return _read(fd, limit)
    finally:
        os.close(fd)


def whole(path: str | os.PathLike[str], limit: int) -> bytes:
    """All of it. Raises OSError, `EFBIG` for a file of more than `limit` bytes."""
    fd, size = _opened(path)
    try:
        data = os.read(fd, size + 1) if size <= limit else b""
        if len(data) != size <= limit:  # else that was the end: with ten thousand files each call counts
            data += _read(fd, limit + 1 - len(data))
    finally:
        os.close(fd)
    if max(size, len(data)) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 10} KiB", os.fspath(path))
    return data


def _read(fd: int, limit: int) -> bytes:
    blocks = []
    while limit > 0 and (block := os.read(fd, min(_BLOCK, limit))):
        blocks.append(block)
        limit -= len(block)
    return b"".join(blocks)
