"""Find which new commit replaced an old one where git did not report it: the same change, or the same author and
second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from git_agent_runner.core.model import Repository
from git_agent_runner.git import in_repo

Pair = tuple[str, str]
Key = str


def pairs(repo: Repository, old: Sequence[str], new: Sequence[str]) -> tuple[Pair, ...]:
    """Pairs (old, new) of commits that match: by patch id, else by author and time."""
    if not old or not new:
        return ()
    found = _matched(_patch_ids, repo, old, new)
    rest = [oid for oid in old if oid not in found]
    return tuple((found | _matched(authorship, repo, rest, new)).items())


def _matched(
    keys: Callable[[Repository, Iterable[str]], dict[str, Key]],
    repo: Repository,
    old: Sequence[str],
    new: Sequence[str],
) -> dict[str, str]:
    if not old:
        return {}
    known = keys(repo, [*old, *new])
    by_key = {known[oid]: oid for oid in reversed(new) if oid in known}
    return {oid: by_key[known[oid]] for oid in old if known.get(oid) in by_key}


def authorship(repo: Repository, oids: Iterable[str]) -> dict[str, Key]:
    """Commit -> its author's name, address and time: what cherry-pick, rebase and amend keep."""
    orders = "".join(f"{oid}\n" for oid in oids)
    words = ("log", "--no-walk=unsorted", "--stdin", "--no-show-signature", "--format=%H %at %ae %an")
    told = in_repo(repo, *words, stdin=orders, check=False).out.split("\n")[:-1]
    return {line.partition(" ")[0]: line.partition(" ")[2] for line in told}


def _patch_ids(repo: Repository, oids: Iterable[str]) -> dict[str, Key]:
    """Commit -> the id of the change it makes to its first parent; merges and empty commits have none."""
    orders = "".join(f"{oid}\n" for oid in oids)
    patches = in_repo(repo, "diff-tree", "--stdin", "--root", "-p", stdin=orders, check=False).out
    told = in_repo(repo, "patch-id", "--stable", stdin=patches, check=False).out.split("\n")[:-1]
    return {oid: patch for patch, oid in (line.split(" ") for line in told)}


def paths(repo: Repository, oid: str) -> frozenset[str]:
    """What a commit changes against its first parent."""
    out = in_repo(repo, "diff-tree", "--no-commit-id", "--root", "-r", "-m", "--first-parent", "--name-only", "-z", oid)
    return frozenset(out.out.split("\0")[:-1])
