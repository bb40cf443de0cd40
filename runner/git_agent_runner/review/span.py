"""Several commits as one change: only those without a verdict are looked at, and a reviewer at work is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from git_agent_runner import git
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.review import content, door, queue
from git_agent_runner.review.content import Change
from git_agent_runner.review.door import ReviewReport, ReviewRequest

MOST = 200  # commits of which each one's verdict is looked for
_POLL = 0.2


class Spread(NamedTuple):
    """What is known of a change, and what is left to ask, commits next to each other as one. `overruled`: commits that
    are blocked by themselves, where all of the change is asked for, since a later one may have fixed it.
    """

    known: tuple[ReviewReport, ...]
    left: tuple[Change, ...]
    overruled: tuple[ReviewReport, ...] = ()


def spread(ctx: Context, change: Change, request: ReviewRequest, block: str | None) -> Spread:
    """A merge in between, or too many commits: all of it is one change, as it is where nothing is known."""
    commits = _line(ctx, change)
    if request.again or not commits:
        return Spread((), (change,))
    alone = [content.of_commit(ctx, commit) for commit in commits]
    verdicts = [door.known(ctx, one, request) for one in alone]
    known = tuple(found for found in verdicts if found)
    blocked = tuple(found for found in verdicts[:-1] if found and found.verdict and found.verdict.blocked(block))
    last = verdicts[-1]
    if blocked and not (last and last.verdict and last.verdict.blocked(block)):
        return Spread((), (change,), blocked)
    if not known:
        return Spread((), (change,))
    return Spread(known, tuple(_joined(alone, [found is None for found in verdicts])))


def _line(ctx: Context, change: Change) -> list[str]:
    """The commits of a change, oldest first; none where they are not one line from its base on."""
    if change.commit is None or change.base == change.commit:
        return []
    words = ("rev-list", "--reverse", "--parents", f"--max-count={MOST + 1}", change.commit, "--not", change.base, "--")
    told = git.in_repo(ctx.repo, *words, check=False).out.split("\n")[:-1]
    facts = [line.split() for line in told]
    before = [change.base, *(fact[0] for fact in facts)]
    straight = all(fact[1:] == [parent] for fact, parent in zip(facts, before, strict=False))
    return [fact[0] for fact in facts] if straight and len(facts) <= MOST else []


def _joined(alone: list[Change], lacks: list[bool]) -> list[Change]:
    """Those that lack a verdict; of a row of them one change."""
    rows: list[Change] = []
    before = False
    for one, lack in zip(alone, lacks, strict=True):
        if lack and before:
            first = rows.pop()
            what = f"{first.base[:12]}..{one.new[:12]}"
            rows.append(first._replace(new=one.new, commit=one.commit, what=what))
        elif lack:
            rows.append(one)
        before = lack
    return rows


def wait(ctx: Context, change: Change, seconds: float, say: Callable[[str], None]) -> None:
    """Until no commit of the change waits for the reviewer in the background. Raises UserError when time is up."""
    own = set(_line(ctx, change) or [change.new])
    until = time.monotonic() + seconds
    told = False
    while at_work := [one for one in queue.waiting(ctx) if one.commit in own]:
        which = at_work[0].commit[:7]
        if time.monotonic() >= until:
            raise UserError(
                f"the review of {which} is still running",
                code="review_pending",
                hints=("wait for it: git agent reviews",),
            )
        if not told:
            say(f"waiting for the review of {which}, {seconds:.0f} s at most; Ctrl-C ends it")
            told = True
        time.sleep(_POLL)
