"""`git agent start`: a new run on this branch, or, with --resume, the branch's newest one."""

from __future__ import annotations

import os
import time

import click

from git_agent_runner import context
from git_agent_runner.attempt.go import Request, attempt, go, told, unattended
from git_agent_runner.attempt.plan import choose_engine, plan_start
from git_agent_runner.console import parse
from git_agent_runner.console.lines import say
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.marks import DETACHED
from git_agent_runner.core.model import AgentMode
from git_agent_runner.core.text import shown
from git_agent_runner.engines import wording
from git_agent_runner.find.lookup import newest_with_session
from git_agent_runner.find.resolve import at_hand
from git_agent_runner.git import run
from git_agent_runner.store import pointer
from git_agent_runner.windows import handover


@click.command(cls=parse.EngineCommand, short_help="Start an agent on this branch")
@click.argument("words", metavar="[PROMPT]", nargs=-1)
@click.option("-e", "--engine", metavar="ENGINE", help="The engine (default: agent.engine).")
@click.option("-i", "--interactive", is_flag=True, help="Use the engine's own interface in this terminal.")
@click.option(
    "--mode",
    "agent_mode",
    type=click.Choice(["read", "edit", "full"]),
    help="What the agent may do (default: agent.mode, else the engine's own).",
)
@click.option("-m", "--prompt", "prompt_text", metavar="TEXT", help="The prompt, e.g. one that begins with a dash.")
@click.option("--prompt-file", metavar="FILE", help="Read the prompt from FILE.")
@click.option("-c", "--create", metavar="BRANCH", help="Create this branch and switch to it first.")
@click.option("--resume", is_flag=True, help="Continue this branch's newest session, or start one.")
@click.option("--strict", is_flag=True, help="With --resume: fail instead of starting a new session.")
@click.option(
    "--timeout",
    callback=parse.seconds,
    metavar="TIME",
    help="End the engine after this time: 600, 90s, 10m, 2h.",
)
@click.option(
    "--branch", "names", metavar="NAME", multiple=True, help="Work on this branch, in its own work tree; repeatable."
)
@click.option(
    "--branches-from", "file", metavar="FILE", help="Work on the branches in FILE (- for stdin), one per line."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Work on at most N branches at a time (default 4)."
)
@click.option("--raw", is_flag=True, help="Show the engine's raw output.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the attempt.")
@click.option("-v", "--verbose", is_flag=True, help="Explain how run, session and directory were chosen.")
def command(  # noqa: PLR0917  click passes options by name
    words: tuple[str, ...],
    engine: str | None,
    interactive: bool,
    agent_mode: AgentMode | None,
    prompt_text: str | None,
    prompt_file: str | None,
    create: str | None,
    resume: bool,
    strict: bool,
    timeout: float | None,
    names: tuple[str, ...],
    file: str | None,
    jobs: int | None,
    raw: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Start an agent on this branch with PROMPT (`-` reads it from standard input).

    What follows -- goes to the engine: git agent start -e codex "fix the test" -- --model gpt-5.
    """
    parse.only_one({"--raw": raw, "--json": as_json}, {"--raw": raw, "-i": interactive})
    branches = {"--branch": bool(names), "--branches-from": file is not None}
    parse.only_one(
        *({"-c": create is not None, name: given} for name, given in {**branches, "--resume": resume}.items())
    )
    if strict and not resume:
        raise UsageError("--strict needs --resume", hints=("add --resume, or leave --strict out",))
    prompt = parse.only_word(words)
    if file == "-" and "-" in (prompt, prompt_file):
        raise UsageError("standard input holds the prompt or the branches, not both", hints=("put one into a file",))
    message = parse.read_message(prompt, prompt_text, prompt_file, ("--prompt", "--prompt-file"))
    if message is None and not interactive:
        raise UsageError("no prompt", hints=('git agent start "<prompt>", or -i for the engine\'s own interface',))
    ctx = context.load()
    handover.drop(ctx.layout, prompt_file)
    if names or file is not None:
        option = "--branch" if names else "--branches-from"
        parse.only_one({"-i": interactive, option: True}, {"--raw": raw, option: True}, {"-v": verbose, option: True})
        words = (
            "-e",
            choose_engine(ctx, engine).name,
            *_words(agent_mode, resume=resume, strict=strict, timeout=timeout),
        )
        return _on_branches(ctx, names, file, message or "", words, jobs, as_json=as_json)
    if jobs is not None:
        raise UsageError("--jobs needs --branch or --branches-from", hints=("without it there is only one run",))
    request = Request(
        engine=engine,
        given=parse.engine_args(),
        message=message,
        interactive=interactive,
        timeout=timeout,
        raw=raw,
        as_json=as_json,
        verbose=verbose,
        agent_mode=agent_mode,
    )
    if resume:
        found = newest_with_session(ctx, engine)
        # Where there is no run, none is replaced.
        none = isinstance(found, UserError) and found.code == "no_run"
        return go(ctx, request, "lenient" if none and not strict else unattended(ctx, strict=strict), found)
    plan = plan_start(ctx, choose_engine(ctx, engine), request.given, message, interactive=interactive, mode=agent_mode)
    if create is not None:  # what keeps the run from starting was found out before
        ctx = _on_new_branch(ctx, create)
        plan = plan_start(ctx, plan.engine, request.given, message, interactive=interactive, mode=agent_mode)
    if verbose:
        source = "from -e" if engine else "from agent.engine" if ctx.settings.engine else "the only one installed"
        say(f"engine {plan.engine.name}, {source}; directory '{plan.invocation.cwd}'")
    if line := _replaces(ctx):
        say(line)
    return told(ctx, plan, attempt(ctx, plan, request), request, "fail")


def _on_new_branch(ctx: Context, name: str) -> Context:
    """The branch is made where HEAD is. Raises UserError `branch_invalid`, and GitError for one that exists."""
    if name.startswith("-"):
        raise UserError(f"'{shown(name)}' is not a branch name", code="branch_invalid", hints=("give another one",))
    run(("switch", "--quiet", "--create", name), cwd=ctx.repo.top)
    say(f"switched to the new branch '{shown(name)}'")
    return context.load()


def _replaces(ctx: Context) -> str | None:
    """The run that a resume here found until now. Git is not asked if there can be none."""
    branch = ctx.repo.branch
    marked = os.path.lexists(f"{ctx.repo.git_dir}/{DETACHED}")
    if not (pointer.of(ctx.repo, ctx.config, branch) if branch else marked):
        return None
    found = at_hand(ctx.repo, ctx.config, ctx.runs, time.time(), None)
    if found is None or found.record is None:
        return None
    here = f"branch '{branch}'" if branch else "this work tree"
    return f"{here} used run {found.handle} until now; to continue that one: {wording.resume(found.record)}"


def _words(mode: AgentMode | None, *, resume: bool, strict: bool, timeout: float | None) -> tuple[str, ...]:
    """What the start on each branch is told."""
    flags = (("--resume", resume), ("--strict", strict))
    seconds = () if timeout is None else ("--timeout", f"{timeout:.15g}")
    return (*(name for name, given in flags if given), *seconds, *(("--mode", mode) if mode else ()))


def _on_branches(
    ctx: Context,
    names: tuple[str, ...],
    file: str | None,
    message: str,
    words: tuple[str, ...],
    jobs: int | None,
    *,
    as_json: bool,
) -> int:
    from git_agent_runner.unattended import pool, start_many  # a rare need

    named = (*names, *(start_many.read_names(file) if file is not None else ()))
    given = parse.engine_args()
    return start_many.start_all(
        ctx, start_many.StartManyRequest(named, message, words, given, jobs or pool.JOBS, as_json)
    )
