"""Which runs may be forgotten, and forgetting them: never one that is in progress, was never settled, or is a
branch's."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import State
from git_agent_runner.find.identity import Identities
from git_agent_runner.find.running import hold
from git_agent_runner.git import refs
from git_agent_runner.store import gitconfig, pointer
from git_agent_runner.store.notes import drop
from git_agent_runner.store.records import attempts, listing
from git_agent_runner.store.records.rows import Row

TRASH = ".pruned-"  # a run directory on its way out; what a killed git-agent left of one is a scrap to `doctor`


class Criteria(NamedTuple):
    """All that are given must hold. `older_than` is in seconds; `keep_size` in bytes: what all runs may take."""

    older_than: float | None = None
    keep_size: int | None = None
    merged: bool = False


class PruneItem(NamedTuple):
    """`size` in bytes is that of the run directory, of a run that goes; `kept` says why the run stays."""

    row: Row
    size: int
    kept: str | None = None


def choose(
    ctx: Context,
    rows: list[Row],
    criteria: Criteria,
    now: float,
    each: Callable[[list[Row]], Iterable[Row]] = iter,
) -> list[PruneItem]:
    """The runs that the criteria mean, the oldest first, those that stay anyway with the reason. `each` may count
    them as they go by.
    """
    branches = BranchFacts(ctx, rows, now)
    if criteria.merged:
        branches.identities.learn_all()
    measured = functools.cache(partial(size, ctx))  # a walk through a directory: only where its size is asked for
    meant = [row for row in reversed(rows) if _meant(row, criteria, branches, now)]
    judged = []
    for row in each(meant):
        reason = _kept(listing.state(ctx.layout, row)) or branches.holding(row)
        judged.append(PruneItem(row, 0 if reason else measured(row), reason))
    if criteria.keep_size is None:
        return judged
    return list(_until_it_fits(judged, sum(measured(row) for row in rows) - criteria.keep_size))


def named(ctx: Context, rows: list[Row]) -> list[PruneItem]:
    """Runs that the person named: their branches do not keep them."""
    return [PruneItem(row, size(ctx, row), _kept(_state(ctx, row))) for row in rows]


class BranchFacts:
    """What one look at the repository's branches told."""

    def __init__(self, ctx: Context, rows: list[Row], now: float) -> None:
        known = refs.branches(ctx.repo, ctx.config.last("init.defaultbranch"))
        by_handle = {row.handle: row for row in rows}
        self.identities = Identities(ctx.repo, ctx.config, now, by_handle.get)
        self._repo, self._bases = ctx.repo, known.bases
        self._heads = known.heads
        self._merged = refs.merged(ctx.repo, known.bases) - {known.default}

    @cached_property
    def _trunk(self) -> set[str]:
        """The commits that the default branch itself has named."""
        return {oid for base in self._bases for oid in refs.trunk(self._repo, base)}

    def done(self, row: Row) -> bool:
        """Is the branch gone, or merged with commits made since the run began?"""
        owner = self.identities.owner(row) if row.branch else None
        return row.branch is not None and (owner not in self._heads or self._finished(owner, row))

    def _finished(self, name: str, row: Row) -> bool:
        """A branch that has only caught up with the default one is on that one's own line, too."""
        tip = self._heads[name]
        if name not in self._merged or tip == row.start_commit:
            return False
        life = self.identities.life(name)
        worked = life is not None and life.worked >= (moment(row.run_id.partition("-")[0]) or 0.0)
        return worked or tip not in self._trunk

    def holding(self, row: Row) -> str | None:
        names = [name for name in self.identities.holders(row.handle) if name in self._heads]
        name = next((name for name in names if not self._finished(name, row)), None)
        return f"it is the run of branch '{name}', which is not merged" if name else None


def remove(ctx: Context, run: PruneItem, *, with_notes: bool) -> None:
    """Forget a run: pointers, record, directory, and its lines in notes if asked to. A kill on the way leaves what
    `doctor --repair` makes whole again, or what nobody looks at.

    Raises UserError `run_live` when a process is at it by now, `write_failed`.
    """
    handle, path = run.row.handle, ctx.layout.run(run.row.run_id)
    if reason := _kept(_state(ctx, run.row)):
        raise UserError(reason, code="run_live")
    with hold(ctx, ctx.runs.read(handle)):
        if ctx.runs.read(handle).attempts != run.row.attempts:
            raise UserError(f"run {handle} was resumed by another git-agent just now", code="run_live")
        for branch, pointed in pointer.every(ctx.repo, ctx.config).items():
            if handle in pointed:
                gitconfig.unset(ctx.repo, f"branch.{branch}.agentHandle", handle)
        trash = f"{os.path.dirname(path)}/{TRASH}{run.row.run_id}"
        try:
            if os.path.lexists(trash):  # of the same run, which came back by its note
                throw_away(trash)
            ctx.runs.remove(handle)
            with suppress(FileNotFoundError):
                os.rename(path, trash)
            throw_away(trash)
            for left in (f"patches/{handle}.patch", f"continued/{handle}"):
                with suppress(FileNotFoundError):
                    os.unlink(f"{ctx.layout.root}/{left}")
        except OSError as error:
            raise UserError(f"cannot remove '{path}': {error.strerror}", code="write_failed") from error
        if with_notes:
            drop.drop(ctx.repo, handle)
        for lock in (ctx.layout.record_lock(handle), ctx.layout.run_lock(handle)):
            with suppress(FileNotFoundError):
                os.unlink(lock)


def throw_away(path: str) -> None:
    """A directory with all that is in it; of a link only the link."""
    if os.path.islink(path):
        os.unlink(path)
    elif os.path.lexists(path):
        shutil.rmtree(path)


def size(ctx: Context, row: Row) -> int:
    """Bytes of all files of the run. Links are not followed."""
    return _size(ctx.layout.run(row.run_id))


def _size(path: str) -> int:
    total = 0
    with suppress(OSError), os.scandir(path) as found:
        for entry in found:
            with suppress(OSError):
                total += (
                    _size(entry.path)
                    if entry.is_dir(follow_symlinks=False)
                    else entry.stat(follow_symlinks=False).st_size
                )
    return total


def _kept(state: State) -> str | None:
    reasons = {
        "dead": "its last attempt was never settled: git agent doctor --repair",
        "waiting": "a resume waits for it",
    }
    return None if state == "finished" else reasons.get(state, "it is running")


def _state(ctx: Context, row: Row) -> State:
    """By the run's attempts, too: what the record says may be older."""
    return attempts.state(ctx.layout, row.handle, row.run_id)


def _meant(row: Row, criteria: Criteria, branches: BranchFacts, now: float) -> bool:
    old = criteria.older_than is None or _age(row, now) > criteria.older_than
    return old and (not criteria.merged or branches.done(row))


def _age(row: Row, now: float) -> float:
    """Seconds since the run last changed; 0 for a time that a person has edited."""
    return now - (moment(row.updated_at) or now)


def _until_it_fits(runs: list[PruneItem], over: int) -> Iterator[PruneItem]:
    for run in runs:
        if over <= 0:
            return
        over -= 0 if run.kept else run.size
        yield run
