"""`--wait` and `--kill`: wait for, or end, the process that holds the run or its session."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from git_agent_runner.console.lines import say
from git_agent_runner.context import Context
from git_agent_runner.conversation.session import refuse_held
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.engines import load
from git_agent_runner.find.running import refuse_original
from git_agent_runner.store import session_locks
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.liveness import at_work, started_then
from git_agent_runner.store.records import attempts

HELD = frozenset({"run_live", "session_held"})
_POLL = 0.1
_GRACE = 10.0  # seconds for a git-agent to end its engine, which takes it 4 at most, and to settle the attempt


def wait(ctx: Context, record: Record, session: str | None) -> Record:
    """Wait until no process uses the run or its session; returns the current record. Those who wait continue one by
    one.

    Raises UserError `inside_run` where it would never end.
    """
    _refuse_inside(ctx, record, "wait for itself")
    with locks.locked(ctx.layout.waiting_lock(record.handle)):
        while _busy(ctx, record, session):
            time.sleep(_POLL)
    return ctx.runs.read(record.handle)._replace(branch=record.branch)


def end_live(ctx: Context, record: Record, command: str = "resume --kill") -> Record:
    """End the attempt of the run that is going on, if one is; the record as it is then. `command`: which one ends it.

    Its git-agent is asked to end its engine's tree and to settle the attempt. What does not answer is ended here.
    Raises UserError `inside_run`, and `run_live` where something survives even that.
    """
    if not _running(ctx, record):
        return record
    _refuse_inside(ctx, record, "end itself")
    refuse_original(ctx, record)
    say(f"ending the running attempt of run {record.handle}")
    attempts.name_ender(ctx.layout, record, f"git agent {command}, process {os.getpid()}")
    _signal_owner(ctx, record, signal.SIGTERM)
    if not _ended_within(ctx, record, _GRACE if locks.is_locked(ctx.layout.run_lock(record.handle)) else 0):
        survivors = _end_engine(ctx, record)
        _signal_owner(ctx, record, signal.SIGKILL)
        if not _ended_within(ctx, record, _GRACE):
            named = f": {', '.join(survivors)}" if survivors else ""
            raise UserError(f"run {record.handle} could not be ended{named}", code="run_live")
    return ctx.runs.read(record.handle)._replace(branch=record.branch)


def _refuse_inside(ctx: Context, record: Record, what: str) -> None:
    if ctx.environ.get("GIT_AGENT_HANDLE") == record.handle:
        raise UserError(
            f"this is inside run {record.handle}, which would {what}",
            code="inside_run",
            hints=("run it from a terminal of your own",),
        )


def _busy(ctx: Context, record: Record, session: str | None) -> bool:
    if _running(ctx, record):
        return True
    value = session or ctx.runs.read(record.handle).session.value
    try:
        if value:
            refuse_held(ctx, record, load(record.agent_name, ctx.environ), value)
    except UserError:
        return True
    return False


def _running(ctx: Context, record: Record) -> bool:
    return attempts.standing(ctx.layout, record.handle, record.run_id) == "running"


def _ended_within(ctx: Context, record: Record, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while _running(ctx, record):
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL)
    return True


def _signal_owner(ctx: Context, record: Record, number: signal.Signals) -> None:
    """Signal the git-agent that holds the run's lock. A reused process id is recognised by its start time."""
    path = ctx.layout.run_lock(record.handle)
    owner = session_locks.signed(path)
    if owner is None or not locks.is_locked(path):
        return
    import psutil  # only a run that is ended needs it

    with suppress(psutil.Error):
        process = psutil.Process(owner.pid)
        if started_then(process, owner.process_started):
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)  # it may be a job that somebody stopped with Ctrl-Z


def _end_engine(ctx: Context, record: Record) -> tuple[str, ...]:
    """End the engine's process tree; returns what survives."""
    from git_agent_runner.process import tree

    attempt = attempts.latest(ctx.layout, record.run_id)
    if attempt is None or attempt.pid is None or attempt.process_started is None or not at_work(attempt):
        return ()
    return tree.end(tree.Root(attempt.pid, attempt.process_started, _marker(ctx, record, attempt))).survivors


def _marker(ctx: Context, record: Record, attempt: Attempt) -> tuple[tuple[str, str], ...]:
    from git_agent_runner.process.tree import MARKER

    return tuple(zip(MARKER, (record.handle, ctx.layout.run(attempt.run_id)), strict=True))
