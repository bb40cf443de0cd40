"""One attempt of a reviewer: held to reading, in its own work tree, with a role of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from git_agent_runner.attempt import run
from git_agent_runner.attempt.live import View
from git_agent_runner.attempt.plan import Plan, plan_resume, plan_start
from git_agent_runner.attempt.run import Finished
from git_agent_runner.context import Context, find_program
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines.spec import Engine
from git_agent_runner.git import refs
from git_agent_runner.process.parent import git_gone
from git_agent_runner.review import content, cost, memory
from git_agent_runner.review.door import Question, ReviewRequest
from git_agent_runner.review.memory import KnownVerdict
from git_agent_runner.review.place import inside, work_tree
from git_agent_runner.review.power import Power, power
from git_agent_runner.review.prompt import prompt
from git_agent_runner.review.verdict import read

_UNREACHED = {"network", "rate_limited", "overloaded"}


class Reviewer(NamedTuple):
    """`earlier` is the run whose session continues."""

    engine: Engine
    power: Power
    args: tuple[str, ...]
    message: str
    earlier: Record | None
    timeout: float | None
    cancel: Callable[[], bool] | None


def verdict(
    ctx: Context,
    question: Question,
    engine: Engine,
    earlier: Record | None,
    request: ReviewRequest,
    begun: Callable[[], None],
) -> KnownVerdict:
    """A reviewer's verdict, from a run of its own or the next attempt of the branch's last review.

    `begun` is called before a model is asked. Raises UserError where there is none.
    """
    if request.hook:
        cost.refuse_more(ctx)
    args = (*question.args, *cost.limited(engine, request.max_cost))
    held = power(engine, find_program(ctx, engine).version)
    last = memory.read(ctx, earlier.handle) if earlier else None
    before = (last.verdict, _since(ctx, last, question, request)) if last else None
    text = prompt(question.shown, question.rules, before)
    ask = Reviewer(
        engine, held, args, text, earlier if before else None, request.timeout, git_gone() if request.watched else None
    )
    begun()
    hidden = tuple(map(content.unquoted, question.shown.hidden))
    done = _run(ctx, ask, content.commit_to_see(ctx, question.change), hidden)
    if request.hook:
        cost.add(ctx, (done.settled.transcript.usage or {}).get("cost_usd"))
    known = _read(done, engine, question.change.new)
    memory.write(ctx, known.handle, known)
    memory.remember(ctx, known.handle)
    return known


def _read(done: Finished, engine: Engine, new: str) -> KnownVerdict:
    settled = done.settled
    handle = settled.record.handle
    if received := done.outcome.received:
        raise UserError("the review was ended", code="interrupted", exit_status=128 + received)
    if done.outcome.interrupted:
        raise UserError("the git that asked for it has ended", code="interrupted")
    status = settled.verdict.status
    if status != "completed":
        why = f": {settled.transcript.error}" if settled.transcript.error else ""
        text, hints = f"{engine.name}: {status}{why}", _look(handle)
        if status == "timed_out":
            raise UserError(text, code="review_timed_out", hints=hints)
        if status in _UNREACHED:
            raise UserError(text, code="review_unreached", hints=hints)
        raise UserError(text, code="review_failed", hints=hints)
    found = read(settled.transcript.final_message or "")
    if found is None:
        raise UserError(f"{engine.name} gave no verdict", code="no_verdict", hints=_look(handle))
    return KnownVerdict(found, handle, new)


def _since(ctx: Context, last: KnownVerdict, question: Question, request: ReviewRequest) -> str:
    if refs.missing(ctx.repo, [last.new]):
        return "(git no longer has what you saw then)"
    return content.shown(ctx, question.change._replace(base=last.new), request.exclude, request.max_diff).patch


def _look(handle: str) -> tuple[str, ...]:
    return (f"its messages: git agent log {handle}",)


def _run(ctx: Context, asked: Reviewer, commit: str, hidden: tuple[str, ...]) -> Finished:
    """Ask the reviewer, on that commit. A session that cannot continue is replaced by a new one."""
    folder = f"{ctx.layout.root}/reviews"
    atomic.make_dir(folder)
    if asked.power.file:
        name, text = asked.power.file
        atomic.write(f"{folder}/{name}", text.encode())
    path = asked.earlier.cwd if asked.earlier else f"{folder}/{os.urandom(4).hex()}"
    given = (*asked.args, *asked.power.given(folder))
    with work_tree(ctx, path, commit, hidden):
        here = inside(ctx, path)
        here = here._replace(settings=here.settings._replace(args={}))
        plan = _plan(here, asked, given, path)
        env = (*plan.invocation.env, *asked.power.env)
        record = plan.record._replace(role="review")
        plan = plan._replace(record=record, invocation=plan.invocation._replace(env=env))
        return run.run(here, plan, View(), asked.timeout, asked.cancel)


def _plan(ctx: Context, asked: Reviewer, given: tuple[str, ...], path: str) -> Plan:
    if asked.earlier:
        try:
            return plan_resume(ctx, asked.earlier._replace(launch_args=()), given, asked.message, cwd=path)
        except UserError as error:
            if error.code in {"run_live", "session_held"}:
                raise
    return plan_start(ctx, asked.engine, given, asked.message)
