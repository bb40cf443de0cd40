"""Findings of `git agent doctor`: locks that a killed git left. Ours are dropped by the kernel, whoever dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from glob import iglob

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import quote
from git_agent_runner.maintain.doctor.finding import PRUNE, Finding, RepositoryFacts

OLD = 600.0  # seconds; git holds none of these for as long as that
_PLACES = ("*.lock", "reftable/*.lock", "worktrees/*/*.lock")  # under the common git directory


def stale(known: RepositoryFacts) -> Iterator[Finding]:
    """Locks of git's own that are old and that no process has open: git refuses to write as long as they stand."""
    common = known.ctx.repo.common_dir
    old = [found for found in _locks(common) if known.now - found[1].st_mtime > OLD]
    held = _open_files() if old else set()
    for path, stat in old:
        if path not in held:
            minutes = int((known.now - stat.st_mtime) // 60)
            yield Finding(
                "git_lock_stale",
                f"'{path}' is {minutes} minutes old and no process has it open: git cannot write while it exists",
                f"if no git is running there, on another machine either: {PRUNE}; or: rm {quote(path)}",
                prune=partial(_remove, path, stat),
            )


def _locks(common: str) -> Iterator[tuple[str, os.stat_result]]:
    for name in _names(common):
        with suppress(OSError):  # released since we looked
            yield f"{common}/{name}", os.lstat(f"{common}/{name}")


def _names(common: str) -> Iterator[str]:
    """No branch ends in `.lock`, so what does below refs/ is one. What is behind a link is another's to remove."""
    for place in _PLACES:
        for name in sorted(iglob(place, root_dir=common, include_hidden=True)):
            if os.path.realpath(os.path.dirname(f"{common}/{name}")) == os.path.dirname(
                f"{os.path.realpath(common)}/{name}"
            ):
                yield name
    if os.path.islink(f"{common}/refs"):
        return
    for folder, _, names in sorted(os.walk(f"{common}/refs")):
        yield from (f"{os.path.relpath(folder, common)}/{name}" for name in sorted(names) if name.endswith(".lock"))


def _open_files() -> set[str]:
    """The files that processes have open, as far as we may look into them."""
    import psutil

    found: set[str] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            found |= {file.path for file in process.open_files()}
    return found


def _remove(path: str, seen: os.stat_result) -> None:
    """Raises UserError when it is another one by now."""
    now = os.lstat(path)
    if (now.st_ino, now.st_mtime_ns) != (seen.st_ino, seen.st_mtime_ns):
        raise UserError(f"'{path}' is in use again", code="locked")
    os.unlink(path)
