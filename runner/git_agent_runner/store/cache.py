"""The list of runs, fast: slim rows of all records, kept in one derived file that may be deleted at any time.

An entry counts as long as its record's file has the same size and mtime. A file that was written within 20 ms of the
time the cache was made could be written again without a change of either (kernels before 6.13 tick at up to 4 ms), so
it is read anew, as git does with racy index entries. Whatever is odd about the cache, it is made anew without a word.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from git_agent_runner.errors import UserError
from git_agent_runner.model import Record
from git_agent_runner.store import atomic
from git_agent_runner.store.document import CorruptRecord, read_text
from git_agent_runner.store.index import handle_of_file, list_names, parse_file
from git_agent_runner.store.layout import Layout

_HEADER = "git-agent list 1"
_RACY_NS = 20_000_000
_RUN, _PROBLEM = "r", "!"
_NONE = "\\N"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n"})
_ESCAPED = re.compile(r"\\(.)")


class Row(NamedTuple):
    """What a list shows of a run and what finding one by its branch needs. The names are the record's."""

    updated_at: str
    handle: str
    run_id: str
    agent_name: str
    session_value: str | None
    branch: str | None
    status: str | None
    attempts: int
    created_at: str
    cwd: str
    start_commit: str | None


_ATTEMPTS = Row._fields.index("attempts")


class Listing(NamedTuple):
    """Rows by `updated_at`, newest first, and the records that cannot be read."""

    rows: list[Row]
    problems: list[CorruptRecord]


def listing(layout: Layout, now: float, newest: int | None = None) -> Listing:
    """All runs, or the `newest` ones. `now` is in seconds since the epoch, taken before the call.

    Raises UserError `index_unreadable`. A cache that cannot be written is done without.
    """
    with _without_gc():
        stamps = _stamps(layout)
        try:
            return _listing(layout, now, newest, stamps, _load(layout.cache_file))
        except ValueError:  # a line of the cache that we would not write
            return _listing(layout, now, newest, stamps, {})


def _listing(layout: Layout, now: float, newest: int | None, stamps: list[str], cached: dict[str, str]) -> Listing:
    kept = {stamp: cached[stamp] for stamp in stamps if stamp in cached}
    rests = list(kept.values())
    trusted_before = int(now * 1e9) - _RACY_NS
    for stamp in stamps if len(kept) < len(stamps) else ():
        name, _, mtime = stamp.rsplit(" ", 2)
        if stamp not in kept and (handle := handle_of_file(name)):
            rest, lasting = _read(layout, handle)
            if rest:
                rests.append(rest)
            if lasting and int(mtime) < trusted_before:
                kept[stamp] = rest
    if kept.keys() != cached.keys():
        _save(layout.cache_file, kept)
    runs = sorted([rest for rest in rests if rest.startswith(_RUN)], reverse=True)
    broken = sorted(rest for rest in rests if not rest.startswith(_RUN)) if len(runs) < len(rests) else []
    return Listing([_row(rest) for rest in runs[:newest]], [_problem(layout, rest) for rest in broken])


def _stamps(layout: Layout) -> list[str]:
    """`<name> <size> <mtime in ns>` of each file in the index. With 10,000 of them each operation counts."""
    names = list_names(layout)
    if not names:
        return []
    stat = os.stat
    folder = os.open(layout.index_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        stamps = []
        for name in names:
            try:
                found = stat(name, dir_fd=folder)
            except OSError:  # removed since we looked
                continue
            stamps.append(f"{name} {found.st_size} {found.st_mtime_ns}")
        return stamps
    finally:
        os.close(folder)


def _load(path: str) -> dict[str, str]:
    """Stamp to the rest of its line. Empty unless the file is whole and of this version."""
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeDecodeError):
        return {}
    header, _, body = text.partition("\n")
    lines = body.split("\n")
    if header != _HEADER or lines.pop() or not lines or lines.pop() != f"end {len(lines)}":
        return {}
    return dict(line.split("\t", 1) for line in lines)


def _save(path: str, entries: dict[str, str]) -> None:
    lines = [f"{stamp}\t{rest}" for stamp, rest in entries.items()]
    text = "\n".join([_HEADER, *lines, f"end {len(lines)}", ""])
    with suppress(UserError):
        atomic.make_dir(os.path.dirname(path))
        atomic.write(path, text.encode("utf-8", "surrogatepass"), durable=False)


def _read(layout: Layout, handle: str) -> tuple[str, bool]:
    """The rest of a line, empty if the record is gone, and whether it lasts as long as the file stays the same."""
    path = layout.index_file(handle)
    try:
        record = parse_file(read_text(path), path, handle)
    except FileNotFoundError:
        return "", False
    except CorruptRecord as problem:
        line = None if problem.line is None else str(problem.line)
        # What the operating system refuses, such as a file without permission, may change without a new mtime.
        return _join(_PROBLEM, [handle, line, problem.reason]), not isinstance(problem.__cause__, OSError)
    return _join(_RUN, _columns(record)), True


def _columns(record: Record) -> list[str | None]:
    return [
        record.updated_at,
        record.handle,
        record.run_id,
        record.agent_name,
        record.session.value,
        record.branch,
        record.status,
        str(record.attempts),
        record.created_at,
        record.cwd,
        record.start_commit,
    ]


def _row(rest: str) -> Row:
    columns = _split(rest)
    columns[_ATTEMPTS] = int(columns[_ATTEMPTS])
    return Row(*columns)


def _problem(layout: Layout, rest: str) -> CorruptRecord:
    handle, line, reason = _split(rest)
    return CorruptRecord(layout.index_file(handle), line and int(line), reason)


def _join(tag: str, columns: list[str | None]) -> str:
    return tag + "\t".join([_NONE if text is None else text.translate(_ESCAPES) for text in columns])


def _split(rest: str) -> list[Any]:
    columns: list[Any] = rest[1:].split("\t")
    if "\\" not in rest:
        return columns
    return [None if text == _NONE else _ESCAPED.sub(_unescape, text) for text in columns]


def _unescape(match: re.Match[str]) -> str:
    return {"t": "\t", "n": "\n"}.get(match[1], match[1])


@contextmanager
def _without_gc() -> Iterator[None]:
    """Ten thousand rows are no garbage; to look through them again and again takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
