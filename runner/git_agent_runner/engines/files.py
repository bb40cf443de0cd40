"""Read the heads of engines' JSON-lines files: bounded, ordinary files only, torn lines passed over."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Name = str | os.PathLike[str]

# Upper case is another id to claude, and to codex to 0.98 (08c-resume-upper).
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

HEAD = 4 * 1024 * 1024  # bytes; a first message with pictures in it is one long line


def records(path: Name, limit: int = HEAD) -> Iterator[dict[str, Any]]:
    """The JSON objects of the first `limit` bytes, one a line. Raises OSError for a file that cannot be read."""
    # O_NONBLOCK: opening a pipe that someone put there must not hang.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
        left = limit if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else 0
        while left > 0 and (line := stream.readline(left)):
            left -= len(line)
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record


def names(folder: Name) -> list[str]:
    """What the folder holds, sorted; nothing where there is none. Raises OSError where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def moment(text: object) -> float | None:
    """An ISO 8601 time, as engines write it, in seconds since the epoch; None for anything else."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None


def home(env: Mapping[str, str], variable: str, folder: str) -> str:
    """The engine's own folder: where its variable says, else in the person's home."""
    return env.get(variable) or os.path.join(env.get("HOME") or os.path.expanduser("~"), folder)


def same(one: object, other: str) -> bool:
    """Do two paths name one directory, symbolic links resolved?"""
    return isinstance(one, str) and os.path.realpath(one) == os.path.realpath(other)


def floor(seconds: float) -> float:
    """Engines cut their times to milliseconds; cut ours as well before comparing."""
    return int(seconds * 1000) / 1000
