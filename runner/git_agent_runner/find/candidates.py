"""Runs that a branch without a pointer may continue: by note, then by record; and the words when there is none."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Container
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note
from git_agent_runner.engines import wording
from git_agent_runner.find import detached
from git_agent_runner.find.search import Resolved, Search, emptiness
from git_agent_runner.git import in_repo, refs, trees
from git_agent_runner.store import notes
from git_agent_runner.store.notes import noted, promised

if TYPE_CHECKING:
    from git_agent_runner.store.records.rows import Row

FIRST_COMMITS = 1000  # the nearest note is nearly always among these; only then are all asked for
NAMED = 3  # runs that a hint names
SUSPECTS = 1000  # of the newest runs, those that may have made this branch are looked for


def best(search: Search) -> Resolved:
    """The run of a branch without a pointer, or of a detached HEAD. Raises UserError `no_run`, CorruptRecord."""
    if search.branch is None:
        return detached.best(search) or _fail(search)
    return _by_note(search) or _by_index(search) or detached.followed(search) or _fail(search)


def by_noted_handle(search: Search, text: str, known: list[str]) -> Resolved:
    """A handle, or its beginning, that is not in the index, or there more than once (`known`)."""
    noted: dict[str, Note] = {}
    if not known and len(text) >= 4:
        found = notes.read(search.repo).by_commit.values()
        for note in sorted((note for runs in found for note in runs), key=notes.age):
            if note.handle.startswith(text):
                noted[note.handle] = note
    if len(noted) == 1:
        return search.noted(tuple(noted.values()), "the handle given")
    candidates = known or sorted(noted)
    if candidates:
        raise UserError(
            f"'{text}' is ambiguous: {len(candidates)} handles start with it",
            code="ambiguous_handle",
            hints=tuple(f"git agent show {handle}" for handle in candidates[:NAMED]),
        )
    raise UserError(
        f"no run has the handle {text!a}",
        code="unknown_handle",
        hints=(*_fetch_hint(search), "`git agent list` shows the runs of this repository"),
    )


def _by_note(search: Search) -> Resolved | None:
    if search.unborn:
        return None
    if search.tip is None:
        return _by_note_of_deleted_branch(search)
    empty: list[Note] = []  # a run without a session must not hide one that can be resumed

    def wanted(note: Note, *, own: bool = True) -> bool:
        if not _is_ours(search, note, own=own):
            return False
        if note.session.value is None:
            empty.append(note)
        return note.session.value is not None

    named = {one.commit for one in _named(search, search.names)}
    if not named:
        return None
    runs = _nearest(search, search.tip, _without(search), wanted, named)
    began = _fork_point(search, search.tip) if not runs else []
    runs = runs or notes.nearest(search.repo, began, partial(wanted, own=False)) or tuple(empty[:1])
    return search.noted(runs, f"the note on commit {runs[0].commit[:12]}") if runs else None


def _named(search: Search, names: Collection[str]) -> list[noted.Named]:
    return noted.of_branches(search.repo, search.index.layout, search.base.notes, names)


def _without(search: Search) -> tuple[str, ...]:
    """What a branch shares with the default branch is not its own; on the default branch all is."""
    return () if search.branch == search.base.default else search.base.bases


def _fork_point(search: Search, tip: str) -> list[str]:
    """The commit that the branch began on: a run that made no commit is noted there, under the branch's name."""
    bases = _without(search)
    words = ("merge-base", "--", tip, *bases)
    return in_repo(search.repo, *words, check=False).out.split("\n")[:-1] if bases else []


def _is_ours(search: Search, note: Note, *, own: bool = True) -> bool:
    """The record, where there is one, knows better than an old note. `own`: is it on a commit of the branch's own?"""
    if note.branch not in search.names:
        return False
    record = search.record(note.handle)
    if record is not None and record.branch not in search.names:
        whose = f"the run of branch '{record.branch}'" if record.branch else "no longer the run of a branch"
        search.passed_over[note.handle] = f"its record shows that it is {whose}"
        return False
    return search.counts(record or note, noted=own)


