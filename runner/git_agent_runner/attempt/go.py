"""Plan, run and report one attempt; shared by `resume`, `start` and the worker."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from git_agent_runner.attempt.plan import Plan
from git_agent_runner.attempt.restore import resume_plan
from git_agent_runner.attempt.spending import before, of_plan
from git_agent_runner.console.lines import fatal, hint, say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import AgentMode, Record

if TYPE_CHECKING:
    from git_agent_runner.attempt.run import Finished

Fallback = Literal["fail", "continue", "fresh", "picker", "strict", "lenient"]
_CHOSEN: dict[str | None, Fallback] = {"fail": "fail", "continue": "continue", "fresh": "fresh", "picker": "picker"}
Act = Callable[[Context, Plan, "Request", Fallback], int]

STRICT = "Session resumption failed"


class Request(NamedTuple):
    """What the person asked for, of either command. `given` are the words after `--`.

    `fresh_message` is the prompt of a session that takes the place of one that is gone, where the message does not suit
    a beginning.
    """

    engine: str | None = None
    given: tuple[str, ...] = ()
    message: str | None = None
    fresh_message: str | None = None
    interactive: bool = False
    timeout: float | None = None
    raw: bool = False
    as_json: bool = False
    verbose: bool = False
    dry_run: bool = False
    cwd: str | None = None
    session: str | None = None
    store: bool = False
    wait: bool = False
    kill: bool = False
    terminal: bool = False
    agent_mode: AgentMode | None = None

    def hands_over(self, record: Record) -> bool:
        """Is the run to continue in another engine than its current one?"""
        return self.engine not in (None, record.agent_name)


def go(ctx: Context, request: Request, fallback: Fallback, found: Record | UserError, act: Act | None = None) -> int:
    """Resume the run that was found, or do what the fallback says instead. The exit status.

    Where somebody is at work on it, the person may want to wait for its turn, or to end that. `act` does another
    thing with the plan than to run it here.
    """
    act = act or _run
    if not isinstance(found, Record) or not (request.wait or request.kill):
        return _go(ctx, request, fallback, found, act)
    from git_agent_runner.attempt import queue

    announced = False
    run = queue.end_live(ctx, found) if request.kill else found
    while True:
        try:
            return _go(ctx, request, fallback, run, act)
        except UserError as error:
            if not request.wait or error.code not in queue.HELD:
                raise
            if not announced:
                say(f"waiting: {error.message}")
            announced = True
        run = queue.wait(ctx, run, request.session)


def configured(ctx: Context) -> Fallback:
    """The fallback that the person's settings choose."""
    return _CHOSEN.get(ctx.settings.fallback, "fail")


def unattended(ctx: Context, *, strict: bool) -> Fallback:
    """As configured, where nobody waits: else a session that is gone is replaced by a new one."""
    return "strict" if strict else _CHOSEN.get(ctx.settings.fallback, "lenient")


def planned(ctx: Context, request: Request, fallback: Fallback, found: Record | UserError) -> Plan:
    """What continues the run, or what the fallback says instead. Raises UserError where there is neither."""
    record = found if isinstance(found, Record) else None
    try:
        if isinstance(found, UserError):
            raise found
        if not request.dry_run:
            record = found = closed(ctx, found)
        return resume_plan(ctx, request, found, strict=fallback == "strict")
    except UserError as error:
        if record and request.hands_over(record):
            raise  # the person named another engine: nothing takes the place of that
        from git_agent_runner.attempt.fallback import otherwise  # a rare need

        return otherwise(ctx, request, fallback, record, error)


def _go(ctx: Context, request: Request, fallback: Fallback, found: Record | UserError, act: Act) -> int:
    plan = planned(ctx, request, fallback, found)
    _say_instead(plan)
    return act(ctx, plan, request, fallback)


def _run(ctx: Context, plan: Plan, request: Request, fallback: Fallback) -> int:
    if request.dry_run:
        from git_agent_runner.attempt.dry_run import dry_run

        dry_run(plan, as_json=request.as_json)
        return 0
    done = attempt(ctx, plan, request)
    gone = done.settled.verdict.status == "session_missing" and plan.kind == "resume"
    if gone and (fallback in ("fresh", "continue") or (fallback == "lenient" and not _still_there(ctx, plan, done))):
        from git_agent_runner.attempt.fallback import otherwise

        # Only the engine knew. Its failed attempt stands; what is done instead is the run's next.
        missing = UserError(f"{plan.engine.name} reports that the session does not exist", code="session_missing")
        plan = otherwise(ctx, request, fallback, done.settled.record, missing)
        _say_instead(plan)
        done = attempt(ctx, plan, request)
    return told(ctx, plan, done, request, fallback)


