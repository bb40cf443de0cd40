"""The index of runs: one record per handle, read and changed one at a time. What is corrupt is named and kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple

from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.store import records
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import HANDLE_LENGTH, HEX, Layout, is_handle
from git_agent_runner.store.records.document import CorruptRecord, ignore, read_text

SUFFIX = ".yaml"
PREFIX_LENGTH = 4
_PATIENCE = 60.0  # seconds; the lock is held for milliseconds, unless its holder was stopped


class HandleTaken(UserError):  # noqa: N818  reads as what it says
    """There is a record of this handle already: draw another."""

    def __init__(self, handle: str) -> None:
        super().__init__(f"the handle {handle} is taken", code="handle_taken")


class Index(NamedTuple):
    """`warn` gets a sentence about a record that is readable but not as it should be: a key that is there twice."""

    layout: Layout
    warn: Callable[[str], None] = ignore

    def handles(self) -> list[str]:
        """All handles that have a file, sorted. What else lies in the folder (editors' backups) is not ours."""
        return sorted(handle for name in list_names(self.layout) if (handle := handle_of_file(name)))

    def find_prefix(self, text: str) -> list[str]:
        """The handles that begin with `text`, which has 4 characters or more; else none."""
        if not PREFIX_LENGTH <= len(text) <= HANDLE_LENGTH or text.strip(HEX):
            return []
        if len(text) == HANDLE_LENGTH:
            return [text] if os.path.lexists(self.layout.index_file(text)) else []
        return [handle for handle in self.handles() if handle.startswith(text)]

    def read(self, handle: str) -> Record:
        """Raises UserError `unknown_handle` or `handle_malformed`, and CorruptRecord."""
        return self._read(handle)[1]

    def read_all(self, each: Callable[[list[str]], Iterable[str]] = iter) -> tuple[list[Record], list[CorruptRecord]]:
        """Every record, by handle, and what is wrong with those that cannot be read: none hides another. `each` may
        count the handles as they go by.
        """
        found: list[Record] = []
        problems: list[CorruptRecord] = []
        for handle in each(self.handles()):
            try:
                found.append(self.read(handle))
            except CorruptRecord as problem:
                problems.append(problem)
            except UserError as error:
                if error.code != "unknown_handle":  # removed since we looked
                    raise
        return found, problems

    def create(self, record: Record) -> None:
        """Write a new record. Raises HandleTaken when there is one, corrupt or not; UserError `write_failed`."""
        path = self.layout.index_file(record.handle)
        with self._locked(record.handle):
            if os.path.lexists(path):
                raise HandleTaken(record.handle)
            atomic.make_dir(self.layout.index_dir)
            atomic.write(path, records.render(record).encode())

    def update(self, handle: str, change: Callable[[Record], Record]) -> Record:
        """Read, change and write a record as one step; the new record. Nothing is written when nothing changed.

        Raises what `read` raises, and UserError `write_failed`: the file then stands as it was, byte for byte.
        `change` must take no lock, and keep the handle.
        """
        with self._locked(handle):
            text, old = self._read(handle)
            new = change(old)
            if new.handle != handle:
                raise ValueError(f"a record cannot move from {handle} to {new.handle}")
            if new != old:
                path = self.layout.index_file(handle)
                atomic.write(path, records.update_text(text, new, path).encode())
        return new

    def repair(self, record: Record) -> str | None:
        """Put a rebuilt record in the place of a corrupt or missing one. The path where the corrupt bytes went.

        A record that can be read, since another process was faster or a person corrected it, stays.
        """
        path = self.layout.index_file(record.handle)
        with self._locked(record.handle):
            kept = None
            try:
                self._read(record.handle)
            except CorruptRecord:
                kept = _set_aside(path)
            except UserError:
                atomic.make_dir(self.layout.index_dir)
            else:
                return None
            atomic.write(path, records.render(record).encode())
        return kept

    def remove(self, handle: str) -> None:
        """Forget a record, corrupt or not; one that is gone is no error. Raises UserError `write_failed`."""
        with self._locked(handle):
            atomic.remove(self.layout.index_file(handle))

    def _read(self, handle: str) -> tuple[str, Record]:
        path = self.layout.index_file(handle)
        try:
            text = read_text(path)
        except FileNotFoundError:
            raise UserError(
                f"there is no run {handle} in this repository",
                code="unknown_handle",
                hints=("`git agent list` shows the runs",),
            ) from None
        return text, parse_file(text, path, handle, self.warn)

    def _locked(self, handle: str) -> AbstractContextManager[None]:
        return locks.locked(self.layout.record_lock(handle), wait=_PATIENCE)


def list_names(layout: Layout) -> list[str]:
    """The file names in the index, in no order; none before the first run. Raises UserError `index_unreadable`."""
    try:
        return os.listdir(layout.index_dir)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"cannot list '{layout.index_dir}': {error.strerror}", code="index_unreadable") from error


def handle_of_file(name: str) -> str | None:
    handle = name.removesuffix(SUFFIX)
    return handle if name.endswith(SUFFIX) and is_handle(handle) else None


def parse_file(text: str, path: str, handle: str, warn: Callable[[str], None]) -> Record:
    """The record in the file of `handle`. Raises CorruptRecord, also when it is another run's."""
    record = records.parse(text, path, warn)
    if record.handle != handle:
        raise CorruptRecord(path, None, f"`handle` is {record.handle}, but the file is named {handle}{SUFFIX}")
    return record


def _set_aside(path: str) -> str:
    """Rename the corrupt file to a name that is free, in the same folder."""
    number = 1
    while os.path.lexists(kept := f"{path}.corrupt-{number}"):
        number += 1
    os.rename(path, kept)
    return kept
