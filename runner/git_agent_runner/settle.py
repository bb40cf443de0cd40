"""The only place where a run's end is written: attempt, record, note, pointer, in this order."""

from __future__ import annotations

from collections.abc import Callable

from git_agent_runner.context import Context, timestamp
from git_agent_runner.errors import UserError
from git_agent_runner.model import Attempt, Record
from git_agent_runner.store import attempts, notes, pointer
from git_agent_runner.verdict import Verdict


def record_spawned(ctx: Context, record: Record) -> None:
    """The branch's pointer moves when a new engine process exists, so that a killed run is found again.

    A failure is not worth ending the engine for: it is tried again, and told, when the attempt is settled.
    """
    try:
        _point(ctx, record)
    except UserError:
        return


def settle(ctx: Context, record: Record, attempt: Attempt, verdict: Verdict) -> tuple[Record, tuple[str, ...]]:
    """Write what the attempt came to. Returns the record and warnings: a note or pointer that could not be written.

    Raises UserError when the attempt or the record cannot be written: then nothing that stood before is lost.
    """
    attempts.save(ctx.layout, attempt)
    record = ctx.runs.update(
        record.handle,
        lambda old: old._replace(
            status=verdict.status,
            session=verdict.session,
            parent_session=verdict.parent,
            updated_at=timestamp(),
        ),
    )
    warnings = (
        _warning(notes.write, ctx.repo, attempt.head_after, record),
        _warning(_point, ctx, record),
    )
    return record, tuple(text for text in warnings if text)


def _warning(write: Callable[..., object], *values: object) -> str | None:
    """Try one of the writes that a run can do without; why it failed."""
    try:
        write(*values)
    except UserError as error:
        return error.message
    return None


def _point(ctx: Context, record: Record) -> None:
    if record.branch is not None:
        pointer.write(ctx.repo, record.branch, record.handle)
