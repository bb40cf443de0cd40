"""Install our hooks beside existing ones, and uninstall them again, byte for byte."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from git_agent_extractors import ordinary
from git_agent_hooks import sh, shim
from git_agent_hooks.place import BY_MANAGER, LARGEST, LEFTHOOK, HooksPlace, find, holds, is_link, slot, slots, usual
from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.store.files import locks

# In this order. prepare-commit-msg, which a rebase runs for each commit, only where `agent.trailer` asks for it.
HOOKS = tuple(name for name in shim.BODIES if name != "prepare-commit-msg")
MODE = 0o755
LOCK_WAIT = 30.0


class Hook(NamedTuple):
    """One hook of git here. `managed`: it waits for a line in the manager's file. `chained`: another goes first."""

    name: str
    state: Literal["installed", "outdated", "absent", "managed"]
    chained: bool = False


def install(ctx: Context, place: HooksPlace) -> tuple[str, ...]:
    """Write all hooks; return the names of those that were missing or outdated.

    A hook that is there is kept, and goes first. Where the directory is a manager's, ours are in a directory of
    their own, for its lines to call. Raises UserError `hook_in_the_way`, `hook_edited`, `write_failed`.
    """
    with _writing(ctx):
        own = own_directory(ctx)
        atomic.make_dir(str(own))  # empty, it is still the mark that this repository is to have our hooks
        if place.manager is None:
            _make_directory(place.directory)
            return tuple(name for name in wanted(ctx) if _chain(slot(place, name), name))
        return tuple(name for name in wanted(ctx) if _write(own / name, name))


def wanted(ctx: Context) -> tuple[str, ...]:
    """The hooks that this repository is to have."""
    return tuple(shim.BODIES) if ctx.settings.trailer else HOOKS


def uninstall(ctx: Context) -> tuple[str, ...]:
    """Remove what `install` wrote and restore what was there before; return the names of the hooks.

    Ours may have been installed before a manager came. What lies in a manager's directory is somebody else's.
    """
    own, hooks = own_directory(ctx), usual(ctx)
    with _writing(ctx):
        taken = [name for name in shim.BODIES if sum(_restore(path, name) for path in _ours(ctx, name))]
        Path(ctx.repo.git_dir, sh.NONE).unlink(missing_ok=True)
        _unlink_siblings(hooks)
        for directory in (own, _chained(hooks), hooks):
            with suppress(OSError):  # it holds something else, or was not there
                directory.rmdir()
    return tuple(taken)


def installed(ctx: Context) -> tuple[str, ...]:
    """The hooks that `uninstall` would remove."""
    return tuple(name for name in shim.BODIES if any(_is_ours(path) for path in _ours(ctx, name)))


def _ours(ctx: Context, name: str) -> tuple[Path, ...]:
    return (*(() if is_link(ctx) else slots(usual(ctx), name)), own_directory(ctx) / name)


@contextmanager
def _writing(ctx: Context) -> Iterator[None]:
    """A lock: of two installs at once, one would take our own hook for another tool's. Raises UserError
    `write_failed`."""
    with locks.locked(ctx.layout.lock("hooks"), wait=LOCK_WAIT):
        try:
            yield
        except OSError as error:
            raise UserError(f"cannot change '{error.filename}': {error.strerror}", code="write_failed") from error


def status(ctx: Context, place: HooksPlace) -> tuple[Hook, ...]:
    return tuple(_status(ctx, place, name) for name in wanted(ctx))


def _status(ctx: Context, place: HooksPlace, name: str) -> Hook:
    paths = (own_directory(ctx) / name,) if place.manager else slots(place.directory, name)
    path = next((path for path in paths if _is_ours(path)), None)
    if path is None:
        return Hook(name, "absent")
    if place.manager is not None and not calls_ours(ctx, place, name):
        return Hook(name, "managed")
    current = _content(path) == shim.text(name, sys.executable)
    return Hook(name, "installed" if current else "outdated", os.path.lexists(_before(path, name)))


def lost(ctx: Context) -> tuple[Hook, ...]:
    """Hooks that were installed but that git does not call any more, or not yet: another tool's install has replaced
    ours.
    """
    if not own_directory(ctx).is_dir():
        return ()
    return tuple(hook for hook in status(ctx, find(ctx)) if hook.state in {"absent", "managed"})