def _nearest(
    search: Search,
    tip: str,
    without: tuple[str, ...],
    wanted: Callable[[Note], bool],
    among: Container[str] | None = None,
) -> tuple[Note, ...]:
    """Of the first commits, only then of all. `among`: the commits with a note that may be wanted."""
    commits = refs.history(search.repo, tip, without, FIRST_COMMITS)
    if (found := _of_first(search, commits, wanted, among)) or len(commits) < FIRST_COMMITS:
        return found
    return _of_first(search, refs.history(search.repo, tip, without)[FIRST_COMMITS:], wanted, among)


def _of_first(
    search: Search, commits: list[str], wanted: Callable[[Note], bool], among: Container[str] | None
) -> tuple[Note, ...]:
    return notes.nearest(search.repo, [oid for oid in commits if among is None or oid in among], wanted)


def _by_note_of_deleted_branch(search: Search) -> Resolved | None:
    """The branch has no commits of its own any more, so its name alone decides."""
    newest: dict[str, Note] = {}
    named = [one.commit for one in _named(search, {search.branch or ""})]
    found = notes.contents(search.repo, notes.listing(search.repo, named)).by_commit.values()
    for note in sorted((note for runs in found for note in runs), key=notes.age):
        if note.branch == search.branch:
            newest[note.handle] = note
    runs = tuple(sorted(newest.values(), key=notes.age, reverse=True))
    return search.noted(runs, f"the newest note of branch '{search.branch}', which was deleted") if runs else None


def _by_index(search: Search) -> Resolved | None:
    rows = [row for row in search.near_rows if row.branch in search.names]
    if search.unborn or search.tip is not None:
        # A run that began before the first commit began before all of them.
        begun = {None, *(_begun(search, rows, search.tip) if search.tip else ())}
        rows = [row for row in rows if row.start_commit in begun]
        rows = [row for row in rows if search.counts(row)]
    return _newest(search, rows, f"the newest record of branch '{search.branch}'")


def _begun(search: Search, rows: list[Row], tip: str) -> set[str]:
    """The start commits of these runs that are the tip or behind it."""
    return refs.reachable(search.repo, {row.start_commit for row in rows if row.start_commit is not None}, tip)


def _newest(search: Search, rows: list[Row], how: str) -> Resolved | None:
    if not rows:
        return None
    rows = sorted(rows, key=emptiness)
    record = search.record(rows[0].handle)
    return search.found(record, how, tuple(row.handle for row in rows[1:])) if record else None


def by_commit(search: Search, revision: str, branch: str | None) -> Resolved:
    """The run noted nearest to a commit, or begun at or before it; of that branch, if one is given."""
    tip = refs.commit_of(search.repo, revision)
    if tip is None:
        raise UserError(f"{revision!a} is not a commit", code="unknown_revision")
    search.branch = branch
    runs = _nearest(search, tip, (), lambda note: branch is None or _is_ours(search, note))
    if runs:
        return search.noted(runs, f"the note on commit {runs[0].commit[:12]}, the nearest to {revision}")
    rows = search.rows if branch is None else [row for row in search.near_rows if row.branch in search.names]
    begun = _begun(search, rows, tip)
    rows = [row for row in rows if row.start_commit in begun and (branch is None or search.counts(row))]
    return _newest(search, rows, f"the newest record that began at or before {revision}") or _fail(search, revision)