def _still_there(ctx: Context, plan: Plan, done: Finished) -> bool:
    """Does the store still have the session that its engine reports missing? Then nothing replaces it."""
    from git_agent_runner.conversation.session import still_there

    attempt = done.settled.attempt
    there = still_there(ctx, plan.engine, attempt)
    if there:
        name = plan.engine.name
        warn(f"{name} reports that session {plan.session} does not exist, but its store has it: not starting a new one")
    return there


def _say_instead(plan: Plan) -> None:
    if plan.instead_of is None:
        return
    from git_agent_runner.attempt.fallback import told_instead

    warn(told_instead(plan, plan.instead_of))


def attempt(ctx: Context, plan: Plan, request: Request) -> Finished:
    """Run the plan, whose doubts are said first."""
    from git_agent_runner.attempt import report
    from git_agent_runner.attempt.run import run

    refuse_start(ctx, interactive=plan.interactive)
    for note in plan.notes:
        say(note)
    if request.verbose and plan.kind == "resume":
        say(f"resuming session {plan.session}")
    shown = report.view(raw=request.raw, as_json=request.as_json, spent=before(ctx, of_plan(plan)))
    done = run(ctx, plan, shown, request.timeout)
    _let_notes_follow(ctx)
    return done


def refuse_start(ctx: Context, *, interactive: bool) -> None:
    """Raises UserError `inside_run` or `not_a_terminal` if no engine may be started from here."""
    refuse_in_hook_of_run(ctx)
    if interactive and not (os.isatty(0) and os.isatty(1)):
        raise UserError(
            "an interactive session needs a terminal on stdin and stdout",
            code="not_a_terminal",
            hints=("give a message to run without one",),
        )


def refuse_in_hook_of_run(ctx: Context) -> None:
    """Raises UserError if a hook inside a run would start another agent, whose commit starts another, without end
    (C12).

    An engine's environment has none of git's variables, so one that is there again says that git runs us: a hook.
    """
    handle = ctx.environ.get("GIT_AGENT_HANDLE")
    if handle and not {"GIT_PREFIX", "GIT_INDEX_FILE"}.isdisjoint(ctx.environ):
        raise UserError(
            f"this is a hook inside run {handle}: an agent's own commits start no other agent",
            code="inside_run",
            hints=('in the hook: [ -n "$GIT_AGENT_HANDLE" ] || git agent start …',),
        )


def told(ctx: Context, plan: Plan, done: Finished, request: Request, fallback: Fallback) -> int:
    """Report the attempt's outcome; returns the exit status."""
    from git_agent_runner.attempt import report

    status = report.finish(ctx, plan, done, as_json=request.as_json, lenient=fallback == "lenient")
    record, verdict = done.settled.record, done.settled.verdict
    if fallback == "strict" and (verdict.resumed == "as_new" or verdict.status == "session_missing"):
        why = (
            "began a new conversation instead"
            if verdict.resumed == "as_new"
            else "reports that the session does not exist"
        )
        fatal(f"{STRICT}: {record.agent_name} {why}")
    return status


def _let_notes_follow(ctx: Context) -> None:
    """Once per repository, when there is a note: configure git to carry notes. Not before: git warns about a configured
    ref that does not exist.

    A configuration that cannot be written does not keep a run from starting.
    """
    from git_agent_runner.store import notes

    if notes.carried(ctx.config) or not notes.exists(ctx.repo):
        return
    try:
        if notes.ensure_config(ctx.repo):
            say("set up git to keep agent notes through amend and rebase (shown once)")
    except UserError as error:
        warn(error.message, error.hints)


def closed(ctx: Context, record: Record) -> Record:
    """The run, after its last attempt was settled as interrupted if a git-agent was killed before it could do so."""
    from git_agent_runner.store.records import attempts

    if attempts.standing(ctx.layout, record.handle, record.run_id) != "dead":
        return record
    from git_agent_runner.attempt.settle import close_dead

    closed = close_dead(ctx, record)
    say(f"git-agent could not settle attempt {closed.attempts} of run {record.handle}: {closed.status}")
    last = attempts.latest(ctx.layout, record.run_id)
    if last and last.interactive:
        hint("if its terminal does not show what you type, run there: reset")
    return closed._replace(branch=record.branch)
