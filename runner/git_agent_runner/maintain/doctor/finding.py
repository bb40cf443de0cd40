"""What `git agent doctor` looks at, read once, and what it finds. Each kind of finding has a `doctor_*` module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from git_agent_runner.console.progress import counted
from git_agent_runner.context import Context
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record, State
from git_agent_runner.store import notes, session_copies
from git_agent_runner.store.files.layout import Layout, handle_of, is_run_id
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.document import CorruptRecord

REPAIR = "git agent doctor --repair"
PRUNE = "git agent doctor --prune"
SETTLED = ("dead", "finished")  # states of runs that no process is at


class Finding(NamedTuple):
    """One thing that is wrong. `repair` fixes it and deletes nothing that was ever whole; `prune` may delete.

    Both raise UserError where it cannot be done.
    """

    code: str
    problem: str
    fix: str
    repair: Callable[[], object] | None = None
    prune: Callable[[], object] | None = None


def key_twice(problem: str) -> Finding:
    """Which of the two is right, only the person knows."""
    return Finding("record_doubled", problem, "delete one of these lines")


class AttemptStates:
    """The attempts and the states of runs, each read once for all that ask. `temporary` are the files of that kind,
    `copied` the runs that have copies of sessions.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._numbers: dict[str, list[int]] = {}
        self.temporary: list[str] = []
        self.copied: set[str] = set()
        self._attempts: dict[tuple[str, int], Attempt | CorruptRecord] = {}
        self._states: dict[str, State] = {}
        self.doubled: dict[tuple[str, int], list[str]] = {}  # sentences about keys that are there twice

        for folder, folders, files in below(layout.root):
            self.temporary += [f"{folder}/{name}" for name in files if name.endswith(".tmp")]
            run, _, last = folder.rpartition("/")
            if last == "attempts":
                self._numbers[run[len(layout.runs_dir) + 1 :]] = attempts.numbered([*folders, *files])
            elif last == session_copies.FOLDER:
                self.copied.add(run[len(layout.runs_dir) + 1 :])

    def numbers(self, run_id: str) -> list[int]:
        if run_id not in self._numbers:
            self._numbers[run_id] = attempts.numbers(self._layout, run_id)
        return self._numbers[run_id]

    def attempt(self, run_id: str, number: int) -> Attempt | CorruptRecord:
        key = run_id, number
        if key not in self._attempts:
            try:
                self._attempts[key] = attempts.read(
                    self._layout, run_id, number, lambda text: self.doubled.setdefault(key, []).append(text)
                )
            except CorruptRecord as problem:
                self._attempts[key] = problem
        return self._attempts[key]

    def is_whole(self, run_id: str) -> bool:
        """Has it attempts, and is nothing wrong with any of them?"""
        found = [(self.attempt(run_id, number), (run_id, number)) for number in self.numbers(run_id)]
        return bool(found) and not any(isinstance(one, CorruptRecord) or key in self.doubled for one, key in found)

    def readable(self, run_id: str) -> list[Attempt]:
        found = (self.attempt(run_id, number) for number in self.numbers(run_id))
        return [one for one in found if isinstance(one, Attempt)]

    def latest(self, run_id: str) -> Attempt | None:
        for number in reversed(self.numbers(run_id)):
            if isinstance(found := self.attempt(run_id, number), Attempt):
                return found
        return None

    def state(self, handle: str, run_id: str) -> State:
        if handle not in self._states:
            self._states[handle] = attempts.state(self._layout, handle, run_id, lambda _, run: self.latest(run))
        return self._states[handle]


def below(root: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder that can be read, and the names of the folders and of all else in it. A link is not followed."""
    left = [root]
    while left:
        folder = left.pop()
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
        except OSError:
            continue
        left += [f"{folder}/{name}" for name in folders]
        yield folder, folders, files


class RepositoryFacts(NamedTuple):
    """The repository's runs as they stand. `runs` are the run directories: handle -> run id. `now` is in seconds.

    `doubled`: sentences about records with a key that is there twice. `refused` are settings that count as not set.
    """

    ctx: Context
    runs: dict[str, str]
    records: dict[str, Record]
    corrupt: tuple[CorruptRecord, ...]
    noted: notes.Notes
    now: float
    seen: AttemptStates
    refused: tuple[UserError, ...] = ()
    doubled: tuple[str, ...] = ()


def look(ctx: Context, now: float, refused: tuple[UserError, ...] = ()) -> RepositoryFacts:
    """Raises UserError `index_unreadable`."""
    doubled: list[str] = []
    records, corrupt = ctx.runs._replace(warn=doubled.append).read_all(partial(counted, "records"))
    runs = {handle_of(name): name for name in run_ids(ctx)}
    by_handle = {record.handle: record for record in records}
    return RepositoryFacts(
        ctx, runs, by_handle, tuple(corrupt), _noted(ctx), now, AttemptStates(ctx.layout), refused, tuple(doubled)
    )


def still(ctx: Context, handle: str) -> Record | None:
    """The record as it is now, None where the run has been forgotten since we looked. To be asked under its lock."""
    try:
        return ctx.runs.read(handle)
    except UserError:
        return None


def run_ids(ctx: Context) -> list[str]:
    """A name that is no date is nobody's run, and no note could tell of it."""
    try:
        return sorted(name for name in os.listdir(ctx.layout.runs_dir) if is_run_id(name) and moment(name[:16]))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _noted(ctx: Context) -> notes.Notes:
    """None where the ref is damaged, which is a finding of its own."""
    try:
        return notes.read(ctx.repo)
    except UserError:
        return notes.Notes({}, ())
