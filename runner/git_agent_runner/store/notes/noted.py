"""Which runs the notes name, fast: one derived file that may be deleted at any time, good for one state of the notes.

To read all notes takes as long as there are many. The file has a line for each run of each note, in git's order:
`<branch>\\t<commit>\\t<handle>`. When the notes have changed, only those that did are read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository
from git_agent_runner.git import GitError
from git_agent_runner.store import notes
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import rows

_HEADER = b"git-agent notes 1"
_FIRST = 200  # bytes, more than the first line has
_LARGEST = 256 << 20  # bytes
_BATCH = 5_000  # notes that are in memory at once


class Named(NamedTuple):
    """One run in the note of a commit."""

    commit: str
    handle: str


def of_branches(repo: Repository, layout: Layout, tip: str, names: Collection[str]) -> list[Named]:
    """The runs that the notes at `tip` name with one of these branches."""
    lines = _all(repo, layout, tip) if tip and names else b""
    found = [(at, line) for name in names for at, line in _of_branch(lines, rows.escaped(name))]
    return [Named(*line.decode().split("\t")[-2:]) for _, line in sorted(found)]


def _of_branch(lines: bytes, name: bytes) -> Iterator[tuple[int, bytes]]:
    needle = b"\n%b\t" % name
    at = lines.find(needle)
    while at >= 0:
        end = lines.index(b"\n", at + 1)
        yield at, lines[at + 1 : end]
        at = lines.find(needle, end)


def _all(repo: Repository, layout: Layout, tip: str) -> bytes:
    """All lines, between two line breaks and the sum."""
    old, lines = _load(layout.notes_file)
    if old == tip:
        return lines
    changed = _changed(repo, old, tip) if old else None
    # Not splitlines: that also splits at a carriage return, which a hostile name may have.
    known = [] if changed is None else [line + b"\n" for line in lines.split(b"\n")[1:-2]]
    commits = None if changed is None else tuple(changed)
    try:
        listing, whole = notes.listing(repo, commits, tip, check=True), True
    except GitError:  # what is damaged now may be fixed without a new tip
        listing, whole = notes.listing(repo, commits, tip), False
    kept = [line for line in known if _commit(line) not in (changed or ())]
    body = b"\n" + b"".join([*kept, *_read(repo, listing)])
    lines = b"%bend %d\n" % (body, len(body))
    lost = any(blob.size < 0 for blobs in listing.values() for blob in blobs)  # it may be had at another time
    if whole and not lost and os.path.isdir(layout.root):  # nothing is made in a clone that has no runs of its own
        _save(layout.notes_file, tip, lines)
    return lines


def _commit(line: bytes) -> str:
    return line.rsplit(b"\t", 2)[-2].decode()


def _changed(repo: Repository, old: str, new: str) -> dict[str, None] | None:
    """The commits whose notes differ; None where git does not know."""
    done = notes.shared(repo, "diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, check=False)
    return None if done.status else {path.replace("/", ""): None for path in done.out.split("\0")[:-1]}


def _read(repo: Repository, listing: dict[str, list[notes.NoteBlob]]) -> Iterator[bytes]:
    left = iter(listing.items())
    while batch := dict(islice(left, _BATCH)):
        for commit, runs in notes.contents(repo, batch).by_commit.items():
            yield from (
                b"%b\t%b\t%b\n" % (rows.escaped(run.branch), commit.encode(), run.handle.encode()) for run in runs
            )


def _load(path: str) -> tuple[str, bytes]:
    """The state of the notes that the lines are of; nothing unless the file is whole and of this version."""
    try:
        with open(path, "rb", opener=ordinary.opened) as file:
            first, lines = file.readline(_FIRST), file.read(_LARGEST)
    except OSError:
        return "", b""
    whole = first.startswith(_HEADER + b" ") and lines.endswith(b"\nend %d\n" % (lines.rfind(b"\n", 0, -1) + 1))
    return (first.removeprefix(_HEADER).decode(errors="replace").strip(), lines) if whole else ("", b"")


def _save(path: str, tip: str, lines: bytes) -> None:
    with suppress(UserError):
        atomic.make_dir(os.path.dirname(path))
        atomic.write(path, b"%b %b\n%b" % (_HEADER, tip.encode(), lines), durable=False)
