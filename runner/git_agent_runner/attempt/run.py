"""One attempt, from a plan to a settled record: spawn, store the session as soon as it is printed, settle."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from git_agent_extractors.model import NO_SESSION, Session
from git_agent_runner.attempt.leaving import Begun
from git_agent_runner.attempt.live import Live, View
from git_agent_runner.attempt.plan import Plan
from git_agent_runner.attempt.settle import Settled, settle, settle_unstarted, work_tree
from git_agent_runner.attempt.verdict import Expectation
from git_agent_runner.context import Context, timestamp
from git_agent_runner.conversation.seat import seat
from git_agent_runner.core import checkpoints
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.engines.spec import Engine
from git_agent_runner.find.running import hold
from git_agent_runner.git import refs, scrubbed
from git_agent_runner.process.lifetime import Outcome
from git_agent_runner.process.signals import ENDING, caught
from git_agent_runner.process.spawn import AttemptFiles, run_headless
from git_agent_runner.store import pointer, session_locks
from git_agent_runner.store.files.layout import new_handle, new_run_id, run_directory
from git_agent_runner.store.files.locks import Lock, try_lock
from git_agent_runner.store.records import attempts
from git_agent_runner.store.session_locks import Holder


class Finished(NamedTuple):
    """An attempt that has run: its record, how its process ended, and what the person saw."""

    settled: Settled
    outcome: Outcome
    view: View = View()


def run(
    ctx: Context, plan: Plan, view: View, timeout: float | None = None, cancel: Callable[[], bool] | None = None
) -> Finished:
    """Run the plan. Without a terminal, `cancel` is polled several times a second: must the engine end now?

    Raises UserError `run_live` when the run is another process's, or was since the plan was made, `session_held` when
    its session is. An engine that cannot be started (SpawnFailed) is recorded before its error continues.
    """
    record, lock = _open_run(ctx, plan)
    with ExitStack() as held:
        held.enter_context(lock)
        checkpoints.at("run-locked")
        where, heads = work_tree(ctx, plan.invocation.cwd), refs.branches(ctx.repo, None).heads
        begun = Begun(where.branch or refs.busy_branch(where.git_dir), frozenset(heads))
        attempt = _attempt(plan, record, heads.get(record.branch or "") or where.head)
        attempt = attempt._replace(replaces=_before(ctx, record))
        holder = session_locks.ourselves(ctx.layout, record, attempt.started_at)
        session_locks.sign(lock, holder)
        take = partial(_take_session, ctx, held, holder, record, plan.engine)
        if plan.session:
            take(plan.session)
            checkpoints.at("session-locked")
        if plan.kind == "start":
            attempts.new_run(ctx.layout, record.run_id)
            checkpoints.at("run-directory-made")
        attempts.begin(ctx.layout, attempt)
        checkpoints.at("attempt-begun")
        live = Live(ctx, plan, record, attempt, view, take)
        try:
            _save_begun(ctx, plan, record)
            checkpoints.at("record-begun")
            outcome = _supervise(ctx, plan, live, timeout, cancel)
            checkpoints.at("engine-ended")
        except UserError as error:
            settle_unstarted(ctx, plan.record, live.record, live.attempt, error)
            raise
        try:
            with caught(ENDING):  # one more Ctrl-C must not cost what the attempt came to
                return Finished(settle(ctx, _asked(plan), live.record, live.attempt, outcome, begun), outcome, view)
        except UserError as error:
            error.hints = (*error.hints, *_unsettled(live.record))
            raise
        finally:
            held.close()
            live.finish()  # not before: whoever reads it may pause for ever


def _take_session(ctx: Context, held: ExitStack, holder: Holder, record: Record, engine: Engine, session: str) -> None:
    held.enter_context(session_locks.hold_session(seat(ctx, record, engine, session), holder))


def _unsettled(record: Record) -> tuple[str, ...]:
    """The engine ran, but its outcome could not be written: tell the person which session it has."""
    session = f"its session is {record.session.value}" if record.session.value else "it named no session yet"
    return (f"the engine ran, as run {record.handle}; {session}", "when it is fixed: git agent doctor --repair")


def _open_run(ctx: Context, plan: Plan) -> tuple[Record, Lock]:
    """Take the run's lock first, so that a new run never looks dead and its handle is not drawn twice."""
    if plan.record.handle:
        return _reopened(ctx, plan)
    while True:
        handle = new_handle()
        if lock := try_lock(ctx.layout.run_lock(handle)):
            if not os.path.lexists(ctx.layout.index_file(handle)):
                run_id = new_run_id(datetime.now(UTC), plan.engine.name, handle)
                record = plan.record._replace(handle=handle, run_id=run_id, run_directory=run_directory(run_id))
                return record._replace(session=_minted(plan)), lock
            lock.release()


