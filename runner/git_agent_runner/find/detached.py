"""The runs of a work tree without a branch: those that name this work tree and whose commits HEAD has."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Note, Record, Repository
from git_agent_runner.find.search import Resolved, Search, emptiness
from git_agent_runner.git import in_repo, refs, trees
from git_agent_runner.store import notes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from git_agent_runner.store.records.rows import Row

MOVES = 200  # entries of HEAD's reflog
MOVED = "checkout: moving from "
LOOKED = 200  # commits in which a rewritten one is looked for
REWRITTEN = 3  # runs whose commits are looked for under another name
NAMED = 3  # runs that a hint names


def best(search: Search) -> Resolved | None:
    """The newest run of this work tree; else the only one that has no work tree any more. Raises CorruptRecord."""
    return newest(search) or _left_alone(search)


def newest(search: Search) -> Resolved | None:
    """The newest run of this work tree, which has no branch."""
    for row in own(search, search.repo.head):
        if record := search.record(row.handle):
            return search.found(record, "the newest run of this work tree without a branch")
    return None


def followed(search: Search) -> Resolved | None:
    """On a branch that was made from this work tree without one (`git switch -c`): the run that it takes along."""
    here, life = trees.here(search.repo), search.identities.life(search.branch or "")
    if search.branch != search.repo.branch or life is None or life.unsure:
        return None
    birth = life.spans[0].since
    if not any(row.branch is None and row.worktree_id == here for row in search.near_rows) or not _from_commit(
        search, birth
    ):
        return None
    for row in own(search, search.repo.head):
        record = search.record(row.handle)
        if record and birth >= int(moment(row.created_at) or inf):
            return _taken_along(search, record)
    return None


def _taken_along(search: Search, record: Record) -> Resolved:
    branch = search.branch
    found = search.found(record, "the run of this work tree, which the branch was made in")
    line = f"run {record.handle} began in this work tree without a branch; from now on it belongs to '{branch}'"
    return found._replace(record=record._replace(branch=branch), ties=line)


def _from_commit(search: Search, birth: float) -> bool:
    """Since the branch was made: did this work tree first come to it from a commit, and not from another branch?"""
    form = ("--no-show-signature", "--format=%gd %gs", "--date=unix")
    told = in_repo(search.repo, "log", "-g", f"-{MOVES}", *form, "HEAD", "--", check=False).out.split("\n")[:-1]
    entries = [line.rpartition("@{")[2].partition("} ") for line in told]
    since = [what.removeprefix(MOVED) for when, _, what in entries if what.startswith(MOVED) and int(when) >= birth]
    comers = [words.split(" to ")[0] for words in since if words.split(" to ")[1:] == [search.branch]]
    return bool(comers) and refs.is_oid(comers[-1])


def own(search: Search, tip: str | None) -> list[Row]:
    """The runs without a branch that began here, newest first, whose start or noted commit `tip` is or contains."""
    here = trees.here(search.repo)
    rows = [row for row in search.near_rows if row.branch is None and row.worktree_id == here]
    tips = [oid for oid in (tip, refs.busy_commit(search.repo.git_dir)) if oid]
    behind = _behind(search.repo, (row.start_commit for row in rows), tips)
    left = {row.handle: {row.start_commit or ""} for row in rows if row.start_commit not in behind}
    if left:
        for commit, runs in notes.read(search.repo).by_commit.items():
            for note in runs:
                left.get(note.handle, set()).add(commit)
        behind |= _behind(search.repo, set().union(*left.values()), tips)
        behind |= _rewritten(search.repo, set().union(*list(left.values())[:REWRITTEN]) - behind, tips)
    found = [row for row in rows if row.start_commit in behind or not behind.isdisjoint(left.get(row.handle, ()))]
    return sorted(found, key=emptiness)


def _behind(repo: Repository, oids: Iterable[str | None], tips: list[str]) -> set[str]:
    asked = {oid for oid in oids if oid}
    return set().union(*(refs.reachable(repo, asked, tip) for tip in tips)) if asked else set()


def _rewritten(repo: Repository, oids: set[str], tips: list[str]) -> set[str]:
    """Those of these commits that are behind a tip under another name: programs such as jj leave notes behind."""
    found = set()
    for oid in oids - refs.missing(repo, oids):
        new = [commit for tip in tips for commit in refs.history(repo, tip, (oid,), LOOKED)]
        (old, *others) = refs.likenesses(repo, [oid, *new]) or [("", "", "")]
        if any(old[0] == other[0] and (old[1] == other[1] or old[2] == other[2]) for other in others):
            found.add(oid)
    return found


def _left_alone(search: Search) -> Resolved | None:
    """A fresh clone, or a checkout of a build server: nothing says which work tree a run is of but its note."""
    head = search.repo.head
    assert head is not None  # an unborn HEAD names a branch
    noted: dict[str, Note] = {}
    by_commit = notes.read(search.repo).by_commit
    behind = _behind(search.repo, by_commit, [head])
    for note in sorted((note for commit in behind for note in by_commit[commit]), key=notes.age):
        noted[note.handle] = note
    free = [note for note in noted.values() if note.branch is None and _why_not(search, note.handle) is None]
    if len(free) != 1 or _was_here(search, free[0].handle):
        _pass_over(search, head, noted, free)
        return None
    (note,) = free
    commit = note.commit[:12]
    search.say(f"run {note.handle}, noted on commit {commit}, no longer has a work tree: it continues in this one")
    found = search.noted((note,), f"the only note without a branch or a work tree, on commit {commit}")
    return found._replace(record=found.record and placed_here(search.repo, found.record))


def placed_here(repo: Repository, record: Record) -> Record:
    """The record as that of a run of this work tree."""
    return record._replace(worktree=repo.top, worktree_id=trees.here(repo))


def _pass_over(search: Search, head: str, noted: dict[str, Note], free: list[Note]) -> None:
    """Name those that a person may have meant: this work tree's, then what was begun or noted at or behind HEAD."""
    here = trees.here(search.repo)
    begun = _behind(search.repo, (row.start_commit for row in search.rows), [head])
    mine = [row for row in search.rows if row.branch is None and row.worktree_id == here]
    others = [row for row in search.rows if row.start_commit in begun or row.handle in noted]
    others.sort(key=lambda row: row.branch is not None)
    known = [*(row.handle for row in [*mine, *others]), *noted]
    for handle in list(dict.fromkeys(known))[:NAMED]:
        alone = "it is that of an earlier work tree at this path"
        if not _was_here(search, handle):
            alone = f"it is one of {len(free)} without a work tree"
        search.passed_over[handle] = _why_not(search, handle, noted.get(handle)) or alone


def _was_here(search: Search, handle: str) -> bool:
    """Is it the run of a work tree that was at this one's path before? A path is used again, a work tree is not."""
    record = search.record(handle)
    return record is not None and record.worktree == search.repo.top


def _why_not(search: Search, handle: str, note: Note | None = None) -> str | None:
    """Whose the run is, if somebody's: a branch's, or that of a work tree that is still there."""
    record = search.record(handle)
    known = record or note
    branch = known.branch if known else None
    if branch is not None:
        return f"it is the run of branch '{branch}'"
    top = record and trees.path_of(search.repo, record.worktree_id)
    if top is None:
        return None
    mine = top == search.repo.top
    return "it began in this work tree, at a commit that is not in HEAD's history" if mine else f"it belongs to '{top}'"
