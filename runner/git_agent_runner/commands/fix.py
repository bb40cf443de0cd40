"""`git agent fix`: let an agent make a check pass, in its own work tree, and take over what it changed."""

from __future__ import annotations

import os
import shlex
import threading
import time

import click

from git_agent_runner import context
from git_agent_runner.console import parse
from git_agent_runner.console.aloud import say_past
from git_agent_runner.console.lines import hint, say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.text import command_line, shown
from git_agent_runner.review.fixing import held
from git_agent_runner.review.fixing.check import words_of
from git_agent_runner.review.fixing.door import FixRequest, Made, Ways, after, fix, to_apply

EVERY = 10.0  # seconds between two progress lines
LINES = 40
ATTEMPTS = 2


@click.command(cls=parse.EngineCommand, short_help="Have an agent make a check pass, in its own work tree")
@click.argument("words", metavar="[PROMPT]", nargs=-1)
@click.option(
    "--check", "check", metavar="CMD", help="The command that must pass, quoted as in a shell; run without one."
)
@click.option("-e", "--engine", metavar="ENGINE", help="The engine (default: agent.engine).")
@click.option(
    "--attempts",
    type=click.IntRange(min=1, max=20),
    metavar="N",
    default=ATTEMPTS,
    help="How often the agent may try (default 2).",
)
@click.option("--restage", is_flag=True, help="In a hook: let the commit continue, with the fix in it.")
@click.option("--timeout", callback=parse.seconds, metavar="TIME", help="End it after this time: 600, 90s, 10m, 2h.")
def command(
    words: tuple[str, ...], check: str | None, engine: str | None, attempts: int, restage: bool, timeout: float | None
) -> int:
    """Run a check on what git would commit now. If it fails, an agent works in a copy of it until the check passes.

    What it changed goes into the index and the work tree where it does not touch what you changed; else it is saved as
    a patch. In a hook, git's command fails then, for you to look at it, unless --restage.
    """
    prompt = parse.read_message(parse.only_word(words), None, None, ("PROMPT", "PROMPT"))
    if check is None and prompt is None:
        raise UsageError("no check and no prompt", hints=("git agent fix --check 'ruff check'",))
    command = words_of(check) if check is not None else ()
    if parse.engine_args() and os.environ.get("PRE_COMMIT") == "1":
        hint = "set agent.<engine>.args in git's configuration"
        raise UsageError("an engine's flags cannot be given in a tracked file", hints=(hint,))
    ctx = context.load()
    parents = held.above()
    hooked = held.in_hook(ctx.environ, ctx.repo.git_dir, parents)
    if hooked and (why := _unwanted(ctx)):
        say(f"not checked: {why}")
        return 0
    request = FixRequest(command, engine, attempts if command else 1, prompt, parse.engine_args())
    refuse = _refusal(ctx, request, timeout, parents)
    return _fixed(ctx, request, after(timeout), refuse, hooked=hooked, restage=restage)


def _unwanted(ctx: Context) -> str | None:
    from git_agent_hooks.quiet import unwanted
    from git_agent_hooks.staged import staged

    if why := unwanted(ctx.repo, ctx.environ):
        return why
    committing = "GIT_INDEX_FILE" in ctx.environ  # at a push nothing need be staged
    return "nothing is staged" if committing and not staged(ctx.environ) else None


def _fixed(
    ctx: Context, request: FixRequest, until: float | None, refuse: str | None, *, hooked: bool, restage: bool
) -> int:
    from git_agent_runner.process.parent import git_gone

    over = threading.Event()
    ways = Ways(git_gone(), lambda engine: _tell_while(ctx, over, engine, request), until)
    try:
        made, why = fix(ctx, request, ways, refuse)
    except UserError as error:
        if error.code != "held":
            raise
        warn(error.message, error.hints)
        return 1
    finally:
        over.set()
    if made is None:
        print(f"{shown(shlex.join(request.check))} passes")
        return 0
    return _told(ctx, request, made, why, hooked=hooked, restage=restage)


def _refusal(ctx: Context, request: FixRequest, timeout: float | None, parents: tuple[held.Process, ...]) -> str | None:
    """Why no agent may be started now, with the command that starts it later."""
    if handle := ctx.environ.get("GIT_AGENT_HANDLE"):
        return f"inside run {handle} no other agent is started: make it pass yourself"
    hold = held.hold(ctx.environ, ctx.repo.git_dir, ctx.repo.common_dir, parents)
    if hold is None:
        return None
    line = command_line(["git", "agent", "fix", *_words(request, timeout)])
    return f"{hold.manager} has set your unstaged changes aside, so no agent is started now; to start one: {line}"


def _words(request: FixRequest, timeout: float | None) -> list[str]:
    """The words that ask for the same fix again."""
    options = {
        "-e": request.engine,
        "--check": shlex.join(request.check),
        "--attempts": str(request.attempts) if request.check and request.attempts != ATTEMPTS else None,
        "--timeout": str(timeout).removesuffix(".0") if timeout else None,
    }
    words = [word for name, value in options.items() if value for word in (name, value)]
    return [*words, *([request.prompt] if request.prompt else []), *(["--", *request.given] if request.given else [])]


def _tell_while(ctx: Context, over: threading.Event, engine: str, request: FixRequest) -> None:
    """Print a line at once and every ten seconds, from a thread, so that a person knows what they are waiting for."""
    began = time.monotonic()
    what = shlex.join(request.check) if request.check else "your prompt"

    def tell() -> None:
        while True:
            seconds = int(time.monotonic() - began)
            clock = f"{seconds // 60}:{seconds % 60:02d}"
            say_past(f"{engine} is working on {shown(what)} in a copy, {clock}; Ctrl-C ends it", ctx.environ)
            if over.wait(EVERY):
                return

    threading.Thread(target=tell, daemon=True).start()


def _told(ctx: Context, request: FixRequest, made: Made, why: str | None, *, hooked: bool, restage: bool) -> int:
    source = f"{made.engine}, run {made.handle}"
    if not made.entries or not made.passes:
        return _unfixed(ctx, request, made, source)
    files = [entry.path for entry in made.entries]
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    if why or made.patch is None:
        warn(f"the fix ({source}) makes the check pass, but was not applied to your files: {why}", (_apply(ctx, made),))
        return 1
    print(shown(f"fixed {count}: {', '.join(files[:LINES])} ({source})"))
    if hooked and not restage:
        print(shown("look at it (git diff HEAD), and commit again"))
        return 1
    return 0


def _unfixed(ctx: Context, request: FixRequest, made: Made, source: str) -> int:
    if made.status != "completed":
        warn(f"{source}: {made.status}")
    if not made.entries:
        warn(f"{source} changed nothing")
    elif not request.check or made.output is None:
        warn(f"{made.engine} did not complete; its changes are saved", (_apply(ctx, made),))
    elif not made.passes:
        warn(f"{shown(shlex.join(request.check))} still fails after the changes of {source}", (_apply(ctx, made),))
    for line in [line for line in (made.output or "").splitlines() if line.strip()][-LINES:]:
        print(shown(line))
    hint(f"its messages: git agent log {made.handle}")
    return 1


def _apply(ctx: Context, made: Made) -> str:
    assert made.patch is not None
    return f"to apply it: {to_apply(ctx, made.patch)}"
