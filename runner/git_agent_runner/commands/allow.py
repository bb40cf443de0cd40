"""`git agent allow`: approve one tracked file that decides what is done with runs that die or fail."""

from __future__ import annotations

import click

from git_agent_runner import context
from git_agent_runner.console.lines import say, warn
from git_agent_runner.core.errors import UsageError
from git_agent_runner.core.text import command_line, shown
from git_agent_runner.unattended.policies import places
from git_agent_runner.unattended.policies.model import Action, Policy


@click.command(short_help="Approve a tracked policies file in its present form")
@click.argument("file", required=False)
@click.option("--none", is_flag=True, help="Withdraw the approval.")
def command(file: str | None, none: bool) -> int:
    """Read FILE as policies, show what it would do, and approve its present content. If the file changes, it
    has to be approved again."""
    if none == (file is not None):
        raise UsageError("give the file to allow, or --none", hints=("git agent allow .git-agent/policies.toml",))
    ctx = context.load()
    if file is None:
        places.allow_none(ctx)
        say("no policies file is approved any more")
        return 0
    allowed, policy = places.allow(ctx, file, warn)
    say(f"'{allowed.path}' is approved until it changes:")
    for line in _lines(policy):
        print(shown(line))
    return 0


def _lines(policy: Policy) -> list[str]:
    """Each trigger with what is done, commands as they would be run."""
    rows = [("on_dead", policy.on_dead), ("on_idle", policy.on_idle), ("on_ci", policy.on_ci)]
    rows += [(f"on_error {rule.match or 'any'}", rule.action) for rule in policy.on_error]
    return [f"{name}: {_words(action)}" for name, action in rows if action]


def _words(action: Action) -> str:
    words: list[str] = [action.kind]
    if action.run:
        words.append(f"runs: {command_line(action.run)}")
    if action.log:
        words.append(f"log: {command_line(action.log)}")
    if action.message:
        words.append(f'sends{"" if action.append else " in a new session"}: "{action.message}"')
    if action.attempts != 1:
        words.append(f"attempts: {action.attempts or 'forever'}")
    if action.cooldown:
        words.append(f"cooldown: {action.cooldown:g} s")
    return ", ".join(words)
