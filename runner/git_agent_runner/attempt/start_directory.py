"""Where a new run works, and which work tree a directory belongs to."""

from __future__ import annotations

import os

from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import quote
from git_agent_runner.engines import arguments
from git_agent_runner.engines.spec import Engine
from git_agent_runner.git import trees
from git_agent_runner.git.refs import worktrees


def directory(ctx: Context, engine: Engine, args: tuple[str, ...]) -> str:
    """Where a new run works: a `-C DIR` of the engine's, resolved; else the person's directory."""
    refuse_copied(ctx, "")
    named = arguments.directory(engine.options, args)
    inside = ctx.cwd if is_inside(ctx.cwd, ctx.repo.top) else ctx.repo.top
    cwd = os.path.realpath(os.path.join(inside, named)) if named else inside
    if not os.path.isdir(cwd):
        raise UserError(f"there is no directory '{cwd}'", code="directory_gone", hints=("make it first",))
    if cwd != inside and work_tree_of(ctx, cwd) != ctx.repo.top:
        raise UserError(
            f"'{cwd}' is outside this work tree",
            code="directory_outside",
            hints=("a run belongs to the branch of the work tree it runs in; start it from that one",),
        )
    return cwd


def refuse_copied(ctx: Context, recorded: str, *then: str) -> None:
    """Raises UserError `work_tree_copied` where git takes this work tree for another one, that it is a copy of: an
    agent here would move that one's HEAD and index. `recorded` is the run's work tree, `then` what to type there.
    """
    if other := trees.copied_from(ctx.repo, recorded):
        raise UserError(
            f"'{ctx.repo.top}' is a copy of the work tree '{other}', and git takes both for one",
            code="work_tree_copied",
            hints=(" && ".join((f"cd {quote(other)}", *then)),),
        )


def work_tree_of(ctx: Context, cwd: str) -> str | None:
    """The work tree that a directory lies in; one may lie inside of another."""
    return max((tree.path for tree in worktrees(ctx.repo) if is_inside(cwd, tree.path)), key=len, default=None)


def is_inside(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")
