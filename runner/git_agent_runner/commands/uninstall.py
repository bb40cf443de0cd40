"""`git agent uninstall`: remove everything of ours from this repository, and name what is left."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import click

from git_agent_runner import context, git
from git_agent_runner.console.lines import print_json
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import quote, shown
from git_agent_runner.git.refs import worktrees
from git_agent_runner.store.notes import REF
from git_agent_runner.store.records import attempts, listing

SCHEMA = 1
# Values that `init` and `start` add; a person's own beside them stay.
_NOTES = (
    ("notes.rewriteref", f"^{REF}$"),
    ("notes.displayref", f"^{REF}$"),
    ("notes.agent.mergestrategy", "^cat_sort_uniq$"),
    ("notes.agent-reviews.mergestrategy", "^cat_sort_uniq$"),
)
_FILES = ("agent-none", "agent-sources")  # what hooks keep in each work tree's own git directory


class Leftover(NamedTuple):
    """Something of ours, and how to remove it."""

    what: str
    remove: Callable[[], object]


@click.command(short_help="Remove git-agent from this repository")
@click.option("-n", "--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(dry_run: bool, as_json: bool) -> int:
    """Remove hooks, settings, pointers, notes, and all runs with their output.

    Sessions stay in their engines' own stores. Work trees and the notes of remotes stay, too, and are named.
    """
    ctx = context.load(refused=lambda _: None)
    _refuse_live(ctx)
    left = tuple(_left(ctx))
    pieces = tuple(_pieces(ctx))
    if not dry_run:
        for piece in pieces:
            piece.remove()
        _remove(ctx.layout.root)  # locks of the steps before
    removed = [piece.what for piece in pieces]
    if as_json:
        print_json({"schema": SCHEMA, "dryRun": dry_run, "removed": removed, "left": list(left)})
        return 0
    for what in removed:
        print(f"{'would remove' if dry_run else 'removed'} {shown(what)}")
    for what in left:
        print(f"left: {shown(what)}")
    print("the program itself: pipx uninstall git-agent-runner, or as it was installed")
    return 0


def _refuse_live(ctx: Context) -> None:
    for row in listing.listing(ctx.layout, time.time()).rows:
        if attempts.state(ctx.layout, row.handle, row.run_id) in ("running", "waiting"):
            raise UserError(
                f"run {row.handle} is still running",
                code="run_live",
                hints=("wait until it has ended, or end its engine; then uninstall",),
            )


def _pieces(ctx: Context) -> Iterator[Leftover]:
    """What to remove, in order: first what leads to a run, its own files last."""
    from git_agent_hooks import install as hooks

    if names := hooks.installed(ctx):
        yield Leftover(f"hooks: {', '.join(names)}", partial(hooks.uninstall, ctx))
    for file in _config_files(ctx):
        for key, pattern in _settings(file):
            yield Leftover(f"setting {key}", partial(_unset, file, key, pattern))
    if refs := _refs(ctx):
        orders = "".join(f"option no-deref\ndelete {ref}\n" for ref in refs)
        yield Leftover(f"notes and other refs: {', '.join(refs)}", partial(_in_common, ctx, "update-ref", stdin=orders))
    files = [f"{folder}/{name}" for folder in _git_dirs(ctx) for name in _FILES]
    if known := [path for path in files if os.path.lexists(path)]:
        yield Leftover(f"files: {', '.join(known)}", partial(_unlink, known))
    if os.path.lexists(ctx.layout.root):
        yield Leftover(f"all runs: {ctx.layout.root}", partial(_remove, ctx.layout.root))


def _unlink(paths: list[str]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):  # removing the hooks has taken it away
            os.unlink(path)


def _git_dirs(ctx: Context) -> list[str]:
    """The common git directory, and those of linked work trees."""
    linked = f"{ctx.layout.common_dir}/worktrees"
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    return [ctx.layout.common_dir, *(f"{linked}/{name}" for name in names)]


def _config_files(ctx: Context) -> list[str]:
    names = [f"{ctx.layout.common_dir}/config", *(f"{folder}/config.worktree" for folder in _git_dirs(ctx))]
    return [path for path in names if os.path.exists(path)]


def _settings(file: str) -> Iterator[tuple[str, str]]:
    """The keys of ours in one file, and which of their values."""
    listed = git.run(("config", "--file", file, "--no-includes", "--list", "--name-only", "-z"), check=False).out
    keys = dict.fromkeys(listed.split("\0")[:-1])
    for key in keys:
        if key.startswith("agent.") or (key.startswith("branch.") and key.endswith((".agenthandle", ".agentreview"))):
            yield key, ""
    for key, pattern in _NOTES:
        found = git.run(("config", "--file", file, "--no-includes", "--get-all", key, pattern), check=False)
        if found.status == 0:
            yield key, pattern


def _unset(file: str, key: str, pattern: str) -> None:
    git.run(("config", "--file", file, "--unset-all", key, *((pattern,) if pattern else ())))


def _refs(ctx: Context) -> list[str]:
    listed = _in_common(ctx, "for-each-ref", "--format=%(refname)", "refs/notes/", "refs/agent/").out
    names = listed.split("\n")[:-1]
    return [name for name in names if name == REF or name.startswith((f"{REF}-", "refs/agent/"))]


def _in_common(ctx: Context, *words: str, stdin: str | None = None) -> git.Result:
    own = ("--stdin",) if stdin is not None else ()
    return git.run((*words, *own), git_dir=ctx.layout.common_dir, cwd=ctx.layout.common_dir, stdin=stdin)


def _remove(root: str) -> None:
    """A link is removed, and what it leads to is not touched."""
    if os.path.islink(root):
        os.unlink(root)
    elif os.path.isdir(root):
        shutil.rmtree(root)


def _left(ctx: Context) -> Iterator[str]:
    """What is not ours to remove, with what removes it."""
    from git_agent_hooks.place import find

    used = {row.cwd for row in listing.listing(ctx.layout, time.time()).rows}
    for path in (tree.path for tree in worktrees(ctx.repo)[1:]):
        if any(cwd == path or cwd.startswith(f"{path}/") for cwd in used):
            yield f"work tree '{path}', where a run worked: git worktree remove {quote(path)}"
    for remote in ctx.config.subsections("remote", "url"):
        yield f"notes at {remote}, if they were pushed: git push {quote(remote)} :{REF}"
    if any(entry.scope == "global" and entry.key.startswith("agent.") for entry in ctx.config.entries):
        yield "settings of your own for all repositories: git config --global --edit"
    if manager := find(ctx).manager:
        yield f"lines of ours in {manager}'s files, which do nothing now: remove them by hand"