def own_directory(ctx: Context) -> Path:
    """The directory of the hooks that a manager's lines call: private to this clone, shared by its work trees."""
    return Path(ctx.repo.common_dir) / "agent" / "hooks"


def _make_directory(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise UserError(
            f"'{directory}' is not a directory", code="hook_in_the_way", hints=("move it away, then install again",)
        )
    directory.mkdir(exist_ok=True)


def _chain(path: Path, name: str) -> bool:
    _refuse_edited(path, name)
    if os.path.lexists(path) and not _is_ours(path):
        _move(path, _before(path, name))
        _link_siblings(path.parent)
    return _write(path, name)


def _move(path: Path, before: Path) -> None:
    if not path.is_file() and not path.is_symlink():
        raise UserError(
            f"'{path}' is not a file, so git cannot run it, and ours cannot be put there",
            code="hook_in_the_way",
            hints=("move it away, then install again",),
        )
    if os.path.lexists(before):
        raise UserError(
            f"'{path}' is not ours, and '{before}' is there too",
            code="hook_in_the_way",
            hints=("another tool has replaced our hook: merge the two by hand, then install again",),
        )
    before.parent.mkdir(exist_ok=True)
    path.rename(before)


def _link_siblings(hooks: Path) -> None:
    """A hook may read a file that it finds beside itself, as husky's did up to version 4."""
    ours = {path.name for name in shim.BODIES for path in slots(hooks, name)}
    for path in hooks.iterdir():
        if path.name not in ours and path.suffix != ".sample":
            with suppress(FileExistsError):
                Path(_chained(hooks), path.name).symlink_to(_sibling(path))


def _unlink_siblings(hooks: Path) -> None:
    with suppress(FileNotFoundError):
        for link in _chained(hooks).iterdir():
            if link.is_symlink() and link.readlink() == _sibling(hooks / link.name):
                link.unlink()


def _sibling(path: Path) -> Path:
    return Path("..", path.parent.name, path.name)


def _write(path: Path, name: str) -> bool:
    text = shim.text(name, sys.executable)
    if _is_ours(path) and _content(path) == text:
        return False
    atomic.write(str(path), text.encode("utf-8", "surrogateescape"), MODE)
    path.chmod(MODE)  # whatever the umask: git runs no hook that it may not execute
    return True


def _restore(path: Path, name: str) -> bool:
    """Restore the earlier hook. Ours may be missing already: removed by hand, or never written by an install that was
    killed."""
    before = _before(path, name)
    if _is_ours(path):
        _refuse_edited(path, name)
    elif os.path.lexists(path) or not os.path.lexists(before):
        return False
    if os.path.lexists(before):
        before.replace(path)
    else:
        path.unlink()
    return True


def _before(path: Path, name: str) -> Path:
    return _chained(path.parent) / name


def _chained(hooks: Path) -> Path:
    return hooks.with_name(hooks.name + shim.CHAINED)


def _refuse_edited(path: Path, name: str) -> None:
    """Lines that a person has added to our file would be lost with it."""
    if _is_ours(path) and not shim.is_whole(_content(path)):
        raise UserError(
            f"'{path}' is ours, and has been changed by hand",
            code="hook_edited",
            hints=(f"move your lines to '{_before(path, name)}', remove ours, and try again",),
        )


def _is_ours(path: Path) -> bool:
    return not path.is_symlink() and holds(path, shim.MARK.encode())  # a hook of somebody's may be a link to another's


def _content(path: Path) -> str:
    return ordinary.whole(path, LARGEST).decode("utf-8", "surrogateescape")


def calls_ours(ctx: Context, place: HooksPlace, name: str) -> bool:
    """Does the manager's file for that hook hold our line? Git itself runs only what is executable."""
    files = [Path(ctx.repo.top) / file for file in LEFTHOOK] if place.manager == "lefthook" else [place.lines / name]
    runs = place.manager in BY_MANAGER or os.access(place.lines / name, os.X_OK)
    return runs and any(f"agent/hooks/{name}" in line for file in files for line in _without_comments(file))


def _without_comments(file: Path) -> list[str]:
    """The lines without comments. Neither comment mark occurs in a line of ours."""
    text = _content(file) if file.is_file() else ""
    return [re.split("#|//", line)[0] for line in text.split("\n")]
