"""What a push would bring, ref by ref."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from git_agent_hooks.fired import Fired
from git_agent_runner.core.model import Repository
from git_agent_runner.git import in_repo, refs


class Push(NamedTuple):
    """One ref of a push. `local` is a ref, or whatever the person named; `old` is where the push starts from, empty for
    a new ref.
    """

    local: str
    new: str
    remote: str
    old: str


def branches(fired: Fired) -> list[Push]:
    """The refs of a push that a hook acts on: branches, and others that are neither tags nor notes. A push of our own
    notes must not start another run. Deletions bring nothing.
    """
    apart = ("refs/tags/", "refs/notes/")
    return [push for push in told(fired) if push.new and not push.remote.startswith(apart)]


def told(fired: Fired) -> list[Push]:
    """The refs of a push as git passes them. pre-commit passes only one of them; of a push of a whole history it sets
    no object names, and prek only one.
    """
    found = [line.rsplit(" ", 3) for line in fired.stdin.split("\n")]
    names = ("LOCAL_BRANCH", "TO_REF", "REMOTE_BRANCH", "FROM_REF")
    local, new, remote, old = (fired.environ.get(f"PRE_COMMIT_{name}", "") for name in names)
    if not fired.stdin and remote:
        found = [[local, new or local, remote, old]]
    return [Push(words[0], _oid(words[1]), words[2], _oid(words[3])) for words in found if len(words) == 4]


def _oid(word: str) -> str:
    """Zeros are git's word for no object."""
    return word if word.strip("0") else ""


def brings(repo: Repository, push: Push, remote: str) -> tuple[str | None, str] | None:
    """The range of commits that the push brings: (before the first, None at the root; the last). None if the remote has
    them all, or what is pushed is not a commit.
    """
    new = refs.commit_of(repo, push.new)
    if new is None:
        return None
    if push.old and (old := refs.commit_of(repo, push.old)):
        return old, new
    has = f"--remotes={remote}" if remote else "--remotes"
    own = in_repo(repo, "rev-list", "--first-parent", new, "--not", has, "--", check=False).out.split()
    return (refs.commit_of(repo, f"{own[-1]}^"), new) if own else None


def is_dry(command_lines: Iterable[Sequence[str]]) -> bool:
    """Is it a dry run? Git does not pass that to hooks; the `git push` above has the option."""
    return any(_is_dry(line) for line in command_lines)


def _is_dry(line: Sequence[str]) -> bool:
    if not line or os.path.basename(line[0]) != "git" or "push" not in line:
        return False
    return any(map(_says_dry, line[line.index("push") + 1 :]))


def _says_dry(word: str) -> bool:
    """-n, alone or among other letters; not behind -o, which takes a value."""
    if word.startswith("--"):
        return len(word) > len("--d") and "--dry-run".startswith(word)
    return word.startswith("-") and "n" in word.partition("o")[0]
