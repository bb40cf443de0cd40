"""Carry notes to commits that were made again where git's own rewriteRef does not.

Git tells the pairs to post-rewrite. For the others the sources are what an earlier hook left, the reflog, and likeness.
"""

from __future__ import annotations

from collections.abc import Iterator

from git_agent_hooks import likeness, state
from git_agent_hooks.fired import Fired
from git_agent_runner.context import Context
from git_agent_runner.git import HEADS, in_repo, refs
from git_agent_runner.store import notes
from git_agent_runner.store.notes.carry import Pair, carry

LIMIT = 200  # commits on either side that are compared
RECENT = 20  # reflog entries that are looked through


def after(ctx: Context, fired: Fired) -> None:
    """Carry notes as the hook `fired` requires. Raises NoteFailed."""
    head = ctx.repo.head
    if head is None:
        return
    if fired.hook == "post-merge":
        if fired.args[:1] == ("1",):
            state.leave(ctx.repo, head, state.squashed(ctx.repo))
    elif fired.hook == "post-rewrite":
        carry(ctx.repo, _told(fired.stdin) or _rewritten(ctx, head), state.PATIENCE)
    elif not state.rebasing(ctx.repo):
        carry(ctx.repo, tuple(_committed(ctx, head)), state.PATIENCE)


def _told(stdin: str) -> tuple[Pair, ...]:
    words = (line.split() for line in stdin.split("\n"))
    return tuple((pair[0], pair[1]) for pair in words if len(pair) >= 2)


def _rewritten(ctx: Context, head: str) -> tuple[Pair, ...]:
    """The rewritten commits under pre-commit, which passes no pairs: the branch's old tip is in its reflog."""
    before = refs.commit_of(ctx.repo, f"{HEADS}{ctx.repo.branch}@{{1}}" if ctx.repo.branch else "ORIG_HEAD")
    if before is None:
        return ()
    old = refs.history(ctx.repo, before, (head,), LIMIT)
    new = refs.history(ctx.repo, head, (before,), LIMIT)
    if len(old) == len(new) == 1:  # an amend may change all that could be alike
        return ((old[0], new[0]),)
    return likeness.pairs(ctx.repo, old, new)


def _committed(ctx: Context, head: str) -> Iterator[Pair]:
    """The commits that this one was made from: a cherry-pick's, or those of a squash merge."""
    left = state.take(ctx.repo)
    if left and not state.was_reset(ctx.repo, left[0].moves):
        yield from ((source.oid, head) for source in left if _became(ctx, source, head))
    if picked := state.picked(ctx.repo):
        yield picked, head
    yield from _picked_before(ctx, head)


def _became(ctx: Context, source: state.Source, head: str) -> bool:
    """Was the squash merge really committed? It may have been undone path by path, and another commit made instead."""
    parent = refs.commit_of(ctx.repo, f"{head}^")
    return parent == source.base and bool(likeness.paths(ctx.repo, source.oid) & likeness.paths(ctx.repo, head))


def _picked_before(ctx: Context, head: str) -> Iterator[Pair]:
    """Cherry-picks that stopped at a conflict: git has forgotten their source, but the reflog names them.

    The source has the pick's author and time, and is not a commit of this history.
    """
    form = "--format=%H %at %ct %gs"
    told = in_repo(ctx.repo, "log", "-g", f"-{RECENT}", "--no-show-signature", form, "HEAD", "--", check=False)
    entries = [line.split(" ", 3) for line in told.out.split("\n")[:-1]]
    picks = list(dict.fromkeys(entry[0] for entry in entries if _is_pick(*entry, head=head)))
    if not picks:
        return
    noted = notes.listed(ctx.repo)
    known = likeness.authorship(ctx.repo, [*noted, *picks])
    alike = [(oid, pick) for pick in picks for oid in noted if oid in known and known[oid] == known.get(pick)]
    own = refs.reachable(ctx.repo, [oid for oid, _ in alike], head)
    yield from (pair for pair in alike if pair[0] not in own)


def _is_pick(oid: str, authored: str, committed: str, what: str, *, head: str) -> bool:
    """Is the commit a cherry-pick? After `cherry-pick -n`, `commit -C` keeps author and time, and the reflog calls it a
    commit."""
    return what.startswith("commit (cherry-pick)") or (
        oid == head and what.startswith("commit:") and authored != committed
    )
