"""Putting our hooks beside those that are there, and taking them out again, byte for byte."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from git_agent_hooks import shim
from git_agent_hooks.place import LEFTHOOK, Place, slot, slots
from git_agent_runner.context import Context
from git_agent_runner.errors import UserError
from git_agent_runner.store import atomic, locks

# In this order. prepare-commit-msg, which a rebase runs for each commit, only where `agent.trailer` asks for it.
HOOKS = tuple(name for name in shim.BODIES if name != "prepare-commit-msg")
MODE = 0o755
LOCK_WAIT = 30.0


class Hook(NamedTuple):
    """One hook of git here. `managed`: it waits for a line in the manager's file. `chained`: another goes first."""

    name: str
    state: Literal["installed", "outdated", "absent", "managed"]
    chained: bool = False


def install(ctx: Context, place: Place) -> tuple[str, ...]:
    """Write all hooks; the names of those that were not there, or not as they are now.

    A hook that stands there is kept beside ours, and goes first. Where the directory is a manager's, ours stand in a
    directory of their own, for its lines to call. Raises UserError `hook_in_the_way`, `write_failed`.
    """
    with locks.locked(ctx.layout.lock("hooks"), wait=LOCK_WAIT):  # of two at once, one would take our own for another's
        if place.manager is None:
            return tuple(name for name in wanted(ctx) if _chain(slot(place, name), name))
        own = own_directory(ctx)
        atomic.make_dir(str(own))
        return tuple(name for name in wanted(ctx) if _write(own / name, name))


def wanted(ctx: Context) -> tuple[str, ...]:
    """The hooks that this repository is to have."""
    return tuple(shim.BODIES) if ctx.settings.trailer else HOOKS


def uninstall(ctx: Context, place: Place) -> tuple[str, ...]:
    """Take out what `install` wrote; the names of the hooks. What was there before stands there again."""
    own = own_directory(ctx)
    with locks.locked(ctx.layout.lock("hooks"), wait=LOCK_WAIT):
        taken = [name for name in shim.BODIES if sum(_restore(path, name) for path in _ours(place, own, name))]
        for directory in (own, *(() if place.manager else (place.directory,))):
            with suppress(OSError):  # it holds something else, or was not there
                directory.rmdir()
    return tuple(taken)


def _ours(place: Place, own: Path, name: str) -> tuple[Path, ...]:
    """Where a hook of ours may stand. What lies in a manager's directory is somebody else's; ours may have been
    installed before the manager came.
    """
    usual = place if place.manager is None else Place(own.parents[1] / "hooks", None)
    return (*slots(usual, name), own / name)


def status(ctx: Context, place: Place) -> tuple[Hook, ...]:
    return tuple(_status(ctx, place, name) for name in wanted(ctx))


def _status(ctx: Context, place: Place, name: str) -> Hook:
    paths = (own_directory(ctx) / name,) if place.manager else slots(place, name)
    path = next((path for path in paths if _is_ours(path)), None)
    if path is None:
        return Hook(name, "absent")
    if place.manager is not None and not calls_ours(ctx, place, name):
        return Hook(name, "managed")
    current = path.read_text() == shim.text(name, sys.executable)
    return Hook(name, "installed" if current else "outdated", os.path.lexists(_before(path, name)))


def own_directory(ctx: Context) -> Path:
    """Where the hooks stand that a manager's lines call: private to this clone, shared by its work trees."""
    return Path(ctx.repo.common_dir) / "agent" / "hooks"


def _chain(path: Path, name: str) -> bool:
    before = _before(path, name)
    _refuse_edited(path, name)
    if os.path.lexists(path) and not _is_ours(path):
        if os.path.lexists(before) or path.is_dir():
            raise UserError(
                f"'{path}' is not ours, and '{before}' is there too",
                code="hook_in_the_way",
                hints=("another tool has put its hook over ours: join the two by hand, then install again",),
            )
        path.rename(before)
    path.parent.mkdir(exist_ok=True)
    return _write(path, name)


def _write(path: Path, name: str) -> bool:
    text = shim.text(name, sys.executable)
    if _is_ours(path) and path.read_text() == text:
        return False
    atomic.write(str(path), text.encode("utf-8", "surrogateescape"), MODE)
    path.chmod(MODE)  # whatever the umask: git runs no hook that it may not execute
    return True


def _restore(path: Path, name: str) -> bool:
    if not _is_ours(path):
        return False
    _refuse_edited(path, name)
    before = _before(path, name)
    if os.path.lexists(before):
        before.replace(path)
    else:
        path.unlink()
    return True


def _before(path: Path, name: str) -> Path:
    return path.with_name(name + shim.CHAINED)


def _refuse_edited(path: Path, name: str) -> None:
    """Lines that a person has added to our file would be lost with it."""
    if _is_ours(path) and not shim.is_whole(path.read_text(errors="replace"), name):
        raise UserError(
            f"'{path}' is ours, and has been changed by hand",
            code="hook_edited",
            hints=(f"move your lines to '{path.name}{shim.CHAINED}' beside it, take ours out, and try again",),
        )


def _is_ours(path: Path) -> bool:
    try:
        return shim.MARK.encode() in path.read_bytes()
    except OSError:
        return False


def calls_ours(ctx: Context, place: Place, name: str) -> bool:
    """Does the manager's file for that hook hold our line?"""
    files = [Path(ctx.repo.top) / file for file in LEFTHOOK] if place.manager == "lefthook" else [place.lines / name]
    return any(f"agent/hooks/{name}" in _text(file) for file in files)


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def lines(place: Place, name: str) -> str:
    """What a person adds to the manager's own file so that it calls our hook, when it is there."""
    call = f'h="$(git rev-parse --git-common-dir)/agent/hooks/{name}"; [ ! -x "$h" ] || "$h"'
    if place.manager != "lefthook":
        return f'{call} "$@"'
    told = "\n      use_stdin: true" if name == "post-rewrite" else ""
    return f"{name}:\n  jobs:\n    - name: git-agent\n      run: {call} {{0}}{told}"
