"""One state of a conversation as files of a tree: `manifest.json`, and pieces named by their SHA-256. Pure.

A session grows at its end. So pieces are only ever added: a file is its old pieces and what came since, and git
stores and sends the new ones alone. What is read was written by anyone who can push.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

from git_agent_runner.core.clock import moment
from git_agent_runner.store.files import beneath
from git_agent_runner.store.files.layout import handle_of, is_run_id

SCHEMA = 1
MANIFEST = "manifest.json"
PIECE = 1 << 20  # bytes of one piece
SESSION = 64 << 20  # bytes of all files
LONGEST = 1 << 20  # bytes of a manifest
_SUM = 64
_TEXT = 4096  # characters of one text in a manifest


class Part(NamedTuple):
    """One piece of a file: how long it is, and its SHA-256."""

    size: int
    sha256: str


class SharedFile(NamedTuple):
    path: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


class Manifest(NamedTuple):
    """A conversation as it was when an attempt had ended. `roots` are the first commits of its project, none where they
    are not known; `below` is the folder of the work tree that the run works in. `exported`: the one file is a document
    that the engine imports.
    """

    handle: str
    run_id: str
    agent_name: str
    engine_version: str
    session: str
    branch: str | None
    host: str
    below: str
    roots: tuple[str, ...]
    updated_at: str
    exported: bool
    files: tuple[SharedFile, ...]


# As in a record: what `Manifest` holds but `files`, in its order.
_KEYS = (
    "handle",
    "runId",
    "agentName",
    "engineVersion",
    "session",
    "branch",
    "host",
    "below",
    "roots",
    "updatedAt",
    "exported",
)


def cut(data: bytes, before: Iterable[Part] = ()) -> tuple[bytes, ...]:
    """The pieces of a file: cut where it was cut `before`, and what is longer than that in pieces of its own."""
    found, place = [], 0
    for part in before:
        if place + part.size > len(data):
            break
        found.append(data[place : place + part.size])
        place += part.size
    return (*found, *(data[at : at + PIECE] for at in range(place, len(data), PIECE)))


def file(path: str, pieces: Iterable[bytes]) -> SharedFile:
    return SharedFile(path, tuple(Part(len(piece), sha256(piece).hexdigest()) for piece in pieces))


def begins(data: bytes, earlier: SharedFile) -> bool:
    """Does this begin with all that the file held?"""
    pieces = cut(data, earlier.parts)[: len(earlier.parts)]
    return len(data) >= earlier.size and file(earlier.path, pieces) == earlier


def render(manifest: Manifest) -> bytes:
    files = [{"path": one.path, "pieces": [list(part) for part in one.parts]} for one in manifest.files]
    known = {"schema": SCHEMA, **dict(zip(_KEYS, manifest, strict=False)), "files": files}
    return json.dumps(known, ensure_ascii=False, indent=0).encode()


def parse(data: bytes, handle: str) -> Manifest:
    """Raises ValueError for anything but the manifest of a conversation of that run."""
    try:
        found = _parsed(json.loads(data))
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"its manifest is not one of git-agent's ({type(error).__name__}: {error!s:.80})") from error
    if found.handle != handle or handle_of(found.run_id) != handle:
        raise ValueError(f"it is the conversation of run {found.handle!a}")
    return found


def _parsed(found: dict[str, Any]) -> Manifest:
    if found["schema"] != SCHEMA:
        raise ValueError("a newer git-agent has written it")
    files = tuple(_file(one) for one in _list(found["files"], 1024))
    roots = tuple(_text(root) for root in _list(found["roots"], 64))
    manifest = Manifest._make([*(found[key] for key in _KEYS), files])._replace(roots=roots)
    texts = manifest._replace(branch=manifest.branch or "", exported=False, files=(), roots=())
    for text in (text for text in texts if isinstance(text, str)):
        _text(text)
    if not all(isinstance(text, str) for text in (*texts[:8], texts.updated_at)):
        raise TypeError("text")
    if not is_run_id(manifest.run_id) or moment(manifest.updated_at) is None or type(manifest.exported) is not bool:
        raise ValueError("its manifest is not one of git-agent's")
    _check_files(manifest)
    return manifest


def _check_files(manifest: Manifest) -> None:
    """Raises ValueError for files that may not be put anywhere."""
    names = [one.path for one in manifest.files]
    if not names or len(set(names)) < len(names):
        raise ValueError("it names no file, or one twice")
    if manifest.below != ".":
        beneath.parts(manifest.below)
    size = sum(one.size for one in manifest.files)
    if size > SESSION:
        raise ValueError(f"it is larger than {SESSION >> 20} MiB")


def _file(found: dict[str, Any]) -> SharedFile:
    parts = tuple(_part(*part) for part in _list(found["pieces"], 65536))
    beneath.parts(_text(found["path"]))
    return SharedFile(found["path"], parts)


def _part(size: int, name: str) -> Part:
    if type(size) is not int or not 0 < size <= PIECE:
        raise ValueError(f"a piece of {size!s:.20} bytes")
    if len(name) != _SUM or name.strip("0123456789abcdef"):
        raise ValueError(f"{name!a:.80} is not a SHA-256")
    return Part(size, name)


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise TypeError("list")
    return value


def _text(value: Any) -> str:
    """As UTF-8 has it; a NUL comes from nobody who means well."""
    if not isinstance(value, str) or len(value) > _TEXT or "\0" in value:
        raise TypeError("text")
    value.encode()
    return value
