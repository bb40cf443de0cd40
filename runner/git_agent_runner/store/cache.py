"""The list of runs, fast: slim rows of all records, kept in one derived file that may be deleted at any time.

An entry counts as long as its record's file has the same size and mtime. A file that was written within 20 ms of the
time the cache was made could be written again without a change of either (kernels before 6.13 tick at up to 4 ms), so
it is read anew, as git does with racy index entries. Whatever is odd about the cache, it is made anew without a word.

The file begins with the stamps of all entries, in the order in which the folder gives them. As long as that is what
the folder says, nothing else need be looked at but the rows that are asked for: they are sorted, newest first.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Any, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.errors import UserError
from git_agent_runner.model import Record, State
from git_agent_runner.store import atomic, attempts
from git_agent_runner.store.document import CorruptRecord, ignore, read_text
from git_agent_runner.store.index import handle_of_file, list_names, parse_file
from git_agent_runner.store.layout import Layout
from git_agent_runner.times import moment

_HEADER = b"git-agent list 5"
_RACY_NS = 20_000_000
_RUN, _PROBLEM = "r", "~"  # in this order: sorted downwards, what is wrong comes first
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
    worktree_id: str
    role: str = "work"  # the last column


_WORK = "\twork"
_LARGEST = 256 << 20  # bytes
_ATTEMPTS = Row._fields.index("attempts")


class Listing(NamedTuple):
    """Rows by `updated_at`, newest first, and the records that cannot be read."""

    rows: list[Row]
    problems: list[CorruptRecord]


def by_start(row: Row) -> tuple[float, str]:
    """A key that sorts rows by their start, newest first; one that cannot be read is taken from the run's id."""
    return (-(moment(row.created_at) or moment(row.run_id[:16]) or 0.0), row.run_id)


class Wanted(NamedTuple):
    """How many rows, None for all; without `reviews` only those of runs that can be a branch's."""

    newest: int | None = None
    reviews: bool = True


ALL = Wanted()


def work(layout: Layout, now: float, warn: Callable[[str], None] = ignore) -> Listing:
    """The runs that can be a branch's. See `listing`."""
    return listing(layout, now, Wanted(reviews=False), warn)


def listing(layout: Layout, now: float, wanted: Wanted = ALL, warn: Callable[[str], None] = ignore) -> Listing:
    """The runs, all unless less is `wanted`. `now` is in seconds since the epoch, taken before the call. `warn`: see
    Index.

    Raises UserError `index_unreadable`. A cache that cannot be written is done without.
    """
    with _without_gc():
        stamps = _stamps(layout)
        try:
            return _listing(layout, now, wanted, stamps, _load(layout.cache_file), warn)
        except ValueError:  # a line of the cache that we would not write
            return _listing(layout, now, wanted, stamps, b"", warn)


def state(layout: Layout, row: Row) -> State:
    """What the run's locks say. A completed run is at rest, which saves a look at its attempts."""
    if row.status == "completed" and not attempts.queued(layout, row.handle):
        return "finished"
    return attempts.state(layout, row.handle, row.run_id)


def _listing(
    layout: Layout, now: float, wanted: Wanted, stamps: list[str], cache: bytes, warn: Callable[[str], None]
) -> Listing:
    head = _head(stamps)
    lines = _lines(cache, len(head)) if cache.startswith(head) else _renewed(layout, now, stamps, cache, warn)
    found = Listing([], [])
    for line in lines:
        rest, _, _ = line.rpartition("\t")
        if rest.startswith(_PROBLEM):
            found.problems.insert(0, _problem(layout, rest))
        elif wanted.reviews or rest.endswith(_WORK):
            found.rows.append(_row(rest))
            if len(found.rows) == wanted.newest:
                break
    return found


def _renewed(layout: Layout, now: float, stamps: list[str], cache: bytes, warn: Callable[[str], None]) -> list[str]:
    """All lines, sorted: of entries in the cache that still count, and of records read anew."""
    present = set(stamps)
    cached = {line.rpartition("\t")[2]: line for line in _lines(cache, cache.find(b"\n\n") + 2)}
    kept = [line for stamp, line in cached.items() if stamp in present]
    passing: dict[str, str] = {}
    trusted_before = int(now * 1e9) - _RACY_NS
    for stamp in [stamp for stamp in stamps if stamp not in cached]:
        name, _, mtime = stamp.rsplit(" ", 2)
        if handle := handle_of_file(name):
            rest, lasting = _read(layout, handle, warn)
            if lasting and int(mtime) < trusted_before:
                kept.append(f"{rest}\t{stamp}")
            else:
                passing[stamp] = rest
    kept.sort(reverse=True)
    _save(layout.cache_file, [stamp for stamp in stamps if stamp not in passing], kept, cache)
    return sorted([*kept, *(f"{rest}\t{stamp}" for stamp, rest in passing.items() if rest)], reverse=True)


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


def _load(path: str) -> bytes:
    """The cache; empty unless it is whole and of this version."""
    try:
        cache = ordinary.whole(path, _LARGEST)
    except OSError:
        return b""
    lines = cache.count(b"\n", cache.find(b"\n\n") + 2) - 1
    return cache if cache.startswith(b"%b\n" % _HEADER) and cache.endswith(b"\nend %d\n" % lines) else b""


def _head(stamps: list[str]) -> bytes:
    return b"%b\n%b\n\n" % (_HEADER, "\n".join(stamps).encode("utf-8", "surrogatepass"))


def _lines(cache: bytes, start: int) -> Iterator[str]:
    """`<rest>\t<stamp>` of each entry, from the first to as far as they are asked for."""
    with BytesIO(cache) as stream:
        stream.seek(start)
        for line in stream:
            if b"\t" in line:
                yield line[:-1].decode("utf-8", "surrogatepass")


def _save(path: str, stamps: list[str], lines: list[str], old: bytes) -> None:
    body = "".join([f"{line}\n" for line in lines]).encode("utf-8", "surrogatepass")
    cache = b"%b%bend %d\n" % (_head(stamps), body, len(lines))
    if cache != old and (stamps or old):
        with suppress(UserError):
            atomic.make_dir(os.path.dirname(path))
            atomic.write(path, cache, durable=False)


def _read(layout: Layout, handle: str, warn: Callable[[str], None]) -> tuple[str, bool]:
    """The rest of a line, empty if the record is gone, and whether it lasts as long as the file stays the same: what
    there is a warning about is read again each time.
    """
    path = layout.index_file(handle)
    warnings: list[str] = []
    try:
        record = parse_file(read_text(path), path, handle, warnings.append)
    except FileNotFoundError:
        return "", False
    except CorruptRecord as problem:
        line = None if problem.line is None else str(problem.line)
        # What the operating system refuses, such as a file without permission, may change without a new mtime.
        return _join(_PROBLEM, [handle, line, problem.reason]), not isinstance(problem.__cause__, OSError)
    for text in warnings:
        warn(text)
    return _join(_RUN, _columns(record)), not warnings


def _columns(record: Record) -> list[str | None]:
    """What sorts them comes first: times may be written in any time zone."""
    return [
        f"{max(0.0, moment(record.updated_at) or 0.0):019.6f}",
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
        record.worktree_id,
        record.role,
    ]


def _row(rest: str) -> Row:
    _, *columns = _split(rest)
    columns[_ATTEMPTS] = int(columns[_ATTEMPTS])
    if len(columns) != len(Row._fields):
        raise ValueError(rest)
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
