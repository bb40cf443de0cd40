"""`resume --terminal`: the interactive form in a new window, which is a `git agent` of its own and keeps records."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from git_agent_runner.attempt.dry_run import SCHEMA, planned
from git_agent_runner.attempt.go import Fallback, Request, refuse_in_hook_of_run
from git_agent_runner.attempt.plan import Plan
from git_agent_runner.attempt.start_directory import work_tree_of
from git_agent_runner.console.lines import print_json, say
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import command_line, quote
from git_agent_runner.git import scrubbed
from git_agent_runner.process.child import python
from git_agent_runner.windows import handover
from git_agent_runner.windows.command import Window
from git_agent_runner.windows.opening import open_window, plan_opening
from git_agent_runner.windows.terminals import Desktop


def in_window(ctx: Context, plan: Plan, request: Request, fallback: Fallback) -> int:
    """Open the window. The plan was made here to know that it can be; the window makes its own.

    Raises UserError as `plan_opening` and `open_window` do, with a command to paste.
    """
    refuse_in_hook_of_run(ctx)
    words = _words(ctx, plan, request, fallback, "=".join)
    cwd = plan.invocation.cwd if work_tree_of(ctx, plan.invocation.cwd) else ctx.cwd
    by_hand = f"cd {quote(cwd)} && {command_line(('git', 'agent', *words))}"
    file = None
    try:
        if request.message is not None and not request.dry_run:
            file = handover.put(ctx.layout, request.message)
            words = _words(ctx, plan, request, fallback, lambda given: f"{given[0]}-file={file}")
        facts = Desktop(ctx.environ, sys.platform)
        opening = plan_opening(
            facts, ctx.settings.terminal, Window(cwd, python("git_agent_runner.entry", *words)), ctx.repo.top
        )
        if not request.dry_run:
            open_window(opening, scrubbed(ctx.environ))
    except UserError as error:
        handover.drop(ctx.layout, file)
        error.hints = (*error.hints, f"or open it yourself: {by_hand}")
        raise
    opened: dict[str, Any] = {
        **planned(plan),
        "terminal": opening.terminal,
        "launcher": list(opening.argv),
        "opened": not request.dry_run,
        "command": by_hand,
    }
    if request.as_json:
        print_json({"schema": SCHEMA, **opened})
    elif request.dry_run:
        if plan.handed:
            say(f"first, {plan.handed.why('would be')}")
        print(command_line(opening.argv))
    else:
        say(f"{plan.record.handle or 'a new run'} opens in a new window of {opening.title}")
    return 0


def _words(
    ctx: Context, plan: Plan, request: Request, fallback: Fallback, said: Callable[[tuple[str, str]], str]
) -> tuple[str, ...]:
    """What the window's `git agent` is told: the same request, for exactly this run. `said` gives it the message."""
    other = plan.engine.name if plan.handed else None
    optional = (("--engine", other), ("--cwd", request.cwd), ("--session", request.session))
    timeout = () if request.timeout is None else (f"--timeout={request.timeout:.15g}",)
    agent_mode = () if request.agent_mode is None else (f"--mode={request.agent_mode}",)
    verbose = ("-v",) if request.verbose else ()
    store = ("--store",) if request.store else ()
    given = ("--", *request.given) if request.given else ()
    if not plan.record.handle:
        prompt = () if request.message is None else (said(("--prompt", request.message)),)
        return ("start", "-i", f"--engine={plan.engine.name}", *prompt, *agent_mode, *timeout, *verbose, *given)
    message = () if request.message is None else (said(("--message", request.message)),)
    named = tuple(f"{name}={value}" for name, value in optional if value is not None)
    return (
        "resume",
        plan.record.handle,
        "-i",
        *_fallback(ctx, fallback),
        *named,
        *store,
        *agent_mode,
        *message,
        *timeout,
        *verbose,
        *given,
    )


def _fallback(ctx: Context, fallback: Fallback) -> tuple[str, ...]:
    if fallback == "strict":
        return ("--strict",)
    return () if fallback == (ctx.settings.fallback or "fail") else (f"--fallback={fallback}",)
