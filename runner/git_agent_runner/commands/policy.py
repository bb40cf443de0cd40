"""What to do when a session cannot be resumed: the one table of behaviour, for resume and for start --resume."""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery
from git_agent_runner.errors import UserError
from git_agent_runner.model import Record
from git_agent_runner.plan import Plan, choose_engine, plan_resume, plan_start
from git_agent_runner.present import say, warn

Mode = Literal["fail", "strict", "continue", "fresh", "picker", "lenient"]

# The conversation is not there, or nothing says which one it was.
GONE = frozenset({"no_run", "record_elsewhere", "session_unknown", "session_malformed", "session_missing"})
# It may be there, but this engine version cannot be asked for it by name.
UNSUPPORTED = frozenset({"resume_unsupported", "version_bad"})


class Wish(NamedTuple):
    """What the person asked for, of either command. `given` are the words after `--`."""

    engine: str | None = None
    given: tuple[str, ...] = ()
    message: str | None = None
    interactive: bool = False
    timeout: float | None = None
    raw: bool = False
    as_json: bool = False
    verbose: bool = False
    dry_run: bool = False
    cwd: str | None = None
    session: str | None = None


def go(ctx: Context, wish: Wish, mode: Mode, found: Record | UserError) -> int:
    """Resume the run that was found, or do what the mode says instead. The exit status."""
    record = found if isinstance(found, Record) else None
    try:
        if isinstance(found, UserError):
            raise found
        if not wish.dry_run:
            record = found = _closed(ctx, found)
        plan = _resume_plan(ctx, wish, found)
    except UserError as error:
        plan = _otherwise(ctx, wish, mode, record, error)
    status, verdict = launch(ctx, plan, wish, lenient=mode == "lenient")
    if verdict == "session_missing" and mode in ("lenient", "fresh") and plan.kind in ("resume", "continue"):
        # Only the engine knew that it is gone. Its failed attempt stands; the fresh one is the run's next.
        record = ctx.runs.read(plan.record.handle)
        gone = UserError(f"{plan.engine.name} says that the session is gone", code="session_missing")
        status, _ = launch(ctx, _otherwise(ctx, wish, mode, record, gone), wish, lenient=mode == "lenient")
    return status


def launch(ctx: Context, plan: Plan, wish: Wish, *, lenient: bool = False) -> tuple[int, str]:
    """Run the plan and tell what it came to, or only print it. (exit status, the attempt's status)."""
    if wish.dry_run:
        from git_agent_runner.commands.dry_run import dry_run

        dry_run(plan, as_json=wish.as_json)
        return 0, ""
    from git_agent_runner.commands import output
    from git_agent_runner.drive import run

    for note in plan.notes:
        say(note)
    if wish.verbose and plan.kind == "resume":
        say(f"resuming session {plan.session}")
    done = run(ctx, plan, output.view(raw=wish.raw, as_json=wish.as_json), wish.timeout)
    return output.finish(ctx, done, as_json=wish.as_json, lenient=lenient), done.verdict.status


def _closed(ctx: Context, record: Record) -> Record:
    """The run, its last attempt settled as interrupted if a git-agent was killed before it could do so itself."""
    from git_agent_runner.store import attempts

    if record.status or attempts.state(ctx.layout, record.handle, record.run_id) != "dead":
        return record
    from git_agent_runner.drive import close_dead

    say(f"attempt {record.attempts} of run {record.handle} was interrupted: git-agent was killed")
    return close_dead(ctx, record)


def _resume_plan(ctx: Context, wish: Wish, record: Record) -> Plan:
    return plan_resume(
        ctx,
        record,
        wish.given,
        wish.message,
        interactive=wish.interactive,
        cwd=wish.cwd,
        session=wish.session,
    )


def _otherwise(ctx: Context, wish: Wish, mode: Mode, record: Record | None, error: UserError) -> Plan:
    """The plan that takes the resume's place. Raises the error itself where there is none."""
    if mode == "strict":
        text = f"Session resumption failed: {error.message}"
        raise UserError(text, code=error.code, hints=error.hints, exit_status=error.exit_status) from None
    if mode == "fail" or error.code not in GONE | UNSUPPORTED:
        raise error
    if record and (mode in ("continue", "picker") or (mode == "lenient" and _proven_newest(ctx, record, error))):
        return _continue_plan(ctx, wish, record, error, picker=mode == "picker")
    if mode in ("fresh", "lenient"):
        return _fresh_plan(ctx, wish, record, error)
    raise error


def _proven_newest(ctx: Context, record: Record, error: UserError) -> bool:
    """Does the engine's store show that the newest session of the directory is this run's?"""
    if error.code not in UNSUPPORTED or not record.session.value or not record.cwd:
        return False
    engine = load(record.agent_name)
    version = engine.parse_version(record.engine_version) or ()
    found = engine.created_since(StoreQuery(ctx.environ, record.cwd, version))
    return engine.continue_ is not None and found[-1:] == (record.session.value,)


def _continue_plan(ctx: Context, wish: Wish, record: Record, error: UserError, *, picker: bool) -> Plan:
    if picker and not os.isatty(0):
        raise UserError(error.message, code=error.code, hints=("the picker needs a terminal", *error.hints))
    engine = record.agent_name
    warn(
        f"{error.message}; opening {engine}'s picker"
        if picker
        else f"{error.message}; continuing {engine}'s newest session here"
    )
    return plan_resume(
        ctx,
        record,
        wish.given,
        wish.message,
        interactive=wish.interactive or picker,
        cwd=wish.cwd,
        kind="continue",
        picker=picker,
    )


def _fresh_plan(ctx: Context, wish: Wish, record: Record | None, error: UserError) -> Plan:
    if record is None:
        warn(f"{error.message}; starting a new run")
        return plan_start(ctx, choose_engine(ctx, wish.engine), wish.given, wish.message, interactive=wish.interactive)
    warn(f"NOT resumed: {error.message}; starting a new session in run {record.handle}")
    return plan_start(
        ctx, load(record.agent_name), wish.given, wish.message, interactive=wish.interactive, existing=record
    )
