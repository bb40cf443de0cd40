"""`resume -e ENGINE` for a run of another engine: hand its conversation over before the attempt."""

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


def handed_over(ctx: Context, request: Request, record: Record) -> Plan | Record:
    """The run with the other engine's session, which that engine has from then on. On a dry run, or where a new
    window will do it: what would be run.

    All that may keep the attempt from being made is found out first. Raises UserError as `hand_over.prepare` and
    `plan_resume` do.
    """
    from git_agent_runner.attempt.go import refuse_start  # which asks for us

    transfer = hand_over.prepare(ctx, record, request.engine or "")
    plan = plan_resume(
        ctx,
        transfer.record,
        request.given,
        request.message,
        interactive=request.interactive,
        cwd=request.cwd,
        coming=True,
        mode=request.agent_mode,
    )
    version = plan.engine.parse_version(plan.record.engine_version) or ()
    hand_over.model(plan.engine, StoreQuery(ctx.environ, plan.record.cwd, version), plan.record.launch_args)
    hand_over.refuse_elsewhere(plan.engine, plan.record.launch_args)
    if request.dry_run or request.terminal:
        return plan._replace(handed=transfer)
    refuse_start(ctx, interactive=request.interactive)
    done = hand_over.perform(
        ctx, plan.engine, plan.invocation.argv[0], transfer, plan.record._replace(store=plan.store)
    )
    say(transfer.why("was"))
    return done
