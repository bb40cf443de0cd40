"""Runs that went on elsewhere since they did here, by the notes that were fetched: a file each in `agent/continued`."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core import atomic
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record, Repository
from git_agent_runner.core.text import shown
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records.index import Index

_LARGEST = 1 << 12  # bytes


class Continued(NamedTuple):
    """What the newest note says: on which host, and when."""

    host: str
    updated_at: str

    def line(self, handle: str) -> str:
        return f"run {handle} continued on host '{shown(self.host)}', last at {shown(self.updated_at)}"


def mark(repo: Repository, layout: Layout, index: Index) -> None:
    """Write down which runs of here have a note that is newer than their record. Raises UserError."""
    from git_agent_runner.store import notes  # a resume asks for one file only

    known = set(index.handles())
    newest = {note.handle: note for runs in notes.read(repo).by_commit.values() for note in sorted(runs, key=notes.age)}
    for handle in known & newest.keys():
        try:
            record = index.read(handle)
        except UserError:  # named by others
            continue
        note = newest[handle]
        if notes.age(note) > (moment(record.updated_at) or 0.0):
            atomic.make_dir(os.path.dirname(_path(layout, handle)))
            data = json.dumps([note.host, note.updated_at]).encode()
            atomic.write(_path(layout, handle), data, durable=False)


def read(layout: Layout, handle: str) -> Continued | None:
    try:
        host, updated_at = json.loads(ordinary.head(_path(layout, handle), _LARGEST))
        return Continued(str(host), str(updated_at))
    except (OSError, ValueError, TypeError):
        return None


def clear(layout: Layout, handle: str) -> None:
    atomic.remove(_path(layout, handle))


def refused(record: Record, elsewhere: Continued, why: str) -> UserError:
    """For a resume that would go on with what is older."""
    here = f'git agent resume {record.handle} --session {record.session.value} "<message>"'
    return UserError(
        f"{elsewhere.line(record.handle)}; {why}",
        code="session_behind",
        hints=(f"to continue with what is here, and let the two part ways: {here}",),
    )


def _path(layout: Layout, handle: str) -> str:
    return f"{layout.root}/continued/{handle}"
