"""What started us: a person, or a git at a hook, and whether a hook manager has put unstaged changes aside."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.git.put_aside import patch_folders, pid_of

LARGEST = 16 << 20  # bytes of a rebase's list
# git's options that take the next word
_TAKING = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"}
# Those that run hooks themselves. Any other, an alias too, runs what a person has told it: `bisect run`, `submodule
# foreach`; a hook that is run on the way has one of these above it.
_RUNNING_HOOKS = {
    *("am", "checkout", "cherry-pick", "citool", "clone", "commit", "gui", "hook", "merge", "pull", "push", "rebase"),
    *("receive-pack", "revert", "send-email", "switch", "worktree"),
}


class Process(NamedTuple):
    pid: int
    began: float
    words: tuple[str, ...]

    @property
    def verb(self) -> str | None:
        """What this git is to do; None of another program."""
        return _verb(self.words[1:]) if self.words and os.path.basename(self.words[0]) == "git" else None


class Hold(NamedTuple):
    """A manager that has put unstaged changes aside, and the file that has them. It puts them back when its hooks end,
    over whatever was written to these files meanwhile.
    """

    manager: str
    patch: str


def above() -> tuple[Process, ...]:
    """Our parents, as far up as they can be looked at."""
    import psutil

    found: list[Process] = []
    with suppress(psutil.Error):
        process = psutil.Process().parent()
        while process:
            found.append(Process(process.pid, process.create_time(), tuple(process.cmdline())))
            process = process.parent()
    return tuple(found)


def _verb(words: Sequence[str]) -> str | None:
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            return word
        if word in _TAKING:
            next(rest, None)
    return None


def in_hook(environ: Mapping[str, str], git_dir: str, parents: Sequence[Process]) -> bool:
    """Has git, or a manager by itself, started us, and not a person?"""
    if "GIT_INDEX_FILE" in environ or environ.get("PRE_COMMIT") == "1":
        return True
    verb = next((process.verb for process in parents if process.verb in _RUNNING_HOOKS), None)
    return verb is not None and not (verb == "rebase" and _executing(git_dir))


def _executing(git_dir: str) -> bool:
    """Does this rebase run a command that the person has put into it, as by `rebase -x`?"""
    try:
        done = ordinary.whole(f"{git_dir}/rebase-merge/done", LARGEST)
    except OSError:
        return False
    return done.rstrip(b"\n").rpartition(b"\n")[2].startswith(b"exec ")


def hold(environ: Mapping[str, str], git_dir: str, common_dir: str, parents: Sequence[Process]) -> Hold | None:
    """The hold of a manager that is our parent. Its file is named after its process, or is in the git directory."""
    if environ.get("PRE_COMMIT") == "1":
        for name, folder in patch_folders(environ):
            for patch in _listed(folder):
                if any(_by(patch, process) for process in parents):
                    return Hold(name, patch)
    for place in (git_dir, common_dir):
        patch = f"{place}/info/lefthook-unstaged.patch"
        if os.path.exists(patch) and any("lefthook" in " ".join(process.words) for process in parents):
            return Hold("lefthook", patch)
    return None


def _by(patch: str, process: Process) -> bool:
    if pid_of(patch) != process.pid:
        return False
    try:
        return os.stat(patch).st_mtime >= process.began - 1.0  # not of an earlier process with that number
    except OSError:
        return False


def _listed(folder: str) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder) if "patch" in name]
    except OSError:
        return []
