"""What an attempt's agent was not allowed to do, and the flags that would allow it. We never add one."""

from __future__ import annotations

from git_agent_extractors.model import NOT_OFFERED, Refusal
from git_agent_runner.attempt.settle import Settled
from git_agent_runner.console.lines import hint, warn
from git_agent_runner.context import Context
from git_agent_runner.core.model import Attempt
from git_agent_runner.core.text import command_line
from git_agent_runner.engines import load, modes, wording
from git_agent_runner.engines.spec import Allowance, StoreQuery, Version

_SHOWN = 3


def refused(ctx: Context, settled: Settled) -> tuple[Refusal, ...]:
    """Taken from the output; if that does not show it, from the engine's session or the launch args."""
    attempt = settled.attempt
    if settled.transcript.refused or attempt.interactive or attempt.status != "completed":
        return settled.transcript.refused
    query = StoreQuery(ctx.environ, attempt.cwd, _version(ctx, attempt), attempt.session.value)
    return load(attempt.agent_name, ctx.environ).limits(query, attempt.launch_args)


def allowing(ctx: Context, attempt: Attempt, found: tuple[Refusal, ...]) -> tuple[Allowance, ...]:
    engine = load(attempt.agent_name, ctx.environ)
    return engine.allow(_version(ctx, attempt), attempt.launch_args, found) if found else ()


def say(ctx: Context, settled: Settled) -> None:
    """Print a warning if a tool was requested and refused; a hint if the agent only had less than it might need."""
    found = refused(ctx, settled)
    if not found:
        return
    name = settled.attempt.agent_name
    command = f"{wording.resume(settled.record)} -- "
    allowances = allowing(ctx, settled.attempt, found)
    hints = [f"to allow {what}: {command}{command_line(flags)}" for what, flags in allowances]
    if allowances:
        engine, version = load(name, ctx.environ), _version(ctx, settled.attempt)
        hints.append(f"to allow it in every new run: {modes.lasting(engine, version, allowances[-1])}")
    asked = [refusal for refusal in found if refusal in settled.transcript.refused and refusal.text != NOT_OFFERED]
    if asked:
        calls = f"{len(asked)} tool call{'s' * (len(asked) != 1)}"
        more = ", …" if len(asked) > _SHOWN else ""
        warn(f"{name} refused {calls} ({', '.join(map(_words, asked[:_SHOWN]))}{more})", tuple(hints))
    elif hints:  # else the person's own flags have chosen it
        for text in (f"{name} gave the agent no {_listed(found)}", *hints):
            hint(text)


def _listed(found: tuple[Refusal, ...]) -> str:
    return f"{', '.join(refusal.tool for refusal in found)} ({found[0].text})"


def _words(refusal: Refusal) -> str:
    first, *more = refusal.text.split("\n")
    short = first if len(first) <= 80 and not more else f"{first[:80]}…"
    return f"{refusal.tool or 'a tool'}: {short}" if short else refusal.tool or "a tool"


def _version(ctx: Context, attempt: Attempt) -> Version:
    return load(attempt.agent_name, ctx.environ).parse_version(attempt.engine_version) or ()
