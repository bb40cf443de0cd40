"""`git agent hooks`: install, uninstall and show the hooks that keep notes and pointers right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from git_agent_runner import context
from git_agent_runner.console.lines import fatal, hint, print_json, table, warn
from git_agent_runner.core.errors import FATAL
from git_agent_runner.core.text import quote, shown

if TYPE_CHECKING:
    from git_agent_hooks.place import HooksPlace

SCHEMA = 1


@click.group(short_help="Install hooks that keep notes up to date, and show when a session waits")
def command() -> None:
    """Install hooks that keep notes up to date as history changes, and show when a session waits."""


@command.command(short_help="Install our hooks; existing ones are kept")
def install() -> int:
    """Install our hooks. Existing hooks are kept, and run first.

    In a directory that husky, lefthook or core.hooksPath manages nothing is written: the lines to add are printed.
    """
    from git_agent_hooks import install as hooks
    from git_agent_hooks.place import find

    ctx = context.load()
    place = find(ctx)
    written = hooks.install(ctx, place)
    missing = [name for name in hooks.wanted(ctx) if place.manager and not hooks.calls_ours(ctx, place, name)]
    if missing:
        return _by_hand(place, missing)
    print(f"installed {', '.join(written)}" if written else "all hooks are installed")
    _unfound(place)
    return 0


def _unfound(place: HooksPlace) -> None:
    """Are our hooks installed, but not where git looks from here?"""
    if place.why and not place.manager:
        warn(place.why, (f"git config core.hooksPath {quote(str(place.directory))}",))


def _by_hand(place: HooksPlace, missing: list[str]) -> int:
    from git_agent_hooks.lines import text

    manager = place.manager or ""
    print(text(manager, missing, place.lines))
    where, *then = _WHERE.get(manager, ("these files",))
    steps = ", ".join([f"add the lines above to {where}", *then])
    new = () if manager in _WHERE else ("a new file starts with #!/bin/sh, and must be executable",)
    fatal(place.why, (f"{steps}, then: git agent hooks status", *new))
    return FATAL


# Where a manager's lines go, and what to do then.
_WHERE = {
    "husky": ("these files",),
    "lefthook": ("lefthook.yml", "lefthook install"),
    "simple-git-hooks": ("its settings in package.json", "npx simple-git-hooks"),
}
MANAGERS = ("git", "husky", "lefthook", "simple-git-hooks", "pre-commit", "prek")


@command.command("print", short_help="Print what a hook manager's file needs to call our hooks")
@click.option("--manager", type=click.Choice(MANAGERS), required=True, help="Whose file.")
def for_manager(manager: str) -> int:
    """Print what to add to a hook manager's file, so that it calls our hooks; nothing is changed."""
    from pathlib import Path

    from git_agent_hooks import install as hooks
    from git_agent_hooks.lines import text
    from git_agent_hooks.place import usual

    ctx = context.load()
    print(text(manager, hooks.wanted(ctx), Path(ctx.repo.top, ".husky") if manager == "husky" else usual(ctx)))
    if manager not in {"pre-commit", "prek"}:
        hint("in each clone, once: git agent hooks install")
    return 0


@command.command(short_help="Remove our hooks")
def uninstall() -> int:
    """Remove our hooks. What they replaced is restored, byte for byte."""
    from git_agent_hooks.install import uninstall as take_out
    from git_agent_hooks.place import find

    ctx = context.load()
    place = find(ctx)
    taken = take_out(ctx)
    print(f"removed {', '.join(taken)}" if taken else "none of our hooks is installed")
    if place.manager:
        print(f"lines of ours in {place.manager}'s files do nothing now; remove them by hand")
    return 0


@command.command(short_help="Show which hooks are installed")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(as_json: bool) -> int:
    """Show each hook: installed, outdated, absent, or managed by another, which does not call ours yet."""
    from git_agent_hooks.install import status as states
    from git_agent_hooks.place import find

    ctx = context.load()
    place = find(ctx)
    found = states(ctx, place)
    if as_json:
        rows = [hook._asdict() for hook in found]
        directory = str(place.directory)
        print_json({"schema": SCHEMA, "directory": directory, "manager": place.manager, "hooks": rows})
        return 0
    print(f"hooks in {shown(str(place.directory))}" + (f", managed by {place.manager}" if place.manager else ""))
    rows_shown = [(hook.name, hook.state, "another runs first" if hook.chained else "") for hook in found]
    print(table(("hook", "state", ""), rows_shown))
    _unfound(place)
    return 0
