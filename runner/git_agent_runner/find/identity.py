"""Branches have an identity that git keeps nowhere: whose is a run, of all branches that bear or bore its name?

A name is used again, a branch is not. What distinguishes them is a branch's reflog, which git deletes with the branch
and takes along on a rename: when it was made, which names it had, and when. A run was its branch's under the name in
its record at the time in its record. The pointer, which git moves and removes, too, decides where a reflog says
nothing: bare layouts, `core.logAllRefUpdates=false`, expired entries.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Repository
from git_agent_runner.git import HEADS, refs
from git_agent_runner.git.refs import ReflogEntry
from git_agent_runner.git.settings import Config
from git_agent_runner.store import pointer

if TYPE_CHECKING:
    from git_agent_runner.store.records.rows import Row

_MOVED = re.compile(r"Branch: (renamed|copied) refs/heads/(\S+) to refs/heads/\S+")
_CREATED = "branch: Created from "
_WORK = ("commit", "cherry-pick", "revert", "am")
_NOW = 2.0**52  # later than any time that there is


class KnownRun(Protocol):
    """What a record, a row of the list and a note say of a run."""

    @property
    def handle(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def branch(self) -> str | None: ...
    @property
    def updated_at(self) -> str: ...


class Span(NamedTuple):
    """The branch had this name from second `since` to second `until`."""

    name: str
    since: float
    until: float = inf

    def has(self, run: KnownRun, *, held: bool) -> bool:
        """Did the run end under this name? Reflogs know seconds: of the runs that ended within the first one, those
        that began before it are an earlier branch's. If the branch has the run's pointer, those count, too, and one
        that ended later than the name: then another clock has dated the rename.
        """
        if run.branch != self.name:
            return False
        ended = math.floor(moment(run.updated_at) or _NOW)  # what a person has edited so that it is no time
        if ended == self.since:
            began = moment(run.run_id.partition("-")[0])
            return held or began is None or began >= self.since
        return self.since < ended and (held or ended <= self.until)


class Life(NamedTuple):
    """One branch under all of its names, the oldest first.

    `source`: the names, before that, of the branch that it is a copy of. `unsure`: names that it has had for a time
    that nothing tells; the span of such a name begins when the branch is first known to have been there. `worked`: when
    the newest commit was made on it.
    """

    spans: tuple[Span, ...]
    source: tuple[Span, ...] = ()
    unsure: frozenset[str] = frozenset()
    worked: float = -inf

    @property
    def names(self) -> set[str]:
        return {*self.unsure, *(span.name for span in self.spans)}


class Claim(IntEnum):
    """How good a branch's claim to a run is. Of several branches the one with the best has it."""

    NONE = 0
    NAMESAKE = 1  # the name alone: how old the branch is cannot be known
    HEIR = 2  # a copy with the pointer of the branch that it was copied from
    MOVED = 3  # the pointer of a branch of unknown age, which has another name than the record
    HELD = 4  # the pointer of a branch of unknown age
    OWN = 5  # the branch had the record's name at the record's time


def lived(name: str, entries: Iterable[ReflogEntry], remotes: tuple[str, ...], now: float) -> Life:
    """What a reflog, its oldest entry first, tells of the branch that is called `name` now."""
    entries = [entry for entry in entries if entry.when <= now]  # the future was written by a clock that was wrong
    moves = [(entry.when, found.group(1, 2)) for entry in entries if (found := _MOVED.fullmatch(entry.what))]
    called = moves[0][1][1] if moves else name
    since, told = _beginning(entries[0], called, remotes) if entries else (inf, False)
    spans: list[Span] = []
    source: tuple[Span, ...] = ()
    for when, (how, old) in moves:
        spans.append(Span(old, since, when))
        if how == "copied":
            source, spans, told = (*source, *spans), [], True
        since = when
    spans.append(Span(name, since))
    unsure = frozenset[str]() if told else frozenset({spans[0].name})
    worked = max((entry.when for entry in entries if entry.what.startswith(_WORK)), default=-inf)
    return Life(tuple(spans), source, unsure, worked)


