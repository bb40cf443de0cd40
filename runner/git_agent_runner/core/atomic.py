"""Writing state so that a reader, or a machine that lost power, sees the old bytes or the new ones, never half."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from git_agent_runner.core import checkpoints
from git_agent_runner.core.errors import UserError

_REMEDY = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "your disk quota is used up: free some space",
    errno.EACCES: "check who may write there",
    errno.EPERM: "check who may write there",
    errno.EROFS: "the file system is mounted read-only",
}


def write(path: str, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Replace the file `path` by `data`. Raises UserError `write_failed`; the old file is then unchanged.

    The temporary file is unique, since two writers with one name would mix their bytes, and lies in the same
    folder, since only there is a rename atomic. `durable` False leaves out both fsyncs: for what can be derived again.
    """
    folder, name = os.path.split(path)
    temporary = f"{folder}/.{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        try:
            _write_new(temporary, data, mode, durable=durable)
            checkpoints.at("file-written")
            os.replace(temporary, path)
            checkpoints.at("file-replaced")
        except BaseException:  # a Ctrl-C here must not leave the temporary file behind either
            with suppress(OSError):
                os.unlink(temporary)
            raise
        if durable:
            sync_dir(folder)
    except OSError as error:
        raise _failed("write", path, error) from error


def remove(path: str) -> None:
    """Remove a file for good; one that is gone is no error. Raises UserError `write_failed`."""
    try:
        with suppress(FileNotFoundError):
            os.unlink(path)
            sync_dir(os.path.dirname(path))
    except OSError as error:
        raise _failed("remove", path, error) from error


def make_dir(path: str) -> None:
    """Make a directory and its missing parents, each 0700 whatever the umask. One that exists is left as it is."""
    if os.path.isdir(path):
        return
    make_dir(os.path.dirname(path))
    with suppress(FileExistsError):  # another process was faster; a plain file there fails at the first use
        make_new_dir(path)


def make_new_dir(path: str) -> None:
    """Make one directory, 0700. Raises FileExistsError when it exists, UserError `write_failed` for all else."""
    try:
        os.mkdir(path, 0o700)
        sync_dir(os.path.dirname(path))
    except FileExistsError:
        raise
    except OSError as error:
        raise _failed("make the directory", path, error) from error


def sync_dir(path: str) -> None:
    """Make the renames in this directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot sync a directory
            raise
    finally:
        os.close(fd)


def _write_new(path: str, data: bytes, mode: int, *, durable: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def _failed(what: str, path: str, error: OSError) -> UserError:
    remedy = _REMEDY.get(error.errno or 0)
    return UserError(
        f"cannot {what} '{path}': {error.strerror}",
        code="write_failed",
        hints=(remedy,) if remedy else (),
    )
