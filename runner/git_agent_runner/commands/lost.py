"""A session that is not where the run goes on, and one that its engine has lost: put there before the attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_agent_runner.context import Context
from git_agent_runner.errors import UserError
from git_agent_runner.model import Record
from git_agent_runner.plan import Plan, plan_resume
from git_agent_runner.present import say

if TYPE_CHECKING:
    from git_agent_runner.commands.policy import Wish


def resume_plan(ctx: Context, wish: Wish, record: Record) -> Plan:
    """The plan that goes on with the run's session, which stands in the engine's store again where it can.

    Raises UserError as `plan_resume` does.
    """
    plan = _plan(ctx, wish, record)
    if plan.carry and not wish.dry_run:
        from git_agent_runner.conversation.carry import perform  # a rare need

        record = perform(ctx, plan.engine, plan.invocation.argv[0], plan.carry)
        say(plan.carry.why("was"))
        plan = _plan(ctx, wish, record)
    if plan.copy is None or wish.dry_run:
        return plan
    from git_agent_runner.conversation.restore import put_back  # a rare need

    name, copy = plan.engine.name, plan.copy
    program = plan.invocation.argv[0], plan.engine.parse_version(plan.record.engine_version) or ()
    put_back(ctx, plan.engine, program, copy, record.run_id)
    again = _plan(ctx, wish, record)
    if again.copy:
        raise UserError(
            f"session {copy.session} is gone from {name}'s store, which did not take its copy back",
            code="session_missing",
        )
    say(f"{name} had lost session {copy.session}: the copy of {copy.saved_at} was put back")
    return again._replace(restored=copy.saved_at)


def _plan(ctx: Context, wish: Wish, record: Record) -> Plan:
    return plan_resume(
        ctx,
        record,
        wish.given,
        wish.message,
        interactive=wish.interactive,
        cwd=wish.cwd,
        session=wish.session,
    )