def _beginning(first: ReflogEntry, name: str, remotes: tuple[str, ...]) -> tuple[float, bool]:
    """(since when the branch is there, whether that is its birth); a clone, a first commit, and the remote branch of
    the same name are older than their local branch.
    """
    if first.what.startswith(_CREATED):
        source = first.what.removeprefix(_CREATED).removeprefix("refs/").removeprefix("remotes/")
        return (-inf if any(source == f"{remote}/{name}" for remote in remotes) else first.when), True
    if first.what.startswith(("clone: ", "commit (initial): ")):
        return -inf, True
    if first.what.startswith(("fetch", "pull")):
        pairs = [word.lstrip("+").split(":") for word in first.what.partition(": ")[0].split() if ":" in word]
        sources = [pair[0].removeprefix(HEADS) for pair in pairs if pair[-1].removeprefix(HEADS) == name]
        return (first.when if sources and name not in sources else -inf), True
    return first.when, False


class Identities:
    """All branches of a repository and the runs that are theirs; each reflog is read once, when it is asked for."""

    def __init__(self, repo: Repository, config: Config, now: float, record: Callable[[str], KnownRun | None]) -> None:
        self.pointers = pointer.every(repo, config)
        self._repo = repo
        self._remotes = config.subsections("remote", "url")
        self._now = now
        self._record = record
        self._lives: dict[str, Life | None] = {}
        self._begun: dict[str, bool] = {}
        self._all_read = False

    @cached_property
    def _holders(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, handles in self.pointers.items():
            for handle in handles:
                found.setdefault(handle, []).append(name)
        return found

    @cached_property
    def living(self) -> dict[str, Life]:
        """Every branch that there is: one process for all reflogs, one for those without."""
        logs = refs.reflogs(self._repo)
        names = refs.branches(self._repo, None).heads
        self._lives |= {name: self._life(name, logs.get(name, [])) for name in names if name not in self._lives}
        self._all_read = True
        return {name: life for name in names if (life := self._lives[name])}

    @cached_property
    def _bearers(self) -> dict[str, list[str]]:
        """Each name that a branch has or had -> the branches: without a pointer only these may have a claim by it."""
        found: dict[str, list[str]] = {}
        for name, life in self.living.items():
            for borne in life.names:
                found.setdefault(borne, []).append(name)
        return found

    def holders(self, handle: str) -> list[str]:
        """The branches, living or not, whose section of the configuration has a pointer to this run."""
        return self._holders.get(handle, [])

    def learn_all(self) -> int:
        """Read what will be asked of any branch at once; how many there are."""
        return len(self.living)

    def learn(self, names: Iterable[str]) -> None:
        """Read what will be asked of these branches at once."""
        heads = refs.heads(self._repo, {name for name in names if name not in self._lives})
        logs = refs.reflogs(self._repo, heads)
        self._lives |= {name: self._life(name, logs.get(name, [])) for name in heads}
        self._lives |= {name: None for name in names if name not in self._lives}

    def life(self, name: str) -> Life | None:
        """None: there is no such branch."""
        if name not in self._lives:
            if self._all_read:
                return None
            entries = refs.reflog(self._repo, name)
            self._lives[name] = None if entries is None else self._life(name, entries)
        return self._lives[name]

    def _life(self, name: str, entries: list[ReflogEntry]) -> Life:
        life = lived(name, entries, self._remotes, self._now)
        if len(life.spans) == 1 and not life.unsure:
            return life
        own = [record for handle in self.pointers.get(name, ()) if (record := self._record(handle))]
        *before, last = life.spans
        if before:
            witnessed = (
                _witnessed(span, own) if span.name not in _names(life, after=span) else span for span in before
            )
            return life._replace(spans=(*witnessed, last))
        others = {record.branch for record in own if record.branch and record.branch != name}
        if others and len(own) > 1:
            # A pointer is written alone: this branch was moved onto one that bore the name, and had a pointer, too.
            return life._replace(spans=(last,), unsure=frozenset(others))
        # A ref file is made again whenever the branch moves: it was there at that time, and may be older.
        last = last._replace(since=min(last.since, self._file_time(name)))
        return life._replace(spans=(last,), unsure=life.unsure | others)

    def _file_time(self, name: str) -> float:
        try:
            return int(os.stat(f"{self._repo.common_dir}/{HEADS}{name}").st_mtime)
        except OSError:  # packed, or in a reftable
            return inf

    def claim(self, name: str, run: KnownRun) -> Claim:
        """How good a claim the branch of this name has to the run."""
        held = run.handle in self.pointers.get(name, ())
        life = self.life(name)
        if life is None:  # unborn, or gone
            return Claim.HELD if held else Claim.NONE
        if _had(run, life, life.spans, held=held):
            return Claim.OWN
        if held and run.branch == name and self._made_since(life, run):
            return Claim.NAMESAKE
        if held and (run.branch is None or run.branch in life.unsure):
            return Claim.MOVED if run.branch not in (None, name) else Claim.HELD
        if run.branch in life.unsure:
            return Claim.NAMESAKE
        before = held and _had(run, life, life.source, held=True) and not self._left_over(name, run, life)
        return Claim.HEIR if before else Claim.NONE

    def _made_since(self, life: Life, run: KnownRun) -> bool:
        """Was the branch made after the run, by a program that leaves a deleted branch's pointer?"""
        name, since = life.spans[-1][:2]
        return name in life.unsure and (moment(run.updated_at) or _NOW) < since < inf and self._begins_at(name, since)

    def _begins_at(self, name: str, since: float) -> bool:
        if name not in self._begun:
            self._begun[name] = refs.begins_at(self._repo, name, since)
        return self._begun[name]

    def _left_over(self, name: str, run: KnownRun, life: Life) -> bool:
        """Is it the pointer of a branch that a copy was moved onto? The copy brought one only: its source's newest, or
        that of its own run. What was there before may have the name that it was moved onto.
        """
        held = {handle for handle in self.pointers[name] if handle != run.handle}
        others = [other for handle in held if (other := self._record(handle)) and other.branch != name]
        return any(
            run.branch == name or _later(other, run) or _had(other, life, life.spans, held=True) for other in others
        )

    def rival(self, name: str, run: KnownRun) -> str | None:
        """Another branch that has a better claim to this run; an equal one will do if it alone has the pointer."""
        ours, holders = self.claim(name, run), self.holders(run.handle)
        if ours in (Claim.HEIR, Claim.MOVED) and (owner := self.owner(run)) != name:
            return owner
        others = [other for other in holders if other != name and self.life(other)]
        least = ours + 1 if name in holders else max(ours, Claim.HEIR)
        return next((other for other in others if self.claim(other, run) >= least), None)

    def owner(self, run: KnownRun, among: Iterable[str] | None = None) -> str | None:
        """The name that the run's branch has now; None where it has no branch, or that is gone. `among`: the branches
        to look at, by default all.
        """
        best = self._best(run, [name for name in (run.branch, *self.holders(run.handle)) if name])
        if run.branch is None or (best and self.claim(best, run) >= Claim.HELD):
            return best
        known = sorted({*self._bearers.get(run.branch, ()), *self.holders(run.handle)}) if among is None else among
        return self._best(run, known)

    def current(self, rows: list[Row], *, everywhere: bool = False) -> list[Row]:
        """The rows with the names that their branches have now. Where not all branches are to be looked at, these are
        the rows' own and those with a pointer to one: a branch's pointer is to its newest run.
        """
        odd = {row.handle for row in rows if row.branch and self.holders(row.handle) != [row.branch]}
        near = None
        if odd and everywhere:
            self.learn_all()
        elif odd:
            near = {name for row in rows for name in (row.branch, *self.holders(row.handle)) if name}
            self.learn(near)
        return [row._replace(branch=self.owner(row, near) or row.branch) if row.handle in odd else row for row in rows]

    def _best(self, run: KnownRun, names: Iterable[str]) -> str | None:
        claims = {name: self.claim(name, run) for name in names if self.life(name)}
        holders = self.holders(run.handle)
        best = max(claims, key=lambda name: (claims[name], name in holders, name == run.branch), default=None)
        return best if best and claims[best] else None


def _had(run: KnownRun, life: Life, spans: tuple[Span, ...], *, held: bool) -> bool:
    """Did the run end under one of these names of the branch? Where it had a name twice, its pointer proves nothing
    for the first time: a branch that bore the name in between, and that it was moved onto, has left one.
    """
    borne = [span for span in spans if span.name == run.branch]
    return any(span.has(run, held=held and run.branch not in _names(life, after=span)) for span in borne)


def _names(life: Life, *, after: Span) -> set[str]:
    """The names that the branch has had since."""
    spans = (*life.source, *life.spans)
    return {span.name for span in spans[spans.index(after) + 1 :]}


def _later(one: KnownRun, other: KnownRun) -> bool:
    return (moment(one.updated_at) or 0.0) > (moment(other.updated_at) or 0.0)


def _witnessed(span: Span, own: list[KnownRun]) -> Span:
    """The branch's own run may have ended under an old name after the rename, which then another clock dated."""
    ends = [math.floor(ended) for run in own if run.branch == span.name and (ended := moment(run.updated_at))]
    return span._replace(until=max([span.until, *ends]))
