"""`git agent hook STAGE`: what any hook manager calls, with what git gives a hook."""

from __future__ import annotations

from typing import Any

import click

from git_agent_hooks.fired import STAGES
from git_agent_hooks.run import HookRequest, asking, at


@click.command(short_help="Run git-agent's part of a git hook, or start an agent in it")
@click.argument("stage", metavar="STAGE", type=click.Choice(STAGES))
@asking
@click.argument("words", metavar="[-- ARGS]", nargs=-1)
def command(stage: str, words: tuple[str, ...], **asked: Any) -> int:
    """Call this from a hook of git, or from a hook manager, with git's own arguments and standard input.

    Without options: what the hooks of `git agent hooks install` do at STAGE. With a prompt: start an agent, which is
    told what git is doing; whatever comes of that, the hook passes, unless --on-failure fail is given.
    """
    from git_agent_hooks.main import at_stage, by_git

    fired = by_git(stage, words)
    return at(fired, HookRequest(**asked)) if any(asked.values()) else at_stage(fired)
