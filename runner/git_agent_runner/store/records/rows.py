"""One row of the list of runs, and the line that it is in the list's cache: `<text>\\t<stamp>\\n`, where the stamp says
which state of which file it was read from.

The lines are sorted downwards, so that the newest run comes first, and what is wrong before all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Record
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records.document import CorruptRecord

_RUN, _PROBLEM = "r", "~"  # in this order
_NONE = "\\N"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n"})
_ESCAPED = re.compile(r"\\(.)")
_UTF_8 = ("utf-8", "surrogatepass")


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


_ATTEMPTS = Row._fields.index("attempts")
_BRANCH = Row._fields.index("branch") + 1  # after what the lines are sorted by


def by_start(row: Row) -> tuple[float, str]:
    """A key that sorts rows by their start, newest first; one that cannot be read is taken from the run's id."""
    return (-(moment(row.created_at) or moment(row.run_id[:16]) or 0.0), row.run_id)


def text(record: Record) -> str:
    """The line of a record, without its stamp."""
    return _join(_RUN, _columns(record))


def problem_text(handle: str, line: str | None, reason: str) -> str:
    """The line of a record that cannot be read, without its stamp."""
    return _join(_PROBLEM, [handle, line, reason])


def line(text: str, stamp: str) -> bytes:
    return f"{text}\t{stamp}\n".encode(*_UTF_8)


def is_line(line: bytes) -> bool:
    return b"\t" in line


def is_problem(line: bytes) -> bool:
    return line.startswith(_PROBLEM.encode())


def is_work(line: bytes) -> bool:
    """Is it the line of a run that can be a branch's?"""
    return line.rpartition(b"\t")[0].endswith(b"\twork")


def stamp_of(line: bytes) -> str:
    return line[line.rfind(b"\t") + 1 : -1].decode(*_UTF_8)


def of_branch(names: Iterable[str | None]) -> Callable[[bytes], bool]:
    """Is it the line of a run with one of these branches? Nothing is decoded for that."""
    known = [[escaped(name)] for name in names]
    return lambda line: line.split(b"\t", _BRANCH + 1)[_BRANCH:-1] in known


def directory(lines: list[bytes]) -> bytes:
    """Where in all of these the lines of each branch begin: `@<place>,<place> <branch>\\n`."""
    places: dict[bytes, list[str]] = {}
    at = 0
    for line in lines:
        if not is_problem(line):
            places.setdefault(line.split(b"\t", _BRANCH + 1)[_BRANCH], []).append(str(at))
        at += len(line)
    return b"".join([b"@%b %b\n" % (",".join(found).encode(), branch) for branch, found in places.items()])


def places(directory: bytes, names: Iterable[str | None]) -> list[int]:
    """Where the lines of these branches begin, in order."""
    return sorted(place for name in names for place in _places(b"\n" + directory, escaped(name)))


def _places(directory: bytes, branch: bytes) -> list[int]:
    needle, end = b" %b\n" % branch, 0
    while (at := directory.find(needle, end)) >= 0:
        end = at + len(needle) - 1
        found, _, name = directory[directory.rfind(b"\n", 0, at) + 2 : end].partition(b" ")
        if name == branch:
            return [int(place) for place in found.split(b",")]
    return []


def row(line: bytes) -> Row:
    """Raises ValueError for a line that we would not write."""
    _, *columns = _split(line)
    if len(columns) != len(Row._fields):
        raise ValueError(line)
    columns[_ATTEMPTS] = int(columns[_ATTEMPTS])
    return Row(*columns)


def problem(layout: Layout, line: bytes) -> CorruptRecord:
    """Raises ValueError, as `row` does."""
    handle, number, reason = _split(line)
    return CorruptRecord(layout.index_file(handle), number and int(number), reason)


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


def _join(tag: str, columns: list[str | None]) -> str:
    return tag + "\t".join(map(_escaped, columns))


def escaped(text: str | None) -> bytes:
    """As a column of a line: without tabs and line breaks."""
    return _escaped(text).encode(*_UTF_8)


def _escaped(text: str | None) -> str:
    return _NONE if text is None else text.translate(_ESCAPES)


def _split(line: bytes) -> list[Any]:
    rest = line[1 : line.rfind(b"\t")].decode(*_UTF_8)
    columns: list[Any] = rest.split("\t")
    if "\\" not in rest:
        return columns
    return [None if text == _NONE else _ESCAPED.sub(_unescape, text) for text in columns]


def _unescape(match: re.Match[str]) -> str:
    return {"t": "\t", "n": "\n"}.get(match[1], match[1])
