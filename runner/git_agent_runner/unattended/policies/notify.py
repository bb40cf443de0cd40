"""Telling a person: on the desktop where there is one, and by the command that the policy names."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from git_agent_runner.console.lines import say
from git_agent_runner.context import Context
from git_agent_runner.core.text import shown
from git_agent_runner.engines.probe import find_on_path
from git_agent_runner.unattended.worker import run_command

PATIENCE = 30.0  # seconds for each way of telling; the other runs wait meanwhile

# Values are arguments of the script, never part of it.
_APPLESCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


def desktop(environ: Mapping[str, str], platform: str, title: str, text: str) -> tuple[str, ...] | None:
    """The command that shows a notification, where this machine has a desktop and such a command."""
    if platform == "darwin":
        words = [word for line in _APPLESCRIPT for word in ("-e", line)]
        return ("osascript", *words, title, text)
    seen = any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return ("notify-send", "--app-name=git-agent", "--", title, text) if seen else None


def notify(ctx: Context, handle: str, reason: str, command: tuple[str, ...]) -> None:
    """Nothing of this may keep the others' runs from going on: what fails is reported, and that is all."""
    record = ctx.runs.read(handle)
    text = shown(f"{record.branch or '(detached)'}: {reason}")
    words = desktop(ctx.environ, sys.platform, f"git agent: run {handle} needs you", text)
    if words and (program := find_on_path(words[0], ctx.environ, ctx.repo.top)):
        run_command(ctx, record, (program, *words[1:]), PATIENCE)
    if command and (status := run_command(ctx, record, command, PATIENCE)):
        say(f"the notification command '{command[0]}' for run {handle} ended with {status}")
