"""When a hook starts no agent, and says nothing: nobody wants one, or git goes through commits that exist already."""

from __future__ import annotations

import os
from collections.abc import Mapping

from git_agent_runner import git

# What this work tree's git directory has meanwhile. `--autostash` makes rebase-merge before the hook pre-rebase.
_AT_WORK = (
    "rebase-merge/head-name",
    "rebase-apply/next",
    "sequencer",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_START",
)


def quiet(environ: Mapping[str, str]) -> bool:
    return environ.get("GIT_AGENT_SKIP", "0") not in {"", "0"} or _switched_off(environ) or _at_work(environ)


def _switched_off(environ: Mapping[str, str]) -> bool:
    words = ("config", "--type=bool", "--get", "agent.hooks")
    return git.run(words, git_dir=environ.get("GIT_DIR"), check=False).out == "false\n"


def _at_work(environ: Mapping[str, str]) -> bool:
    words = ("rev-parse", "--absolute-git-dir")
    folder = git.run(words, git_dir=environ.get("GIT_DIR"), check=False).out.rstrip("\n")
    return any(os.path.exists(f"{folder}/{name}") for name in _AT_WORK)
