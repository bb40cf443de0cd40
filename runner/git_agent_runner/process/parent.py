"""The git that started us, directly or by way of a hook manager: once it has ended, nobody waits for what we do."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import psutil


def git_gone() -> Callable[[], bool]:
    """A question for later: has a git above us, or what is between it and us, ended since? Always no where there is
    no git.

    Hooks may be started by a git in a git (`exec git agent review`), so the death of any of them counts, and so does
    that of a hook manager.
    """
    above = parents()
    gits = [place for place, process in enumerate(above) if _is_git(process)]
    watched = above[: gits[-1] + 1] if gits else []
    return lambda: any(map(_ended, watched))


def parents() -> list[psutil.Process]:
    """The processes above this one, nearest first, as far up as they can be looked at."""
    import psutil

    found: list[psutil.Process] = []
    with suppress(psutil.Error):
        process = psutil.Process().parent()
        while process:
            found.append(process)
            process = process.parent()
    return found


def _is_git(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.name() == "git"
    except psutil.Error:
        return False


def _ended(process: psutil.Process) -> bool:
    """A process that nobody has waited for yet has ended, too."""
    import psutil

    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False
