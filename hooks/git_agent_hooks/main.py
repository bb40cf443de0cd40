"""Entry point of git's installed hooks and of pre-commit's. Errors never reach git."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from git_agent_hooks.fired import TOLD_BY_STDIN, Fired, by_pre_commit, stage
from git_agent_runner.console.aloud import say_past
from git_agent_runner.console.lines import fatal
from git_agent_runner.context import Context, load
from git_agent_runner.core.errors import USAGE, UserError

LARGEST = 64 << 20  # characters: a rebase of a million commits
Action = Callable[[Context, Fired], str | None]


def _record(ctx: Context, _fired: Fired) -> str | None:
    from git_agent_hooks.record import record

    return record(ctx)


def _carry(ctx: Context, fired: Fired) -> None:
    from git_agent_hooks.carry import after

    after(ctx, fired)


def _hint(ctx: Context, fired: Fired) -> str | None:
    from git_agent_hooks.hint import hint

    return hint(ctx, fired)


def _trailer(ctx: Context, fired: Fired) -> None:
    from git_agent_hooks.trailer import trailer

    trailer(ctx, fired)


def _chosen_trailer(ctx: Context, fired: Fired) -> None:
    """The trailer hook runs if a setting asks for it; in a pre-commit file it is listed by name."""
    if ctx.settings.trailer:
        _trailer(ctx, fired)


# What an installed hook does, in this order.
INSTALLED: dict[str, tuple[Action, ...]] = {
    "prepare-commit-msg": (_chosen_trailer,),
    "post-commit": (_carry, _record),
    "post-rewrite": (_carry,),
    "post-merge": (_carry,),
    "post-checkout": (_hint,),
}
# pre-commit's hooks without `git-agent-`, and the stage where pre-commit's variables tell none.
BY_PRE_COMMIT: dict[str, tuple[Action, str]] = {
    "record": (_record, "post-commit"),
    "carry": (_carry, "post-commit"),
    "hint": (_hint, "post-checkout"),
    "trailer": (_trailer, "prepare-commit-msg"),
}


def by_git(hook: str, args: Sequence[str]) -> Fired:
    """What an installed hook was called with. Another hook's stdin may be a pipe that nobody closes."""
    told = hook in TOLD_BY_STDIN and not sys.stdin.isatty()
    text = sys.stdin.buffer.read(LARGEST).decode("utf-8", "surrogateescape") if told else ""
    return Fired(hook, tuple(args), os.environ, text)


def installed(argv: Sequence[str]) -> int:
    """What an installed hook calls with its name and git's arguments. Always 0."""
    hook, *args = argv
    return _quietly(INSTALLED.get(hook, ()), by_git(hook, args))


def at_stage(fired: Fired) -> int:
    """Do what our hooks do at that stage, for a manager that calls `git agent hook`. Only `pre-commit`, a check, may
    fail."""
    if fired.hook == "pre-commit":
        from git_agent_hooks.check import check

        return check()
    return _quietly(INSTALLED.get(fired.hook, ()), fired)


def main(argv: Sequence[str] | None = None) -> int:
    """`git-agent-hook NAME [WORDS]`: a hook of .pre-commit-hooks.yaml. `run` and `check` may fail, when asked to."""
    name, *words = (sys.argv[1:] if argv is None else argv) or [""]
    if name in {"run", "message"}:
        from git_agent_hooks.run import run

        return run(["--propose", *words] if name == "message" else words)
    if name == "check":
        from git_agent_hooks.check import check

        return check()
    if name not in BY_PRE_COMMIT:
        fatal(f"unknown hook {name!a}", (f"known hooks: run, message, check, {', '.join(BY_PRE_COMMIT)}",))
        return USAGE
    action, usual = BY_PRE_COMMIT[name]
    return _quietly((action,), by_pre_commit(stage(os.environ) or usual, words, os.environ))


def _quietly(actions: Sequence[Action], fired: Fired) -> int:
    """Run them all. Prints at most one line, and one for each review that has ended meanwhile; git's command continues
    whatever happens.

    A setting that is not to be used stops nothing here: a commit that is not recorded now never will be.
    """
    lines: list[str] = []
    try:
        ctx = load(fired.environ, lambda error: lines.append(error.message), tell=False)
    except UserError as error:
        lines = [] if _silenced() else [*lines, error.message][:1]
    else:
        for action in actions:
            lines += _line(action, ctx, fired)
        lines = [*lines[:1], *_reviews(ctx)] if ctx.settings.hints else []
    for line in lines:
        say_past(line, fired.environ)
    return 0


def _reviews(ctx: Context) -> list[str]:
    if not os.path.isdir(f"{ctx.layout.root}/verdicts/untold"):
        return []
    from git_agent_runner.store.untold import take

    return take(ctx.layout)


def _silenced() -> bool:
    """Are our hooks switched off? Asked of git directly, where the settings as a whole cannot be read."""
    from git_agent_runner.git import run

    return run(("config", "--type=bool", "--get", "agent.hints"), check=False).out == "false\n"


def _line(action: Action, ctx: Context, fired: Fired) -> list[str]:
    try:
        said = action(ctx, fired)
    except UserError as error:
        said = error.message
    except Exception as error:  # noqa: BLE001  a bug of ours must not end the person's git command
        from git_agent_runner.console.boundary import save_trace

        said = f"a bug in git-agent's {fired.hook} hook; {save_trace(error, (fired.hook,))}"
    return [said] if said else []
