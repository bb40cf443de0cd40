"""Write an adopted run: directory, record, note, pointer. `decide` checks that it may be."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.conversation.backup import keep
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.engines.redact import fit
from git_agent_runner.find.tie import point
from git_agent_runner.store.files.layout import new_handle, new_run_id, run_directory
from git_agent_runner.store.files.locks import Lock, try_lock
from git_agent_runner.store.notes import writing
from git_agent_runner.store.records import attempts


class Adoption(NamedTuple):
    """A run to be written. `origin` is where its session comes from: given, store, note. `says` are lines to print."""

    record: Record
    origin: str
    says: tuple[str, ...] = ()


def write(ctx: Context, adoption: Adoption) -> tuple[Record, tuple[str, ...]]:
    """Write the run: directory, record, note, pointer. Returns the record, and what could not be written.

    Raises UserError `handle_taken`, `write_failed`.
    """
    record, lock = _named(ctx, adoption.record)
    with lock:
        tip = record.start_commit
        made = attempt_of(record, record.updated_at)
        made = made._replace(session_from=adoption.origin, head_before=tip, head_after=tip)
        try:
            attempts.new_run(ctx.layout, record.run_id)
        except FileExistsError:
            hint = "if its record is missing: git agent doctor --repair"
            raise UserError(f"run {record.handle} already exists here", code="handle_taken", hints=(hint,)) from None
        attempts.begin(ctx.layout, made)
        ctx.runs.create(record)
        writes = (
            lambda: writing.write(ctx.repo, tip, fit(record)),
            lambda: point(ctx, record),
            lambda: keep(ctx, made),
        )
        warnings = [_warning(write) for write in writes]
    return record, tuple(text for text in warnings if text)


def _warning(write: Callable[[], object]) -> str | None:
    try:
        write()
    except UserError as error:
        return error.message
    return None


def attempt_of(record: Record, moment: str) -> Attempt:
    """An attempt that holds what is known of a run: no engine was started, nothing was printed."""
    return Attempt(
        number=max(1, record.attempts),
        kind="fork" if record.forked_from else "adopt",
        run_id=record.run_id,
        agent_name=record.agent_name,
        branch=record.branch,
        worktree=record.worktree,
        worktree_id=record.worktree_id,
        cwd=record.cwd,
        start_commit=record.start_commit,
        argv=(),
        launch_args=record.launch_args,
        message=None,
        engine_version=record.engine_version,
        host=record.host,
        started_at=moment,
        created_at=record.created_at,
        ended_at=moment,
        status=record.status,
        session=record.session,
        session_from="record" if record.session.value else None,
        parent_session=record.parent_session,
        forked_from=record.forked_from,
        store=record.store,
    )


def _named(ctx: Context, record: Record) -> tuple[Record, Lock]:
    """With a handle of its own, if it has none, and its run's lock."""
    while True:
        handle = record.handle or new_handle()
        lock = try_lock(ctx.layout.run_lock(handle))
        if lock and not os.path.lexists(ctx.layout.index_file(handle)):
            run_id = record.run_id or new_run_id(datetime.now(UTC), record.agent_name, handle)
            return record._replace(handle=handle, run_id=run_id, run_directory=run_directory(run_id)), lock
        if lock:
            lock.release()
        if record.handle:
            raise UserError(f"run {handle} already exists here", code="handle_taken")
