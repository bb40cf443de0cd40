"""The list of runs, fast: slim rows of all records, kept in one derived file that may be deleted at any time.

An entry counts as long as its record's file has the same size and mtime. A file that was written within 20 ms of the
time the cache was made could be written again without a change of either (kernels before 6.13 tick at up to 4 ms), so
it is read again, as git does with racy index entries. Whatever is odd about the cache, it is made again without a word.

The file begins with the stamps of all entries, in the order in which the folder gives them. As long as that is what
the folder says, nothing else need be looked at but the rows that are asked for: they are sorted, newest first.

To look at each of a great many files takes longer than all else. Whoever asks for some of the rows then trusts the time
of the folder, which every write of a record changes, and looks at the files of these rows alone: what a person has
edited in place among the others is seen by who asks for all, and after the next write.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import chain, takewhile
from typing import BinaryIO, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import State
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import rows
from git_agent_runner.store.records.document import CorruptRecord, ignore, read_text
from git_agent_runner.store.records.index import handle_of_file, list_names, parse_file
from git_agent_runner.store.records.rows import Row

_HEADER = b"git-agent list 6"
_RACY_NS = 20_000_000
_MANY = 5_000  # records
_FIRST, _WORDS = 200, 7  # bytes, more than the first line has, and its words
UNKNOWN = b"-"  # as the state of a folder
_LARGEST = 256 << 20  # bytes


class Listing(NamedTuple):
    """Rows by `updated_at`, newest first, and the records that cannot be read."""

    rows: list[Row]
    problems: list[CorruptRecord]


class ListRequest(NamedTuple):
    """How many rows, None for all; without `reviews` only those of runs that can be a branch's; with `branches` only
    those with these branches, None among them for runs without one.
    """

    newest: int | None = None
    reviews: bool = True
    branches: frozenset[str | None] | None = None


ALL = ListRequest()


def work(layout: Layout, now: float, wanted: ListRequest = ALL, warn: Callable[[str], None] = ignore) -> Listing:
    """The runs that can be a branch's. See `listing`."""
    return listing(layout, now, wanted._replace(reviews=False), warn)


def listing(layout: Layout, now: float, wanted: ListRequest = ALL, warn: Callable[[str], None] = ignore) -> Listing:
    """The runs, all unless less is `wanted`. `now` is in seconds since the epoch, taken before the call. `warn`: see
    Index.

    Raises UserError `index_unreadable`. A cache that cannot be written is done without.
    """
    with _without_gc():
        some = wanted.newest is not None or wanted.branches is not None
        folder = folder_state(layout, now)
        if some and folder != UNKNOWN and (found := _trusted(layout, folder, wanted)):
            return found
        stamps = _stamps(layout)
        try:
            lines = _all_lines(layout, now, folder, stamps, *_load(layout.cache_file), warn)
            return _listing(layout, _chosen(wanted, lines))
        except ValueError:  # a line of the cache that we would not write
            return _listing(layout, _chosen(wanted, _renewed(layout, now, folder, stamps, b"", warn)))


def state(layout: Layout, row: Row) -> State:
    """What the run's locks say. A completed run that none holds is at rest, which saves a look at its attempts."""
    from git_agent_runner.store.records import attempts  # the list alone needs none

    if row.status == "completed" and not locks.is_locked(layout.run_lock(row.handle)):
        return "waiting" if attempts.queued(layout, row.handle) else "finished"
    return attempts.state(layout, row.handle, row.run_id)


def _trusted(layout: Layout, folder: bytes, wanted: ListRequest) -> Listing | None:
    """What the cache says of some runs of many, if the folder is as it was then, and so are the files of these."""
    try:
        with open(layout.cache_file, "rb", opener=ordinary.opened) as file:
            first = file.readline(_FIRST)
            start, directory, size = (int(word) for word in first.split()[-3:])
            whole = os.fstat(file.fileno()).st_size == len(first) + size
            if not whole or first != _first(folder, start, directory, size):
                return None
            begin = file.seek(len(first) + start)
            lines: Iterator[bytes] = takewhile(rows.is_line, file)
            if wanted.branches is not None:
                lines = chain(
                    takewhile(rows.is_problem, file), _placed(file, begin, directory - start, wanted.branches)
                )
            chosen = _chosen(wanted, lines)
        same = all(stamp == _stamp(layout, stamp.rsplit(" ", 2)[0]) for stamp in map(rows.stamp_of, chosen))
        return _listing(layout, chosen) if same else None
    except (OSError, ValueError, OverflowError):
        return None


def _placed(file: BinaryIO, begin: int, directory: int, names: Iterable[str | None]) -> Iterator[bytes]:
    """The lines of these branches alone, however many there are."""
    file.seek(begin + directory)
    for place in rows.places(file.read(), names):
        file.seek(begin + place)
        yield file.readline()


def _chosen(wanted: ListRequest, lines: Iterable[bytes]) -> list[bytes]:
    """The lines that are wanted, and those of records that cannot be read."""
    of_branch = None if wanted.branches is None else rows.of_branch(wanted.branches)
    chosen, found = [], 0
    for line in lines:
        if not rows.is_problem(line):
            if not (of_branch is None or of_branch(line)) or not (wanted.reviews or rows.is_work(line)):
                continue
            found += 1
        chosen.append(line)
        if found == wanted.newest:
            break
    return chosen


