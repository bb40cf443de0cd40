"""Findings of `git agent doctor`: records without run directories, the reverse, and records that do not parse."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial

from git_agent_runner.adopt.write import attempt_of
from git_agent_runner.context import Context
from git_agent_runner.core.model import Record
from git_agent_runner.core.text import quote
from git_agent_runner.find.running import hold
from git_agent_runner.find.search import Search
from git_agent_runner.maintain.doctor.finding import REPAIR, SETTLED, Finding, RepositoryFacts, key_twice, still
from git_agent_runner.store import pointer
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.index import SUFFIX


def corrupt(known: RepositoryFacts) -> Iterator[Finding]:
    """Records that cannot be read."""
    for problem in known.corrupt:
        run_id = known.runs.get(os.path.basename(problem.path).removesuffix(SUFFIX))
        if run_id:
            yield Finding("record_corrupt", problem.message, REPAIR, partial(rebuild, known.ctx, run_id))
        else:
            fix = f"correct it by hand, since its run directory is missing; or delete it: rm {quote(problem.path)}"
            yield Finding("record_corrupt", problem.message, fix)


def doubled(known: RepositoryFacts) -> Iterator[Finding]:
    """Records with a key that is there twice."""
    yield from map(key_twice, known.doubled)


def unrecorded(known: RepositoryFacts) -> Iterator[Finding]:
    """Run directories without a record. One without any attempt is another finding."""
    ctx, seen = known.ctx, known.seen
    named = {*known.records, *(os.path.basename(problem.path).removesuffix(SUFFIX) for problem in known.corrupt)}
    for handle, run_id in known.runs.items():
        if handle in named or seen.state(handle, run_id) not in SETTLED:
            continue
        if seen.latest(run_id):
            yield Finding("record_missing", f"run {run_id} has no record", REPAIR, partial(rebuild, ctx, run_id))


def without_directory(known: RepositoryFacts) -> Iterator[Finding]:
    """Records whose run directory is gone, or empty: what was printed is lost, what a resume needs is not."""
    for record in known.records.values():
        if record.handle not in known.runs or not known.seen.numbers(record.run_id):
            yield Finding(
                "run_directory_missing",
                f"run {record.handle} has lost its run directory {record.run_directory}, and with it the output",
                f"{REPAIR}, which keeps its session; or remove the run: git agent prune {record.handle}",
                partial(_make_directory, known.ctx, record),
            )


def rebuild(ctx: Context, run_id: str) -> None:
    """Record and pointer, from the run directory; the note is the next finding. Raises UserError `not_rebuildable`."""
    with hold(ctx, attempts.rebuild(ctx.layout, run_id)):
        if attempts.numbers(ctx.layout, run_id):  # else it was forgotten since we looked
            _rebuild(ctx, attempts.rebuild(ctx.layout, run_id))


def _rebuild(ctx: Context, record: Record) -> None:
    ctx.runs.repair(record)
    search = Search(ctx.repo, ctx.config, ctx.runs, time.time())
    branch = search.branch = search.identities.owner(record)
    if record.role == "work" and branch and branch not in search.identities.pointers and search.counts(record):
        pointer.write(ctx.repo, branch, record.handle)


def _make_directory(ctx: Context, record: Record) -> None:
    with hold(ctx, record):
        now = still(ctx, record.handle)
        if now and not attempts.numbers(ctx.layout, now.run_id):
            attempts.begin(ctx.layout, attempt_of(now, now.updated_at))
