"""Fallbacks: what happens when a session cannot be resumed, per mode."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from git_agent_runner.attempt.go import STRICT
from git_agent_runner.attempt.plan import Plan, choose_engine, plan_resume, plan_start
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery

if TYPE_CHECKING:
    from git_agent_runner.attempt.go import Fallback, Request

# The conversation is not there, or nothing says which one it was.
GONE = frozenset(
    {"no_run", "record_elsewhere", "repository_copied", "session_malformed", "session_missing", "session_unknown"}
)
# It is there, but not for this directory: a new one takes its place on the person's word only.
AWAY = frozenset({"directory_bound", "session_not_placed"})
# It may be there, but this engine version cannot be asked for it by name.
UNSUPPORTED = frozenset({"resume_unsupported", "version_bad"})
# It is there, put away, in another store or in two states: only the person's own choice leaves it.
THERE = frozenset({"session_archived", "session_behind", "session_parted", "store_elsewhere"})


def otherwise(ctx: Context, request: Request, fallback: Fallback, record: Record | None, error: UserError) -> Plan:
    """The plan to use instead of the resume, with `error` as its `instead_of`. Raises `error` itself if there is
    none."""
    if fallback == "strict":
        error.message = f"{STRICT}: {error.message}"
    replaceable = GONE | UNSUPPORTED | {"fresh": AWAY | THERE, "lenient": frozenset()}.get(fallback, THERE)
    if fallback in ("strict", "fail") or error.code not in replaceable or _mistyped(request, error):
        raise error
    return _plan(ctx, request, fallback, record, error)._replace(instead_of=error)


def told_instead(plan: Plan, error: UserError) -> str:
    """A line for people: why the session is not resumed, and what is done instead."""
    handle, engine = plan.record.handle, plan.engine.name
    if plan.kind == "continue":
        picker, newest = f"opening {engine}'s picker", f"continuing {engine}'s newest session of that directory"
        return f"NOT resumed: {error.message}; {picker if plan.picker else newest}"
    if not handle:
        return f"{error.message}; starting a new run"
    return f"NOT resumed: {error.message}; starting a new session in run {handle}"


def _plan(ctx: Context, request: Request, fallback: Fallback, record: Record | None, error: UserError) -> Plan:
    if record and fallback in ("continue", "picker"):
        return _continue_plan(ctx, request, record, error, picker=fallback == "picker")
    if record and fallback == "lenient" and _proven_newest(ctx, record, error):
        with suppress(UserError):  # this version may have no such form either
            return _continue_plan(ctx, request, record, error, picker=False)
    if fallback in ("fresh", "lenient"):
        return _fresh_plan(ctx, request, record)
    raise error


def _mistyped(request: Request, error: UserError) -> bool:
    """Is the session one that the person gave and that cannot exist? Then it is not a lost session."""
    return request.session is not None and error.code == "session_malformed"


def _proven_newest(ctx: Context, record: Record, error: UserError) -> bool:
    """Does the engine's store show that the newest session of the directory is this run's?

    Engines mean the one used last, stores tell when one was made: only a directory's single session is certain.
    """
    if error.code not in UNSUPPORTED or not record.session.value or not record.cwd:
        return False
    engine = load(record.agent_name)
    version = engine.parse_version(record.engine_version) or ()
    found = engine.created_since(StoreQuery(ctx.environ, record.cwd, version))
    return engine.continue_ is not None and found == (record.session.value,)


def _continue_plan(ctx: Context, request: Request, record: Record, error: UserError, *, picker: bool) -> Plan:
    if picker and not (request.terminal or (os.isatty(0) and os.isatty(1))):
        raise UserError(error.message, code=error.code, hints=("the picker needs a terminal", *error.hints))
    return plan_resume(
        ctx,
        record,
        request.given,
        request.message,
        interactive=request.interactive or picker,
        cwd=request.cwd,
        kind="continue",
        picker=picker,
        mode=request.agent_mode,
    )


def _fresh_plan(ctx: Context, request: Request, record: Record | None) -> Plan:
    if record is None:
        return plan_start(
            ctx,
            choose_engine(ctx, request.engine),
            request.given,
            request.message,
            interactive=request.interactive,
            mode=request.agent_mode,
        )
    return plan_start(
        ctx,
        load(record.agent_name),
        request.given,
        request.fresh_message or request.message,
        interactive=request.interactive,
        existing=record,
        cwd=request.cwd,
        mode=request.agent_mode,
    )
