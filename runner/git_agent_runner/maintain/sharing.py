"""Notes and other clones: fetching a remote's beside ours, joining them, pushing what is joined.

A remote's notes go to their own ref first: a forced refspec on ours would delete what was not pushed yet.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple
from urllib.parse import quote as escaped

from git_agent_runner import git
from git_agent_runner.console.lines import say
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import quote
from git_agent_runner.store import notes
from git_agent_runner.store.files import locks
from git_agent_runner.store.notes import RUNS, Ref, joining, writing

PATIENCE = 300.0  # seconds, for another that talks to a remote
TRIES = 6  # pushes; each that another clone was faster than is joined and tried again


class Shared(NamedTuple):
    """Lines that came, and that went."""

    fetched: int = 0
    pushed: int = 0


class BothSides(NamedTuple):
    runs: Shared
    reviews: Shared


def fetch(ctx: Context, remote: str, reviews: Ref) -> BothSides:
    """Raises GitError where the remote cannot be reached, NoteFailed."""
    with alone(ctx):
        return _both(ctx, _fetch(ctx, remote, RUNS), _fetch(ctx, remote, reviews), reviews)


def push(ctx: Context, remote: str, reviews: Ref) -> BothSides:
    """Join, then push; again when another clone was faster. Raises GitError, NoteFailed."""
    with alone(ctx):
        return _both(ctx, _push(ctx, remote, RUNS), _push(ctx, remote, reviews), reviews)


def _both(ctx: Context, runs: Shared, reviewed: Shared, reviews: Ref) -> BothSides:
    if any(reviewed):
        notes.merge_by_lines(ctx.repo, reviews)
    return BothSides(runs, reviewed)


def look(ctx: Context, remote: str) -> str:
    """Fetch the remote's notes beside ours; what it names, empty where it has none. Raises UserError `notes_odd`."""
    with alone(ctx):
        return _look(ctx, remote, RUNS)


def _fetch(ctx: Context, remote: str, ref: Ref) -> Shared:
    theirs = _look(ctx, remote, ref)
    return Shared(joining.join(ctx.repo, theirs, remote, ref).got if theirs else 0)


def alone(ctx: Context) -> AbstractContextManager[None]:
    """Git lets one of two at once fail that fetch into the same ref. Raises UserError `locked`."""
    return locks.locked(
        ctx.layout.lock("sharing"), wait=PATIENCE, on_wait=lambda: say("waiting: another git-agent is sharing notes")
    )


def _push(ctx: Context, remote: str, ref: Ref) -> Shared:
    fetched = 0
    for _ in range(TRIES):
        theirs = _look(ctx, remote, ref)
        if theirs:
            fetched += joining.join(ctx.repo, theirs, remote, ref).got
        ours = writing.standing(ctx.repo, ref.name)
        if ours == theirs:
            return Shared(fetched, 0)
        lacking = joining.compare(ctx.repo, ours, theirs, ref).lacking
        # A person's pre-push hook runs tests on commits; there are none here.
        words = ("push", "--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", remote)
        done = _git(ctx, *words, f"{ours}:{ref.name}", check=False)
        if done.status == 0:
            notes.shared(ctx.repo, "update-ref", tracking(remote, ref), ours)
            return Shared(fetched, lacking)
        if _there(ctx, remote, ref) == theirs:
            break
    raise git.GitError(words, done)


def _look(ctx: Context, remote: str, ref: Ref) -> str:
    if not _there(ctx, remote, ref):
        notes.shared(ctx.repo, "update-ref", "-d", tracking(remote, ref))
        return ""
    refspec = f"+{ref.name}:{tracking(remote, ref)}"
    own = ("--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules")
    _git(ctx, "fetch", "--quiet", *own, remote, refspec)
    theirs = notes.tip(ctx.repo, tracking(remote, ref))
    # Ours would become what git refuses to write to, if it took that over.
    if (kind := notes.shared(ctx.repo, "cat-file", "-t", theirs).out.strip()) != "commit":
        notes.shared(ctx.repo, "update-ref", "-d", tracking(remote, ref))
        raise UserError(
            f"{ref.name} of {remote} is a {kind}, not a commit as notes are",
            code="notes_odd",
            hints=(f"if nobody needs it there: git push {quote(remote)} :{ref.name}",),
        )
    return theirs


def tracking(remote: str, ref: Ref) -> str:
    """Where its notes are kept. A remote may be called what no ref may: anything odd is written as `%XX`."""
    return f"{ref.name}-remote/{escaped(remote, safe='').replace('.', '%2E').replace('~', '%7E')}"


def _there(ctx: Context, remote: str, ref: Ref) -> str:
    return _git(ctx, "ls-remote", "--quiet", remote, ref.name).out.partition("\t")[0]


def _git(ctx: Context, *words: str, check: bool = True) -> git.Result:
    """In the work tree: a remote's path may be relative to it."""
    return git.run(words, git_dir=ctx.repo.git_dir, cwd=ctx.repo.top, check=check)
