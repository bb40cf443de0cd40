"""Taking one run's lines out of all notes. All other lines stay byte for byte."""

from __future__ import annotations

import re

from git_agent_runner.core.model import Repository
from git_agent_runner.store import notes
from git_agent_runner.store.notes import noteline, writing


def drop(repo: Repository, handle: str) -> int:
    """The number of notes that were changed. Raises NoteFailed. Another clone that has the lines brings them back."""
    left: dict[str, str] = {}

    def make(old: str) -> str:
        left.clear()
        found = [commit for commit, runs in notes.read(repo).by_commit.items() if any(n.handle == handle for n in runs)]
        if not found:
            return old
        left.update({commit: _without(text, handle) for commit, text in notes.texts(repo, found).items()})
        writing.begin(repo, old)
        for commit, text in left.items():
            writing.put(repo, commit, text) if text.strip() else _remove(repo, commit)
        return notes.tip(repo, writing.PRIVATE)

    writing.update(repo, make, lambda: handle not in _handles(repo, list(left)))
    return len(left)


def _without(text: str, handle: str) -> str:
    lines = re.findall(r".*\n|.+$", text)
    return "".join(line for line in lines if not ((note := noteline.parse_line(line)) and note.handle == handle))


def _remove(repo: Repository, commit: str) -> None:
    notes.shared(repo, "notes", f"--ref={writing.PRIVATE}", "remove", commit)


def _handles(repo: Repository, commits: list[str]) -> set[str]:
    return {note.handle for text in notes.texts(repo, commits).values() for note in noteline.parse(text)[0]}
