"""After a switch: one line that says that a session waits on this branch."""

from __future__ import annotations

import time

from git_agent_hooks import state
from git_agent_hooks.fired import Fired
from git_agent_runner.context import Context
from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Record
from git_agent_runner.core.text import shown
from git_agent_runner.find.resolve import at_hand

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def hint(ctx: Context, fired: Fired) -> str | None:
    """The line, or None: after a file checkout, in a rebase, inside a run, on a branch without one."""
    if fired.args[2:3] != ("1",) or "GIT_AGENT_HANDLE" in ctx.environ or state.rebasing(ctx.repo):
        return None
    now = time.time()
    found = at_hand(ctx.repo, ctx.config, ctx.runs, now, None)
    if found is None or found.record is None:
        return None
    if found.ties:
        from git_agent_runner.find.tie import tie

        tie(ctx, found.record)
        return found.ties
    return _line(found.record, now)


def _line(run: Record, now: float) -> str:
    seconds = now - (moment(run.updated_at) or now)
    ago = next((f"{int(seconds // unit)} {word} ago" for unit, word in _UNITS if seconds >= unit), "just now")
    where = f"on {shown(run.branch)}" if run.branch else "in this work tree"
    what = f"run {run.handle} ({run.agent_name}, {ago}) is waiting {where}"
    return f'{what}: git agent resume "<message>"'
