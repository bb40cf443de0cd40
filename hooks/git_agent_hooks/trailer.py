"""Before a commit message is edited: add the run that makes the commit. Opt-in, since it becomes part of the
history."""

from __future__ import annotations

from git_agent_hooks.fired import Fired
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import run as git
from git_agent_runner.store.files.layout import is_handle

KEY = "Agent-Run"


def trailer(ctx: Context, fired: Fired) -> None:
    """Add `Agent-Run: <engine>/<handle>` to the message file, once, in a commit that a run makes."""
    handle = ctx.environ.get("GIT_AGENT_HANDLE", "")
    if not fired.args or not is_handle(handle):
        return
    try:
        run = ctx.runs.read(handle)
    except UserError:
        return  # the run of another repository
    line = f"{KEY}: {run.agent_name}/{run.handle}"
    words = ("interpret-trailers", "--in-place", "--if-exists=addIfDifferent", "--trailer", line, fired.args[0])
    git(words, cwd=ctx.repo.top)
