"""`git agent hooks`: install, uninstall and show the hooks that keep notes and pointers right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from git_agent_runner import context
from git_agent_runner.errors import FATAL
from git_agent_runner.present import fatal, print_json, table, warn
from git_agent_runner.text import quote, shown

if TYPE_CHECKING:
    from git_agent_hooks.place import Place

SCHEMA = 1


@click.group(short_help="Install the hooks that keep notes right, and say when a session waits")
def command() -> None:
    """The hooks of this repository that keep notes right as history moves, and announce a session that waits."""


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


def _unfound(place: Place) -> None:
    """Installed, but git does not look there from here."""
    if place.why and not place.manager:
        warn(place.why, (f"git config core.hooksPath {quote(str(place.directory))}",))


def _by_hand(place: Place, missing: list[str]) -> int:
    from git_agent_hooks.install import lines
    from git_agent_hooks.place import BY_MANAGER

    for name in missing:
        if place.manager != "lefthook":
            print(f"# {place.lines / name}")
        print(lines(place, name))
    where = "to lefthook.yml" if place.manager == "lefthook" else "to these files"
    new = () if place.manager in BY_MANAGER else ("a file that is new begins with #!/bin/sh, and must be executable",)
    fatal(place.why, (f"add the lines above {where}, then: git agent hooks status", *new))
    return FATAL


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
        print(f"lines of ours in {place.manager}'s files do nothing now; take them out by hand")
    return 0


@command.command(short_help="Show which hooks are there")
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
    rows_shown = [(hook.name, hook.state, "another goes first" if hook.chained else "") for hook in found]
    print(table(("hook", "state", ""), rows_shown))
    _unfound(place)
    return 0
