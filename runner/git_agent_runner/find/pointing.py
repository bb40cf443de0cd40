"""Moving a branch's pointer to a run of its own, and to no other branch's that has come by the name meanwhile."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

from git_agent_runner.context import Context, timestamp
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.find.identity import Claim, Identities
from git_agent_runner.find.search import Search
from git_agent_runner.git import settings, trees
from git_agent_runner.store import pointer
from git_agent_runner.store.records import attempts, listing


def point(ctx: Context, record: Record, attempt: Attempt) -> None:
    """An engine process exists: its run is the branch's, or that of a work tree without one; a review is neither.

    Raises UserError `pointer_elsewhere` where another run has begun since, which was quicker.
    """
    if record.role != "work":
        return
    if record.branch is None:
        trees.mark(ctx.repo)
        return
    identities = _identities(ctx)
    if branch := _owner(ctx, identities, record, Claim.NAMESAKE):
        _give_way(ctx, identities, record.handle, branch, attempt, until=time.time())
        _take_along(ctx, identities, branch)
        pointer.write(ctx.repo, branch, record.handle)


def _take_along(ctx: Context, identities: Identities, branch: str) -> None:
    """Where git keeps no reflog, only the pointer to a run of the old name tells of a rename, and it is about to name
    another run: from here on all records of the branch have its name.
    """
    life = identities.life(branch)
    if life is None or len(life.spans) > 1 or life.unsure <= {branch}:
        return
    for row in listing.listing(ctx.layout, time.time()).rows:
        if row.branch != branch and row.branch in life.unsure and identities.owner(row) == branch:
            ctx.runs.update(row.handle, lambda old: old._replace(branch=branch))


def owner(ctx: Context, record: Record) -> str | None:
    """The name that the run's branch has after all that happened while the engine ran. None where it was deleted: one
    made again with its name must not inherit the run.
    """
    return _owner(ctx, _identities(ctx), record, Claim.HEIR)


def since(ctx: Context, branch: str | None, before: Record) -> str:
    """A time at which the branch has surely had this name, if it had another one when the attempt began: reflogs know
    seconds, and a run that ended within that of the rename would be taken for another branch's.
    """
    if branch is None or branch == before.branch:
        return ""
    life = _identities(ctx).life(branch)
    second = life.spans[-1].since if life else -math.inf
    return timestamp(datetime.fromtimestamp(second + 1, UTC)) if math.isfinite(second) else ""


def point_again(ctx: Context, record: Record, attempt: Attempt) -> None:
    """The attempt has ended.

    Raises UserError `pointer_elsewhere` where the branch has gone on to a run that began later.
    """
    assert record.branch is not None
    _give_way(ctx, _identities(ctx), record.handle, record.branch, attempt, until=math.inf)
    pointer.write(ctx.repo, record.branch, record.handle)


def give_back(ctx: Context, record: Record, attempt: Attempt) -> str | None:
    """No session came of the attempt: the branch has the run of before again. Its handle, if there is one."""
    before, branch = attempt.replaces, record.branch
    if before is None or branch is None or _identities(ctx).pointers.get(branch, ()) != (record.handle,):
        return None
    try:
        if ctx.runs.read(before).session.value is None:
            return None
        pointer.write(ctx.repo, branch, before)
    except UserError:
        return None
    return before


def _owner(ctx: Context, identities: Identities, record: Record, least: Claim) -> str | None:
    if record.branch is None:
        return None
    if ctx.repo.head is None and record.branch == ctx.repo.branch:
        return record.branch  # unborn, or just born
    name = identities.owner(record)
    return name if name and identities.claim(name, record) >= least else None


def _give_way(ctx: Context, identities: Identities, ours: str, branch: str, attempt: Attempt, *, until: float) -> None:
    """Raises UserError `pointer_elsewhere` where the branch has a run that began after our attempt, not after `until`:
    a clock that was wrong for a while must not stop the pointer for good.
    """
    began = moment(attempt.started_at) or 0.0
    for handle in identities.pointers.get(branch, ()):
        if handle != ours and began < _begun(ctx, identities, handle, branch) <= until:
            what = f"branch '{branch}' keeps run {handle}, which began later"
            raise UserError(what, code="pointer_elsewhere")


def _begun(ctx: Context, identities: Identities, handle: str, branch: str) -> float:
    """When the newest attempt of that run began, if it is this branch's."""
    other = Search(ctx.repo, ctx.config, ctx.runs, time.time()).record(handle)
    last = attempts.latest(ctx.layout, other.run_id) if other and identities.owner(other) == branch else None
    return moment(last.started_at) or 0.0 if last else 0.0


def _identities(ctx: Context) -> Identities:
    """As things are at this moment: the configuration is read again."""
    search = Search(ctx.repo, settings.read(ctx.repo), ctx.runs, time.time())
    return search.identities
