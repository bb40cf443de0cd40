"""Findings of `git agent doctor`: unstaged changes that a hook manager put aside, and was killed meanwhile.

pre-commit and prek never delete these files, so most of them were restored long ago. One was not where each file of it
is still as the manager left it: with its old content, and not written since the moment of the patch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from git_agent_extractors import ordinary
from git_agent_runner.context import Context
from git_agent_runner.core.text import quote
from git_agent_runner.git import run
from git_agent_runner.git.put_aside import patch_folders, pid_of
from git_agent_runner.maintain.doctor.finding import Finding, RepositoryFacts

_LARGEST = 16 << 20  # bytes of a patch
_MOMENT = 2.0  # seconds from a patch to the last file that is set back
_BLOCK = re.compile(rb"^diff --git ", re.MULTILINE)
_INDEX = re.compile(rb"^index ([0-9a-f]{7,64})\.\.[0-9a-f]{7,64}", re.MULTILINE)


def put_aside(known: RepositoryFacts) -> Iterator[Finding]:
    ctx = known.ctx
    for manager, folder in patch_folders(ctx.environ):
        for patch in _patches(folder):
            names = _not_put_back(ctx, patch)
            if names and not _at_work(patch):
                problem = (
                    f"{manager} ended before it restored your changes of {', '.join(names)}: they are in '{patch}'"
                )
                fix = f"git -C {quote(ctx.repo.top)} apply {quote(patch)}"
                yield Finding("changes_put_aside", problem, f"{fix}; or, to discard them: rm {quote(patch)}")


def _patches(folder: str) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if pid_of(name) is not None]
    except OSError:
        return []


def _not_put_back(ctx: Context, patch: str) -> list[str]:
    """The files that are as the manager left them; none where not all are."""
    try:
        made = os.stat(patch).st_mtime
        text = ordinary.whole(patch, _LARGEST)
        old = [found[1].decode() for found in _INDEX.finditer(text)]
        listed = _git(ctx, "apply", "--numstat", "-z", patch)
        names = [line.split("\t", 2)[2] for line in listed.split("\0")[:-1]]
        if not len(names) == len(old) == len(_BLOCK.findall(text)):
            return []
        as_left = (_as_left(ctx, name, oid, made) for name, oid in zip(names, old, strict=True))
        return names if all(as_left) else []
    except (OSError, IndexError):
        return []


def _as_left(ctx: Context, name: str, oid: str, made: float) -> bool:
    """Asked of the system first: git is only where it may be so."""
    full = f"{ctx.repo.top}/{name}"
    if not made <= os.stat(full, follow_symlinks=False).st_ctime <= made + _MOMENT:
        return False
    return _git(ctx, "hash-object", f"--path={name}", "--", full).startswith(oid)


def _at_work(patch: str) -> bool:
    """Is its manager? A process that began after the patch is another one."""
    import psutil

    try:
        return psutil.Process(pid_of(patch) or 0).create_time() <= os.stat(patch).st_mtime
    except (psutil.Error, OSError):
        return False


def _git(ctx: Context, *words: str) -> str:
    return run(words, git_dir=ctx.repo.git_dir, cwd=ctx.repo.top, env={"GIT_WORK_TREE": ctx.repo.top}, check=False).out
