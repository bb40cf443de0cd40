"""Is an attempt of this run still in progress? And the lock that says so."""

from __future__ import annotations

from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.core.text import command_line
from git_agent_runner.engines import wording
from git_agent_runner.find import moved
from git_agent_runner.store.files.locks import Lock, is_locked, try_lock
from git_agent_runner.store.records import attempts
from git_agent_runner.store.session_locks import left_working


def refuse_live(ctx: Context, record: Record) -> None:
    """Raises UserError `run_live` when an attempt of this run is still in progress."""
    if attempts.standing(ctx.layout, record.handle, record.run_id) == "running":
        raise _live(ctx, record)


def hold(ctx: Context, record: Record) -> Lock:
    """The run's own lock, held while an attempt lives. Raises UserError `run_live` when another process has it."""
    lock = try_lock(ctx.layout.run_lock(record.handle))
    if lock is None:
        raise _live(ctx, record)
    return lock


def refuse_original(ctx: Context, record: Record) -> None:
    """Raises UserError `run_live` where what continues is in the repository that this one is a copy of."""
    common_dir = moved.original(record, ctx.layout.common_dir, lambda: None)
    if common_dir is None:
        return
    top = moved.top(common_dir)
    raise UserError(
        f"run {record.handle} is still running in '{top}', the repository this one was copied from",
        code="run_live",
        hints=(
            f"wait for its end: {wording.resume(record, '--wait')}",
            f"or end it there: cd {command_line((top,))} && {wording.resume(record, '--kill')}",
        ),
    )


def _live(ctx: Context, record: Record) -> UserError:
    refuse_original(ctx, record)
    attempt = attempts.latest(ctx.layout, record.run_id)
    if attempt is None or attempt.pid is None:
        how = ""
    elif is_locked(ctx.layout.run_lock(record.handle)):
        how = f": {record.agent_name} is process {attempt.pid}" if attempt.ended_at is None else ""
    else:
        how = f": {left_working(attempt)}"
    return UserError(f"run {record.handle} is still running{how}", code="run_live", hints=_either(record))


def _either(record: Record) -> tuple[str, ...]:
    wait, kill = wording.resume(record, "--wait"), wording.resume(record, "--kill")
    return (f"wait for its end: {wait}", f"or end it first: {kill}")
