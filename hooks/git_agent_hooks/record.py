"""After a commit: note the branch's run on it, so that the nearest note is on the newest commit."""

from __future__ import annotations

import time

from git_agent_hooks import state
from git_agent_runner.context import Context
from git_agent_runner.find.resolve import at_hand
from git_agent_runner.store.notes import writing


def record(ctx: Context) -> str | None:
    """Note the run on HEAD: that of the run we are inside, else that of this branch's pointer, or of this work tree
    without a branch. A line to say where a new branch takes that one along.

    In a rebase nothing is done: git and `carry` move the notes of the commits that it makes again. Raises UserError.
    """
    if ctx.repo.head is None or state.rebasing(ctx.repo):
        return None
    found = at_hand(ctx.repo, ctx.config, ctx.runs, time.time(), ctx.environ.get("GIT_AGENT_HANDLE"))
    run = found and found.record
    if found is None or run is None or run.session.value is None:
        return None
    if found.ties:
        from git_agent_runner.find.tie import tie

        tie(ctx, run)
    writing.write(ctx.repo, ctx.repo.head, run, wait=state.PATIENCE)
    return found.ties or None
