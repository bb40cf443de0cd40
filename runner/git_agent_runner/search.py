"""One look for a run: the facts that the steps of `resolve` share, each asked for once and only when needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner import refs
from git_agent_runner.errors import UserError
from git_agent_runner.model import Note, Record, Repository
from git_agent_runner.settings import Config
from git_agent_runner.store import pointer
from git_agent_runner.store.document import CorruptRecord
from git_agent_runner.store.index import Index
from git_agent_runner.times import moment

if TYPE_CHECKING:
    from git_agent_runner.store.cache import Row


class Resolved(NamedTuple):
    """The run. `record` is None when only a note knows it, as in a clone; its branch is the run's branch now.

    `how` says for -v which step answered. `others` are handles that would have been as good. `says` are lines to say
    in any case.
    """

    handle: str
    record: Record | None
    note: Note | None
    how: str
    others: tuple[str, ...] = ()
    says: tuple[str, ...] = ()


class Search:
    """One look for a run: what was learned on the way, so that no step asks twice."""

    branch: str | None = None

    def __init__(self, repo: Repository, config: Config, index: Index, now: float) -> None:
        self.repo = repo
        self.config = config
        self.index = index
        self.now = now
        self.says: dict[str, None] = {}  # lines, each once
        self.corrupt: CorruptRecord | None = None
        self.passed_over: dict[str, str] = {}
        self._records: dict[str, Record | None] = {}

    @cached_property
    def pointers(self) -> dict[str, str]:
        return pointer.read(self.repo, self.config)

    @cached_property
    def branches(self) -> refs.Branches:
        return refs.branches(self.repo, self.config.last("init.defaultbranch"))

    @cached_property
    def birth(self) -> int | None:
        if self.branch is None:
            return None
        birth = refs.birth(self.repo, self.branch, self.config.subsections("remote", "url"))
        # A birth in the future was written by a clock that was wrong, and proves nothing.
        return None if birth is None or birth > self.now else birth

    @cached_property
    def rows(self) -> list[Row]:
        from git_agent_runner.store.cache import listing  # not for a branch with a pointer

        rows, problems = listing(self.index.layout, self.now)
        self.says |= dict.fromkeys(problem.message for problem in problems)
        return rows

    @property
    def tip(self) -> str | None:
        return self.branches.heads.get(self.branch or "")

    @property
    def unborn(self) -> bool:
        return self.repo.head is None and self.branch == self.repo.branch

    def record(self, handle: str) -> Record | None:
        """The record, None if there is none or it cannot be read: then it is named, and the search goes on."""
        if handle not in self._records:
            self._records[handle] = self._read(handle)
        return self._records[handle]

    def _read(self, handle: str) -> Record | None:
        try:
            return self.index.read(handle)
        except CorruptRecord as error:
            self.corrupt = self.corrupt or error
            self.say(error.message)
        except UserError as error:
            if error.code != "unknown_handle":
                raise
        return None

    def say(self, line: str) -> None:
        self.says[line] = None

    def found(self, record: Record, how: str, others: tuple[str, ...] = ()) -> Resolved:
        record = record._replace(branch=self.branch_now(record))
        return Resolved(record.handle, record, None, how, others, tuple(self.says))

    def noted(self, runs: tuple[Note, ...], how: str) -> Resolved:
        note, *others = runs
        names = tuple(other.handle for other in others)
        if record := self.record(note.handle):
            return self.found(record, how, names)._replace(note=note)
        return Resolved(note.handle, None, note, how, names, tuple(self.says))

    def branch_now(self, record: Record) -> str | None:
        """`git branch -m` moves the pointer; the record learns of it here."""
        holders = [branch for branch, handle in self.pointers.items() if handle == record.handle]
        if record.branch in holders or not holders:
            return record.branch
        return holders[0] if len(holders) == 1 else self.branch if self.branch in holders else record.branch

    def counts(self, handle: str, run_id: str, updated_at: str) -> bool:
        """May this run be this branch's? If not, the reason is kept for the message."""
        holders = [name for name, held in self.pointers.items() if held == handle and name != self.branch]
        owner = next((name for name in holders if name in self.branches.heads), None)
        if owner is not None:
            self.passed_over[handle] = f"it is the run of branch '{owner}'"
        elif self.too_old(updated_at, run_id.partition("-")[0]):
            self.passed_over[handle] = f"it is older than this branch '{self.branch}'"
        return handle not in self.passed_over

    def too_old(self, updated_at: str, began: str | None = None) -> bool:
        """Did the run end before the branch was made? Reflogs know seconds: of runs that ended within that one, those
        that `began` before it are an earlier branch's of that name. With a pointer, which git removes, all count.
        """
        ended, start = moment(updated_at), moment(began)
        if self.birth is None or ended is None:  # None, too, where a person has edited the record
            return False
        if int(ended) == self.birth:
            return start is not None and int(start) < self.birth
        return ended < self.birth
