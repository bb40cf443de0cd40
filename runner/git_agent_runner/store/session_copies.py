"""Copies of engines' sessions in the run directory: `session/<key>/`, a manifest and the contents it names by hash.

    runs/<run id>/session/<key>/manifest.json   what is kept, where it stood, of which engine version
                                <sha256>        the bytes of one file
    replaced.json: a manifest, too, of the earlier state in the engine's store that the copy took the place of last
    parted-<n>.json: of a copy that the store's state was no continuation of, when that was copied
    too-large, beside the manifest: the session outgrew the limit, and that was said

The manifest is replaced last, and contents that none names are removed after that: whatever happens meanwhile, the copy
of before is whole. `key` is made of the session's value, which may be anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from git_agent_runner.store.files import beneath
from git_agent_runner.store.files.layout import Layout

SCHEMA = 1
FOLDER = "session"
MANIFEST = "manifest.json"
REPLACED = "replaced.json"
TOO_LARGE = "too-large"
_LONGEST = 1 << 20  # bytes of a manifest


class File(NamedTuple):
    """One file of a session: its place below the engine's folder. `modified` is its time there, in nanoseconds."""

    path: str
    size: int
    modified: int
    sha256: str


class Copy(NamedTuple):
    """A session as it was kept. `cwd` is where its engine was asked for it, `session_cwd` what its store named.

    `exported`: the one file is a document that the engine imports, and has no place.
    """

    engine: str
    engine_version: str
    session: str
    cwd: str
    session_cwd: str | None
    saved_at: str
    files: tuple[File, ...]
    exported: bool = False


def steps(session: str) -> tuple[str, str]:
    """Where a session's copy lies below the run directory."""
    from hashlib import sha256

    return FOLDER, sha256(session.encode(errors="surrogateescape")).hexdigest()[:16]


def place(layout: Layout, run_id: str, session: str) -> str:
    return os.path.join(layout.run(run_id), *steps(session))


def read(layout: Layout, run_id: str, session: str) -> Copy | None:
    """The copy of that session, if there is one that can be read."""
    try:
        with beneath.folder(layout.run(run_id), steps(session)) as fd:
            return read_in(fd, session)
    except OSError:
        return None


def read_in(fd: int, session: str, name: str = MANIFEST) -> Copy | None:
    try:
        with beneath.opened_in(fd, name) as file:
            return _parsed(json.loads(os.read(file, _LONGEST)), session)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def write_in(fd: int, copy: Copy, name: str = MANIFEST) -> None:
    """Let the folder's copy of that name be this one, whose contents are there. Raises OSError."""
    _put(fd, copy, name)
    sweep(fd, copy.session)


def set_apart(fd: int, copy: Copy) -> None:
    """Keep a copy beside the one that is about to take its place. Raises OSError."""
    known = os.listdir(fd)
    _put(fd, copy, next(name for name in map("parted-{}.json".format, count(1)) if name not in known))


def _put(fd: int, copy: Copy, name: str) -> None:
    files = [file._asdict() for file in copy.files]
    beneath.put(json.dumps({"schema": SCHEMA, **copy._asdict(), "files": files}).encode(), fd, name)


def sweep(fd: int, session: str) -> None:
    """Remove what no manifest in the folder names."""
    names = os.listdir(fd)
    manifests = [name for name in names if name.endswith(".json")]
    found = filter(None, (read_in(fd, session, name) for name in manifests))
    named = {*manifests, *(file.sha256 for copy in found for file in copy.files)}
    for name in set(names) - named:
        with suppress(OSError):
            os.unlink(name, dir_fd=fd)


def add(fd: int, source: int) -> beneath.Written:
    """Take the bytes of an open file into the folder, under their hash. Raises OSError."""
    temporary = beneath.temporary_name()
    written = beneath.copy(source, fd, temporary)
    os.replace(temporary, written.sha256, src_dir_fd=fd, dst_dir_fd=fd)
    return written


def _parsed(found: Any, session: str) -> Copy | None:
    """Raises ValueError, KeyError, TypeError, AttributeError or ArithmeticError for what is not a manifest of ours."""
    if found.pop("schema") != SCHEMA or found["session"] != session:
        return None
    copy = Copy(**{**found, "files": tuple(_file(**file) for file in _list(found["files"]))})
    texts = (copy.engine, copy.engine_version, copy.cwd, copy.saved_at)
    if not all(isinstance(text, str) for text in texts) or not isinstance(copy.session_cwd, str | None):
        raise TypeError
    return copy


def _list(value: Any) -> Iterable[Any]:
    if not isinstance(value, list) or not value:
        raise TypeError
    return value


def _file(path: str, size: int, modified: int, sha256: str) -> File:
    beneath.parts(path)
    if len(sha256) != 64 or sha256.strip("0123456789abcdef"):
        raise ValueError(sha256)
    return File(path, int(size), int(modified), sha256)