def _reopened(ctx: Context, plan: Plan) -> tuple[Record, Lock]:
    """Check that nobody has continued the run since it was planned, which happened without the lock."""
    record = plan.record
    lock = hold(ctx, record)
    number = max([record.attempts, *(number + 1 for number in attempts.numbers(ctx.layout, record.run_id))])
    now = ctx.runs.read(record.handle)
    if (now.attempts, now.session) != (record.attempts - 1, record.session):
        lock.release()
        raise UserError(
            f"run {record.handle} was resumed by another git-agent just now",
            code="run_live",
            hints=("look at it: git agent show " + record.handle, "then send the message again"),
        )
    return record._replace(attempts=number), lock


def _minted(plan: Plan) -> Session:
    return Session(plan.engine.field, plan.session) if plan.session else NO_SESSION


def _asked(plan: Plan) -> Expectation:
    return Expectation(
        kind=plan.kind,
        session=plan.session,
        known=plan.record.session,
        parent=plan.record.parent_session,
        field=plan.engine.field,
        forks=plan.forks,
        interactive=plan.interactive,
        adopts=plan.adopts,
    )


def _attempt(plan: Plan, record: Record, head: str | None) -> Attempt:
    new = plan.kind in ("start", "fresh")
    cwd = plan.invocation.cwd
    return Attempt(
        number=record.attempts,
        kind=plan.kind,
        run_id=record.run_id,
        agent_name=record.agent_name,
        role=record.role,
        forked_from=record.forked_from,
        branch=record.branch,
        worktree=record.worktree,
        worktree_id=record.worktree_id,
        cwd=cwd,
        common_dir=record.common_dir,
        common_dir_id=record.common_dir_id,
        start_commit=record.start_commit,
        argv=plan.invocation.argv,
        launch_args=record.launch_args,
        message=plan.message,
        engine_version=record.engine_version,
        host=record.host,
        started_at=timestamp(),
        created_at=record.created_at,
        interactive=plan.interactive,
        session=_minted(plan) if new else record.session,
        requested_session=None if new else plan.session,
        parent_session=record.session.value if plan.kind == "fresh" else record.parent_session,
        store=plan.store,
        head_before=head,
    )


def _before(ctx: Context, record: Record) -> str | None:
    """The run that the branch points at, if it is another one."""
    handle = pointer.of(ctx.repo, ctx.config, record.branch) if record.branch else None
    return None if handle == record.handle else handle


def _save_begun(ctx: Context, plan: Plan, record: Record) -> None:
    """Write the attempt into the record, with the session if its id was minted here."""
    if plan.kind == "start":
        ctx.runs.create(record)
    else:
        ctx.runs.update(record.handle, lambda _: record)


def _supervise(
    ctx: Context, plan: Plan, live: Live, timeout: float | None, cancel: Callable[[], bool] | None
) -> Outcome:
    env = engine_environment(ctx, plan, live.record)
    folder = ctx.layout.attempt(live.record.run_id, live.attempt.number)
    if plan.interactive:
        from git_agent_runner.process.terminal import run_terminal  # a pseudo-terminal is a rare need

        return run_terminal(
            plan.invocation, env, f"{folder}/pty-output", on_chunk=live.drawn, on_spawn=live.spawned, timeout=timeout
        )
    return run_headless(
        plan.invocation,
        env,
        AttemptFiles(f"{folder}/stdout", f"{folder}/stderr"),
        on_chunk=live.chunk,
        on_spawn=live.spawned,
        on_watch=live.view.watched,
        timeout=timeout,
        stall_after=ctx.settings.stall_after,
        on_stall=live.view.stall,
        cancel=cancel,
    )


def engine_environment(ctx: Context, plan: Plan, record: Record) -> dict[str, str]:
    """The person's environment without git's variables, with the run's name, and what the engine needs."""
    env = scrubbed(ctx.environ)
    env["GIT_AGENT_HANDLE"] = record.handle
    env["GIT_AGENT_RUN_DIR"] = ctx.layout.run(record.run_id)
    env["PWD"] = plan.invocation.cwd  # as `cd` would have it: some programs believe it before they ask the system
    for name, value in plan.invocation.env:
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env
