"""One look for a run: the facts that the steps of `resolve` share, each asked for once and only when needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note, Record, Repository
from git_agent_runner.find.identity import Claim, Identities, KnownRun
from git_agent_runner.git import HEADS, refs
from git_agent_runner.git.settings import Config
from git_agent_runner.store.records.document import CorruptRecord
from git_agent_runner.store.records.index import Index

if TYPE_CHECKING:
    from git_agent_runner.store.records.rows import Row


class Resolved(NamedTuple):
    """The run. `record` is None when only a note knows it, as in a clone; its branch is the run's branch now.

    `how` says for -v which step answered. `others` are handles that would have been as good. `says` are lines to say
    in any case. `ties` is another one, for a caller that writes down that the run is the branch's from here on; empty
    where it is so already.
    """

    handle: str
    record: Record | None
    note: Note | None
    how: str
    others: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    ties: str = ""


def emptiness(row: Row) -> bool:
    """For sorting: a run that ended without a session must not hide one that can be resumed."""
    return row.session_value is None and row.status is not None


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
        self.passed_over: dict[str, str] = {}  # handle -> why
        self.doubtful: set[str] = set()  # of those: what may be this branch's anyway
        self._records: dict[str, Record | None] = {}

    @cached_property
    def identities(self) -> Identities:
        return Identities(self.repo, self.config, self.now, self.record)

    @cached_property
    def base(self) -> refs.Base:
        return refs.base(self.repo, self.config.last("init.defaultbranch"))

    @cached_property
    def rows(self) -> list[Row]:
        """Those of all runs that can be a branch's."""
        return self._listed()

    @cached_property
    def near_rows(self) -> list[Row]:
        """Those of this branch, under all of its names, and those without a branch."""
        return self._listed(branches=frozenset({*self.names, None}))

    def newest_rows(self, count: int) -> list[Row]:
        return self._listed(newest=count)

    def _listed(self, **what: Any) -> list[Row]:
        from git_agent_runner.store.records.listing import ListRequest, work  # not for a branch with a pointer

        rows, problems = work(self.index.layout, self.now, ListRequest(**what), self.index.warn)
        self.says |= dict.fromkeys(problem.message for problem in problems)
        return rows

    @cached_property
    def tip(self) -> str | None:
        """The branch's newest commit; None where there is no such branch."""
        if self.branch is None or self.branch == self.repo.branch:
            return self.repo.head if self.branch else None
        return refs.commit_of(self.repo, HEADS + self.branch)

    @property
    def unborn(self) -> bool:
        return self.repo.head is None and self.branch == self.repo.branch

    def record(self, handle: str) -> Record | None:
        """The record, None if there is none or it cannot be read: then it is named, and the search continues."""
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

    def found(self, record: Record, how: str, others: tuple[str, ...] = (), branch: str | None = None) -> Resolved:
        """`branch`: whose run it was found to be, where that is known."""
        record = record._replace(branch=branch or self.branch_now(record))
        return Resolved(record.handle, record, None, how, others, tuple(self.says))

    def noted(self, runs: tuple[Note, ...], how: str) -> Resolved:
        note, *others = runs
        names = tuple(other.handle for other in others)
        if record := self.record(note.handle):
            return self.found(record, how, names)._replace(note=note)
        return Resolved(note.handle, None, note, how, names, tuple(self.says))

    def branch_now(self, record: Record) -> str | None:
        """The record learns here that its branch was renamed."""
        return self.identities.owner(record) or record.branch

    @cached_property
    def names(self) -> set[str]:
        """All names that this branch has had."""
        life = self.identities.life(self.branch) if self.branch else None
        return {*(life.names if life else ()), *filter(None, (self.branch,))}

    def counts(self, run: KnownRun, *, noted: bool = False) -> bool:
        """May this run be this branch's? If not, the reason is kept for the message. `noted`: on the branch's own
        commits, which is more than a name.
        """
        assert self.branch is not None
        if self.identities.life(self.branch) is None:  # unborn, or gone: nothing but the name is left of it
            return True
        claim = self.identities.claim(self.branch, run)
        owner = self.identities.rival(self.branch, run) or (None if claim else self.identities.owner(run))
        if owner and owner != self.branch:
            copied = f", which '{self.branch}' was copied from" if claim else ""
            self.passed_over[run.handle] = f"it is the run of branch '{owner}'{copied}"
        elif claim is Claim.NONE:
            self.passed_over[run.handle] = f"it is older than this branch '{self.branch}'"
        elif claim is Claim.NAMESAKE and not noted:
            self.passed_over[run.handle] = f"git does not tell whether it is older than this branch '{self.branch}'"
            self.doubtful.add(run.handle)
        else:
            return True
        return False