def _listing(layout: Layout, lines: list[bytes]) -> Listing:
    problems = [rows.problem(layout, line) for line in lines if rows.is_problem(line)]
    return Listing([rows.row(line) for line in lines if not rows.is_problem(line)], problems[::-1])


def _all_lines(
    layout: Layout,
    now: float,
    folder: bytes,
    stamps: list[str],
    first: bytes,
    cache: bytes,
    warn: Callable[[str], None],
) -> Iterable[bytes]:
    head = _head(stamps)
    if not cache.startswith(head):
        return _renewed(layout, now, folder, stamps, cache, warn)
    if len(stamps) > _MANY and folder not in first.split():  # what changed there was no record
        _write(layout.cache_file, _first(folder, *(int(word) for word in first.split()[-3:])), cache)
    return _lines(cache, len(head))


def _renewed(
    layout: Layout, now: float, folder: bytes, stamps: list[str], cache: bytes, warn: Callable[[str], None]
) -> list[bytes]:
    """All lines, sorted: of entries in the cache that still count, and of records read again."""
    present = set(stamps)
    cached = {rows.stamp_of(line): line for line in _lines(cache, cache.find(b"\n\n") + 2)}
    kept = [line for stamp, line in cached.items() if stamp in present]
    passing: dict[str, str] = {}
    trusted_before = int(now * 1e9) - _RACY_NS
    for stamp in [stamp for stamp in stamps if stamp not in cached]:
        name, _, mtime = stamp.rsplit(" ", 2)
        if handle := handle_of_file(name):
            rest, lasting = _read(layout, handle, warn)
            if lasting and int(mtime) < trusted_before:
                kept.append(rows.line(rest, stamp))
            else:
                passing[stamp] = rest
    kept.sort(reverse=True)
    lasting_stamps = [stamp for stamp in stamps if stamp not in passing]
    _save(layout.cache_file, UNKNOWN if passing else folder, lasting_stamps, kept, cache)
    return sorted([*kept, *(rows.line(rest, stamp) for stamp, rest in passing.items() if rest)], reverse=True)


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


def _stamp(layout: Layout, name: str) -> str:
    """Raises OSError."""
    found = os.stat(f"{layout.index_dir}/{name}")
    return f"{name} {found.st_size} {found.st_mtime_ns}"


def folder_state(layout: Layout, now: float) -> bytes:
    """What changes with every file that is made, replaced or removed in the index; unknown while that continues."""
    try:
        found = os.stat(layout.index_dir)
    except OSError:
        return UNKNOWN
    lasting = max(found.st_mtime_ns, found.st_ctime_ns) < int(now * 1e9) - _RACY_NS
    return b"%d,%d,%d" % (found.st_ino, found.st_mtime_ns, found.st_ctime_ns) if lasting else UNKNOWN


def _load(path: str) -> tuple[bytes, bytes]:
    """The first line of the cache and the rest; empty unless it is whole and of this version."""
    try:
        first, newline, cache = ordinary.whole(path, _LARGEST).partition(b"\n")
    except OSError:
        return b"", b""
    lines = cache.count(b"\n", cache.find(b"\n\n") + 2) - 1
    whole = first.startswith(_HEADER + b" ") and len(first.split()) == _WORDS and cache.endswith(b"\nend %d\n" % lines)
    return (first + newline, cache) if whole else (b"", b"")


def _first(folder: bytes, start: int, directory: int, size: int) -> bytes:
    """The first line: the folder, and where in what follows the rows begin, and their directory, and where it ends."""
    return b"%b %b %d %d %d\n" % (_HEADER, folder, start, directory, size)


def _head(stamps: list[str]) -> bytes:
    return b"%b\n\n" % "\n".join(stamps).encode("utf-8", "surrogatepass")


def _lines(cache: bytes, start: int) -> Iterator[bytes]:
    """The line of each entry, from the first to as far as they are asked for."""
    with BytesIO(cache) as stream:
        stream.seek(start)
        yield from filter(rows.is_line, stream)


def _save(path: str, folder: bytes, stamps: list[str], lines: list[bytes], old: bytes) -> None:
    head, body = _head(stamps), b"".join(lines)
    directory, known = (rows.directory(lines), folder) if len(stamps) > _MANY else (b"", UNKNOWN)
    cache = b"%b%b%bend %d\n" % (head, body, directory, len(lines) + directory.count(b"\n"))
    if cache != old and (stamps or old):
        _write(path, _first(known, len(head), len(head) + len(body), len(cache)), cache)


def _write(path: str, first: bytes, cache: bytes) -> None:
    with suppress(UserError):
        atomic.make_dir(os.path.dirname(path))
        atomic.write(path, first + cache, durable=False)


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
        return rows.problem_text(handle, line, problem.reason), not isinstance(problem.__cause__, OSError)
    for text in warnings:
        warn(text)
    return rows.text(record), not warnings


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
