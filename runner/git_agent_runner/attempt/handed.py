"""`resume -e ENGINE` for a run of another engine: its conversation is handed over before the attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_agent_runner.attempt.plan import Plan, plan_resume
from git_agent_runner.console.lines import say
from git_agent_runner.context import Context
from git_agent_runner.conversation import hand_over
from git_agent_runner.core.model import Record
from git_agent_runner.engines.spec import StoreQuery

if TYPE_CHECKING:
    from git_agent_runner.attempt.go import Request


def handed_over(ctx: Context, wish: Request, record: Record) -> Plan | Record:
    """The run with the other engine's session, which that engine has from then on; on a dry run, what it would run, and
    so where a new window is to do it.

    All that may keep the attempt from being made is found out first. Raises UserError as `hand_over.prepare` and
    `plan_resume` do.
    """
    from git_agent_runner.attempt.go import refuse_start  # which asks for us

    todo = hand_over.prepare(ctx, record, wish.engine or "")
    plan = plan_resume(
        ctx, todo.record, wish.given, wish.message, interactive=wish.interactive, cwd=wish.cwd, coming=True
    )
    version = plan.engine.parse_version(plan.record.engine_version) or ()
    hand_over.model(plan.engine, StoreQuery(ctx.environ, plan.record.cwd, version), plan.record.launch_args)
    hand_over.refuse_elsewhere(plan.engine, plan.record.launch_args)
    if wish.dry_run or wish.terminal:
        return plan._replace(handed=todo)
    refuse_start(ctx, interactive=wish.interactive)
    done = hand_over.perform(ctx, plan.engine, plan.invocation.argv[0], todo, plan.record._replace(store=plan.store))
    say(todo.why("was"))
    return done