def _fail(search: Search, revision: str | None = None) -> NoReturn:
    """Raises what says why there is no run, and how to continue."""
    if search.corrupt is not None:
        raise search.corrupt
    what = f"branch '{search.branch}'" if search.branch else "the detached HEAD"
    cut = refs.is_shallow(search.repo)
    raise UserError(
        f"no run found for {f'commit {revision}' if revision else what}{' in this shallow clone' if cut else ''}",
        code="no_run",
        hints=(
            *search.says,
            *(_deepen_hint(search) if cut else ()),
            *_by_name(search),
            *_fetch_hint(search),
            'start one: git agent start "<prompt>"; `git agent list` shows the runs of this repository',
        ),
    )


def _by_name(search: Search) -> list[str]:
    """Runs that do not count here, and how to resume them anyway."""
    if search.branch:
        _suspect(search)
        for commit, handle in _named(search, {search.branch}):
            reason = f"it is noted on {commit[:12]}, which is not unique to this branch"
            search.passed_over.setdefault(handle, reason)
    passed = list(search.passed_over.items())[:NAMED]
    return [f"run {handle} was skipped: {why}; {_way(search, handle)}" for handle, why in passed]


def _suspect(search: Search) -> None:
    """Runs of others that have to do with this branch: noted on its own commits, or at work when it was made."""
    base, tip = search.base, search.tip
    mine = tip is not None and search.branch != base.default and tip not in base.bases
    if tip and mine and (own := refs.history(search.repo, tip, base.bases, notes.NEAR)):
        for note in notes.nearest(search.repo, own, lambda note: note.branch not in search.names):
            _doubt(search, note.handle, f"it is noted on {note.commit[:12]}, which is unique to this branch")
    life = search.identities.life(search.branch or "")
    for row in search.newest_rows(SUSPECTS) if life and not life.unsure else ():
        began, ended = moment(row.created_at), moment(row.updated_at)
        if life and began and ended and int(began) <= life.spans[-1].since <= ended and row.branch not in search.names:
            _doubt(search, row.handle, "it was running when this branch was created")


def _doubt(search: Search, handle: str, why: str) -> None:
    search.passed_over.setdefault(handle, why)
    search.doubtful.add(handle)


def _way(search: Search, handle: str) -> str:
    """What leads on to a run that is not found here: where its branch is, or by tying it to where the person is."""
    adopt = f"git agent adopt {handle}"
    if handle in search.doubtful:
        return f"if it is this branch's: {adopt}"
    record = search.record(handle)
    branch = record and search.identities.owner(record)
    if branch and all(tree.branch != branch for tree in refs.worktrees(search.repo)):
        return f"to switch to it: git switch {shlex.quote(branch)}"
    if record is None:
        return f'if it is the one you mean: git agent resume {handle} "<message>"'
    if branch or (record.branch is None and trees.path_of(search.repo, record.worktree_id)):
        return f"if it is the one you mean: {wording.resume(record)}"
    return f"to adopt it: {adopt}"


def _remote(search: Search) -> str | None:
    """Where what is not here would be fetched from."""
    remotes = search.config.subsections("remote", "url")
    chosen = search.config.last(f"branch.{search.branch or search.repo.branch}.remote")
    return next((name for name in (chosen, "origin", *remotes) if name in remotes), None)


def _deepen_hint(search: Search) -> list[str]:
    """Runs are found by the commits that they began on or are noted on."""
    remote = _remote(search)
    cut = "the commits that runs began on, or are noted on, may not be in this clone"
    return [f"{cut}; fetch them with: git fetch --unshallow {shlex.quote(remote)}"] if remote else []


def _fetch_hint(search: Search) -> list[str]:
    """A clone brings no notes along, a partial one not what they say. Nothing is configured to be fetched."""
    remote = _remote(search)
    lost = len(promised.lost(search.repo, notes.REF))
    if not remote or (search.base.notes and not lost):
        return []
    command = f"git agent fetch {shlex.quote(remote)}"
    if lost:
        return [
            f"{lost} notes are not in this partial clone and cannot be fetched now; once '{remote}' answers: {command}"
        ]
    return [f"this clone has no {notes.REF}, where others note their runs; fetch it with: {command}"]
