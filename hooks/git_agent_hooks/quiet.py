"""When a hook starts no agent: nobody wants one, git is replaying existing commits, or there is nothing new.

What costs money is begun only by what a person does and an agent has not seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from git_agent_hooks import pushing
from git_agent_hooks.above import command_lines
from git_agent_hooks.fired import Fired
from git_agent_hooks.staged import staged
from git_agent_runner.core.model import Repository
from git_agent_runner.git import in_repo, refs, run

# What this work tree's git directory has meanwhile. `--autostash` makes rebase-merge before the hook pre-rebase.
_AT_WORK = {
    "rebase-merge/head-name": "a rebase",
    "rebase-apply/applying": "git am",
    "rebase-apply/next": "a rebase",
    "sequencer": "a sequence of commits",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_START": "a bisect",
}


def why_not(repo: Repository, fired: Fired) -> str | None:
    """Why no agent is to be started now, or None."""
    return unwanted(repo, fired.environ) or _NOTHING.get(fired.hook, _never)(repo, fired)


def unwanted(repo: Repository, environ: Mapping[str, str], *, push: bool = False) -> str | None:
    """Why no agent is wanted at any hook. A push makes no commits again, whatever else is in progress."""
    if environ.get("GIT_AGENT_SKIP", "0") not in {"", "0"}:
        return "GIT_AGENT_SKIP is set"
    if _switched_off(environ):
        return "agent.hooks is false"
    if push:
        return None
    busy = next((what for name, what in _AT_WORK.items() if os.path.exists(f"{repo.git_dir}/{name}")), None)
    return busy and f"{busy} is in progress"


def _switched_off(environ: Mapping[str, str]) -> bool:
    words = ("config", "--type=bool", "--get", "agent.hooks")
    return run(words, git_dir=environ.get("GIT_DIR"), check=False).out == "false\n"


def _never(_repo: Repository, _fired: Fired) -> str | None:
    return None


def _unstaged(_repo: Repository, fired: Fired) -> str | None:
    return None if staged(fired.environ) else "nothing is staged"


def _committed(repo: Repository, _fired: Fired) -> str | None:
    """Also amended: what was there before is in HEAD's reflog."""
    return "the commit has the same files as before" if _same_files(repo, "HEAD@{1}", "HEAD") else None


def _checkout(repo: Repository, fired: Fired) -> str | None:
    old, new, kind = (*fired.args, "", "", "")[:3]
    if kind != "1":
        return "files were checked out, not a branch"
    return "both commits have the same files" if _same_files(repo, old, new) else None


def _same_files(repo: Repository, *revisions: str) -> bool:
    words = ("rev-parse", "-q", "--verify", "--end-of-options")
    trees = {in_repo(repo, *words, f"{revision}^{{tree}}", check=False).out for revision in revisions}
    return len(trees) == 1 and trees != {""}


def _merge(repo: Repository, fired: Fired) -> str | None:
    """Was HEAD merged? Git's word in HEAD's reflog is the same in every language; without a reflog the parents show
    it."""
    if fired.args[:1] == ("1",):
        return None
    last = in_repo(repo, "log", "-g", "-1", "--no-show-signature", "--format=%gs", "HEAD", "--", check=False).out
    parents = in_repo(repo, "rev-parse", "HEAD^@", check=False).out.split()
    made = len(parents) > 1 and parents[0] == refs.commit_of(repo, "ORIG_HEAD")
    return None if made and not last.endswith(": Fast-forward\n") else "it was a fast-forward"


def _push(repo: Repository, fired: Fired) -> str | None:
    if pushing.is_dry(command_lines()):
        return "the push is a dry run"
    if not pushing.told(fired):
        return "no refs came on standard input: nothing is pushed, or the hook manager does not pass them on"
    branches = pushing.branches(fired)
    if not branches:
        return "no branch is pushed"
    remote = fired.args[0] if fired.args else ""
    return None if any(pushing.brings(repo, push, remote) for push in branches) else "the push brings no commits"


_NOTHING: dict[str, Callable[[Repository, Fired], str | None]] = {
    "pre-commit": _unstaged,
    "pre-merge-commit": _unstaged,
    "prepare-commit-msg": _unstaged,
    "commit-msg": _unstaged,
    "post-commit": _committed,
    "post-rewrite": _committed,
    "post-checkout": _checkout,
    "post-merge": _merge,
    "pre-push": _push,
}
