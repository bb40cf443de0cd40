"""Carrying notes from commits to those that took their place, where git's own rewriteRef does not."""

from __future__ import annotations

from collections.abc import Iterable

from git_agent_runner.core.model import Repository
from git_agent_runner.store import notes
from git_agent_runner.store.notes import noteline, writing

Pair = tuple[str, str]  # (old commit, new commit), full object names


def carry(repo: Repository, pairs: Iterable[Pair], wait: float = writing.LOCK_WAIT) -> tuple[str, ...]:
    """Give each new commit the runs that its old one has and it lacks; the new commits that got some.

    Lines are carried byte for byte, and nothing is taken from the old ones. Raises NoteFailed.
    """
    wanted = tuple(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
    if not wanted or not _missing(notes.texts(repo, _commits(wanted)), wanted):
        return ()
    made: dict[str, str] = {}

    def make(old: str) -> str:
        made.clear()
        made.update(_missing(notes.texts(repo, _commits(wanted)), wanted))
        if not made:
            return old
        writing.begin(repo, old)
        for commit, text in made.items():
            writing.put(repo, commit, text)
        return notes.tip(repo, writing.PRIVATE)

    writing.update(repo, make, lambda: notes.texts(repo, list(made)) == made, wait=wait)
    return tuple(made)


def _commits(pairs: Iterable[Pair]) -> list[str]:
    return list(dict.fromkeys(commit for pair in pairs for commit in pair))


def _missing(texts: dict[str, str], pairs: Iterable[Pair]) -> dict[str, str]:
    """New commit -> its note with what it lacks at the end; only those that lack something."""
    whole = dict(texts)
    for old, new in pairs:
        known = {note.handle for note in noteline.parse(whole.get(new, ""))[0]}
        lines = [line for line in texts.get(old, "").split("\n") if _handle(line) not in {None, *known}]
        if lines:
            before = whole.get(new, "")
            whole[new] = "".join(f"{line}\n" for line in [*([before.removesuffix("\n")] if before else []), *lines])
    return {commit: text for commit, text in whole.items() if text != texts.get(commit)}


def _handle(line: str) -> str | None:
    note = noteline.parse_line(line)
    return note.handle if note else None
