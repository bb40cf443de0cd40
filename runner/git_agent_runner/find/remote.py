"""Which remote is meant."""

from __future__ import annotations

from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError


def choose(ctx: Context, name: str | None) -> str:
    """The remote asked for; else the branch's, origin, or the only one. Raises UserError `unknown_remote`."""
    remotes = ctx.config.subsections("remote", "url")
    chosen = name if name in remotes else None if name else usual(ctx)
    if chosen is not None and not chosen.startswith("-"):
        return chosen
    what = f"there is no remote {name!a}" if name else "which remote?" if remotes else "this repository has no remote"
    hint = f"remotes are: {', '.join(remotes)}" if remotes else "git remote add origin <url>"
    raise UserError(what, code="unknown_remote", hints=(hint,))


def usual(ctx: Context) -> str | None:
    """The branch's, origin, or the only one."""
    remotes = ctx.config.subsections("remote", "url")
    names = (ctx.config.last(f"branch.{ctx.repo.branch}.remote"), "origin", remotes[0] if len(remotes) == 1 else None)
    return next((name for name in names if name in remotes and not name.startswith("-")), None)
