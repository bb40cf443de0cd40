"""A finding of `git agent doctor`: a notes ref that git cannot read.

With `notes.rewriteRef` set, git then refuses to amend or rebase at all, or drops the notes with a warning.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from git_agent_extractors import ordinary
from git_agent_runner.core.model import Repository
from git_agent_runner.git import GitError, reason
from git_agent_runner.maintain.doctor.finding import PRUNE, REPAIR, Finding, RepositoryFacts
from git_agent_runner.store import notes
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import Layout

_LINK, _NOWHERE = "it is a link to", ", which does not exist"


def damaged(known: RepositoryFacts) -> Iterator[Finding]:
    """Its reflog may still name notes that are whole; records tell of the runs in any case."""
    repo = known.ctx.repo
    why = unreadable(repo, "-r")
    if why is None:
        return
    problem = f"{notes.REF} cannot be read: {why}"
    linked = why.startswith(_LINK) and not why.endswith(_NOWHERE)  # what it led to was never notes
    if before := not linked and next((oid for oid in _earlier(repo) if _is_whole(repo, oid)), None):
        fix = f"{REPAIR}, which restores {before[:12]} from its reflog"
        yield Finding("notes_damaged", problem, fix, repair=partial(_write, repo, notes.REF, before))
    else:
        fix = f"{PRUNE}, which deletes the ref; then {REPAIR} writes notes again for the runs that have records here"
        yield Finding("notes_damaged", problem, fix, prune=partial(_write, repo, "-d", notes.REF))


def unreadable(repo: Repository, *deep: str) -> str | None:
    """What git says of the ref, and with `-r` of all its notes. A ref that is broken, or a link to nothing, it takes
    for none, and tells on stderr.
    """
    told = notes.shared(repo, "for-each-ref", "--format=%(symref)", notes.REF, check=False)
    if told.status or told.err:
        return reason(told)
    if target := told.out.strip():
        return f"{_LINK} {target}"
    if told.out:
        tree = notes.shared(repo, "ls-tree", *deep, notes.REF, check=False)
        return reason(tree) if tree.status else None
    link = notes.shared(repo, "symbolic-ref", "-q", notes.REF, check=False).out.rstrip("\n")
    return f"{_LINK} {link}{_NOWHERE}" if link else None


def _earlier(repo: Repository) -> list[str]:
    """What the ref named, newest first. Git does not show the reflog of a broken ref; the file is still there."""
    try:
        log = ordinary.whole(f"{repo.common_dir}/logs/{notes.REF}", 64 << 20).decode("utf-8", "replace")
        return [line.split(" ", 2)[1] for line in reversed(log.split("\n")) if line.count(" ") > 1]
    except OSError:
        return []


def _is_whole(repo: Repository, oid: str) -> bool:
    """Every object of it is there."""
    return not notes.shared(repo, "rev-list", "--objects", "--no-object-names", "-1", oid, check=False).status


def _write(repo: Repository, *words: str) -> None:
    """`git update-ref WORDS`. A broken ref it does not touch, so its file goes first. Raises UserError, OSError."""
    with locks.locked(Layout(repo.common_dir).lock("notes")):
        try:
            notes.shared(repo, "update-ref", "--no-deref", *words)
        except GitError:
            os.unlink(os.path.join(repo.common_dir, notes.REF))
            notes.shared(repo, "update-ref", "--no-deref", *words)
