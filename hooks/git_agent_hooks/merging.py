"""Whose session a hook continues after a merge: that of the branch that was merged into, or of the one merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from git_agent_hooks.fired import Fired
from git_agent_runner.context import load
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record, Repository
from git_agent_runner.core.text import shown
from git_agent_runner.find.lookup import Where, find
from git_agent_runner.git import in_repo, refs, settings

MERGED = "merged"
_PREFIX = "GITHEAD_"  # git's variables for the heads that it merges, by their commits


class Heir(NamedTuple):
    """The branch whose session goes on, and its run where that is not for `start --resume` to find; or why none."""

    branch: str | None = None
    record: Record | None = None
    why: str | None = None


def heads(fired: Fired) -> list[tuple[str, str]]:
    """(name, commit) of what git merges; the name is the commit's own where git was given no other, as by a pull."""
    return [(name, key[len(_PREFIX) :]) for key, name in fired.environ.items() if key.startswith(_PREFIX)]


def heir(repo: Repository, fired: Fired, whose: str | None, globs: Sequence[str]) -> Heir:
    """Never the default branch, unless that is one of the names given."""
    _, config = settings.load(repo, fired.environ)
    default = refs.base(repo, config.last("init.defaultbranch")).default
    if whose != MERGED:
        why = repo.branch and _why_not(repo.branch, default, globs)
        return Heir(why=why) if why else Heir(repo.branch)
    names = dict.fromkeys(name for name in _merged(repo, fired) if name != repo.branch)
    if not names:
        return Heir(why="no other branch was merged")
    found = {name: _why_not(name, default, globs) or _run_of(name) for name in names}
    runs = {name: record for name, record in found.items() if isinstance(record, Record)}
    if len(runs) > 1:
        return Heir(why=f"several branches with a run were merged: {', '.join(map(shown, runs))}")
    if runs:
        return Heir(*runs.popitem())
    return Heir(why="; ".join(str(why) for why in found.values()))


def _why_not(name: str, default: str | None, globs: Sequence[str]) -> str | None:
    if name == default and name not in globs:
        return f"'{shown(name)}' is the default branch: --branches {shown(name)} allows it"
    if globs and not any(fnmatchcase(name, glob) for glob in globs):
        return f"'{shown(name)}' is none of --branches"
    return None


def _merged(repo: Repository, fired: Fired) -> Iterator[str]:
    """The branches, by their names here. A remote's branch is the one of that name."""
    for name, oid in heads(fired):
        if refs.heads(repo, {name}):
            yield name
            continue
        words = ("for-each-ref", f"--points-at={oid}", "--format=%(refname:lstrip={})")
        for strip, where in ((2, "refs/heads"), (3, "refs/remotes")):
            out = in_repo(repo, *words[:2], words[2].format(strip), where, check=False).out
            if found := [line for line in out.split("\n") if line and line != "HEAD"]:
                yield from found
                break


def _run_of(branch: str) -> Record | str:
    found = find(load(), Where(branch=branch), ties=False)
    return found.message if isinstance(found, UserError) else found


def go_on(found: Heir, message: str, engine: str | None, timeout: float | None) -> int:
    """Continue the merged branch's session: where that is checked out, else in the work tree of the merge."""
    from git_agent_runner.attempt.go import Request, go, unattended
    from git_agent_runner.attempt.work_tree import checked_out

    ctx = load()
    assert found.record
    cwd = None if found.record.branch in checked_out(ctx.repo) else ctx.repo.top
    wish = Request(engine=engine, message=message, timeout=timeout, cwd=cwd)
    return go(ctx, wish, unattended(ctx, strict=False), found.record)
