"""Files below a folder whose names come from elsewhere: no name and no symbolic link leads out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core.checkpoints import at

_BLOCK = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Written(NamedTuple):
    """What a file holds now: its size in bytes and the SHA-256 of it, in hex."""

    size: int
    sha256: str


def parts(name: str) -> tuple[str, ...]:
    """`a/b/c` as its steps. Raises ValueError for a name that is absolute, has empty steps, or climbs."""
    steps = tuple(name.split("/"))
    if not all(steps) or {".", ".."}.intersection(steps) or "\0" in name:
        raise ValueError(f"{name!a} does not name a file below a folder")
    return steps


@contextmanager
def folder(root: str, steps: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder below `root`, which itself may be reached by links.

    `make` makes missing steps, each 0700. Raises OSError where one is missing, no directory, or a symbolic link.
    """
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in steps:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(step, 0o700, dir_fd=fd)
            below = os.open(step, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened(root: str, name: str) -> Iterator[int]:
    """The descriptor of an ordinary file below `root`, to read. Raises OSError, also where it is something else."""
    *above, last = parts(name)
    with folder(root, above) as place, opened_in(place, last) as fd:
        yield fd


@contextmanager
def opened_in(place: int, name: str) -> Iterator[int]:
    """As `opened`, in a folder that is open."""
    fd = ordinary.opened(name, os.O_NOFOLLOW, place)
    try:
        yield fd
    finally:
        os.close(fd)


def copy(source: int, place: int, name: str) -> Written:
    """A new file in an open folder, 0600, on disk when this returns. Raises OSError, and then leaves no file."""
    from hashlib import sha256

    digest = sha256()
    size = 0
    with _new(place, name) as fd:
        while block := os.read(source, _BLOCK):
            digest.update(block)
            size += len(block)
            _write(fd, block)
    return Written(size, digest.hexdigest())


def put(data: bytes, place: int, name: str) -> None:
    """Replace, or make, a file in an open folder: a reader sees the old bytes or the new ones. Raises OSError."""
    temporary = temporary_name()
    with _new(place, temporary) as fd:
        _write(fd, data)
    at("file-written")
    os.replace(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    at("file-replaced")
    os.fsync(place)


def temporary_name() -> str:
    return f".git-agent.{os.getpid()}.{os.urandom(4).hex()}.tmp"


@contextmanager
def _new(place: int, name: str) -> Iterator[int]:
    fd = os.open(name, _NEW, 0o600, dir_fd=place)
    try:
        yield fd
        os.fsync(fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=place)
        raise
    finally:
        os.close(fd)


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
