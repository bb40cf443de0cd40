"""Restore the session before the attempt if it is missing or behind the run's backup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_agent_runner.attempt.plan import Plan, plan_resume
from git_agent_runner.console.lines import say
from git_agent_runner.context import Context, timestamp
from git_agent_runner.conversation.seat import seat
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines import wording
from git_agent_runner.find.running import hold
from git_agent_runner.store import session_locks

if TYPE_CHECKING:
    from git_agent_runner.attempt.go import Request


def resume_plan(ctx: Context, request: Request, record: Record, *, strict: bool) -> Plan:
    """Plan a resume; first restore the session in the engine's store if it can be.

    Raises UserError as `plan_resume` does, and `session_behind` where the store's state is an earlier one and `strict`.
    """
    if request.hands_over(record):
        from git_agent_runner.attempt.handed import handed_over  # a rare need

        done = handed_over(ctx, request, record)
        if isinstance(done, Plan):
            return done
        record = done
    plan = _plan(ctx, request, record)
    if plan.carry and not request.dry_run:
        from git_agent_runner.conversation.carry import perform  # a rare need

        with hold(ctx, record):
            record = perform(ctx, plan.engine, plan.invocation.argv[0], plan.carry)
        say(plan.carry.why("was"))
        plan = _plan(ctx, request, record)
    restore, name = plan.restore, plan.engine.name
    if restore and restore.behind and strict:
        hint = f"to replace it with the run's backup: {wording.resume(record)}"
        raise UserError(restore.why(name, "has"), code="session_behind", hints=(hint,))
    if restore is None or request.dry_run:
        return plan
    from git_agent_runner.conversation.restore import put_back  # a rare need

    holder = session_locks.ourselves(ctx.layout, record, timestamp())
    with session_locks.hold_session(seat(ctx, record, plan.engine, restore.copy.session), holder):
        put_back(ctx, plan.engine, plan.invocation.argv[0], restore, record)
    again = _plan(ctx, request, record)
    if again.restore:
        raise UserError(
            f"session {restore.copy.session} is missing from {name}'s store, and its backup could not be restored",
            code="session_missing",
        )
    say(f"{restore.why(name, 'had')}: the backup of {restore.copy.saved_at} was {restore.where}")
    return again._replace(restored=restore.copy.saved_at)


def _plan(ctx: Context, request: Request, record: Record) -> Plan:
    return plan_resume(
        ctx,
        record,
        request.given,
        request.message,
        interactive=request.interactive,
        cwd=request.cwd,
        session=request.session,
        into_store=request.store,
        mode=request.agent_mode,
    )
