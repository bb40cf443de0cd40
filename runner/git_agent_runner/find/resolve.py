"""Which run belongs to this branch: an explicit word, the pointer, the nearest note, the index, in this order.

Each step costs git processes, so each asks only what the steps before it left open.
"""

from __future__ import annotations

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Record, Repository
from git_agent_runner.find.search import Resolved, Search
from git_agent_runner.git import refs
from git_agent_runner.git.settings import Config
from git_agent_runner.store.files.layout import is_handle
from git_agent_runner.store.records.index import Index

__all__ = ["Resolved", "resolve"]


def resolve(
    repo: Repository,
    config: Config,
    index: Index,
    now: float,
    *,
    handle: str | None = None,
    environ_handle: str | None = None,
    branch: str | None = None,
    commit: str | None = None,
) -> Resolved:
    """The run meant by what the person gave, or by where they stand. `now` is in seconds since the epoch.

    Raises UserError `no_run`, `unknown_handle`, `ambiguous_handle`, `unknown_revision`, and CorruptRecord.
    """
    search = Search(repo, config, index, now)
    if handle is not None:
        return _by_handle(search, handle)
    if commit is not None:
        from git_agent_runner.find.candidates import by_commit

        return by_commit(search, commit, branch)
    inside = environ_handle if branch is None and environ_handle and is_handle(environ_handle) else None
    # No record: an agent that went to another repository still has the handle of the run it belongs to.
    if inside and (record := search.record(inside)):
        _say_whose_place(search, inside)
        return search.found(record, "GIT_AGENT_HANDLE")
    if environ_handle and branch is None:
        search.say(f"GIT_AGENT_HANDLE is {environ_handle!a}, which is not a run of this repository")
    search.branch = branch or repo.branch or refs.busy_branch(repo.git_dir)
    return _by_pointer(search) or _otherwise(search)


def at_hand(repo: Repository, config: Config, index: Index, now: float, environ_handle: str | None) -> Resolved | None:
    """The run that a hook may take for this work tree's own without a search: the one that we are inside, the
    pointer's, or that of a work tree without a branch. None where there is none, or its record cannot be read.
    """
    search = Search(repo, config, index, now)
    if environ_handle and is_handle(environ_handle) and (record := search.record(environ_handle)):
        return search.found(record, "GIT_AGENT_HANDLE")
    search.branch = repo.branch
    return _by_pointer(search) or _of_work_tree(search)


def _of_work_tree(search: Search) -> Resolved | None:
    from git_agent_runner.find import detached  # the list of records: not for the usual way

    return detached.followed(search) if search.branch else detached.newest(search)


def _by_handle(search: Search, text: str) -> Resolved:
    known = search.index.find_prefix(text)
    if len(known) == 1:
        record = search.index.read(known[0])
        _say_whose(search, record)
        return _taken_along(search, record) or search.found(record, "the handle given")
    from git_agent_runner.find.candidates import by_noted_handle

    return by_noted_handle(search, text, known)


def _say_whose(search: Search, record: Record) -> None:
    """A person who gives the handle may not know that the branch of the run's name is another one by now."""
    name, identities = record.branch, search.identities
    if name and name == search.repo.branch and identities.life(name) and identities.owner(record) is None:
        search.say(f"run {record.handle} belongs to an earlier, deleted branch '{name}'; a resume moves it to this one")


def _say_whose_place(search: Search, handle: str) -> None:
    """What an agent has left at work, such as a terminal, names its run for ever."""
    pointed = search.identities.pointers.get(search.repo.branch or "", ())
    if pointed and handle not in pointed:
        search.say(f"taking run {handle}, which GIT_AGENT_HANDLE names, not that of branch '{search.repo.branch}'")


def _taken_along(search: Search, record: Record) -> Resolved | None:
    """A run of this work tree, given by its handle on the branch that was made here since."""
    search.branch = search.repo.branch
    if record.branch is not None or search.branch is None or search.branch in search.identities.pointers:
        return None
    found = _of_work_tree(search)
    return found if found and found.handle == record.handle else None


def _by_pointer(search: Search) -> Resolved | None:
    """Of several pointers that a rename or a copy left in one section, the newest whose record is this branch's."""
    branch = search.branch
    handles = search.identities.pointers.get(branch or "", ())
    records = []
    for handle in dict.fromkeys(reversed(handles)):
        if record := search.record(handle):
            records.append(record)
        else:
            search.say(f"branch.{branch}.agentHandle names {handle}, which has no readable record: git agent doctor")
    ours = [record for record in records if search.counts(record)]
    if branch is None or not ours:
        return None
    claims = {record.handle: search.identities.claim(branch, record) for record in ours}
    best = max(ours, key=lambda record: (claims[record.handle], moment(record.updated_at) or 0.0))
    alike = tuple(handle for handle in claims if claims[handle] == claims[best.handle] and handle != best.handle)
    return search.found(best, f"the pointer branch.{branch}.agentHandle", alike, branch)


def _otherwise(search: Search) -> Resolved:
    from git_agent_runner.find.candidates import best  # notes and the list of records: not for the usual way

    return best(search)
