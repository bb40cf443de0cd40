"""Runs in a test's repository, without an engine: what a finished attempt leaves behind, piece by piece."""

from __future__ import annotations

import os
import time
from typing import Any

from git_agent_extractors.model import Session
from git_agent_runner.core.model import Record
from git_agent_runner.find.resolve import Resolved, resolve
from git_agent_runner.git import settings, trees
from git_agent_runner.store import pointer
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.notes import writing
from git_agent_runner.store.records.index import Index
from support.gitrepo import GitRepo

START = "2026-11-27T10:15:02.250Z"


def record(repo: GitRepo, handle: str, **changes: Any) -> Record:
    """A finished codex run on the branch, work tree and commit where `repo` stands."""
    facts = repo.facts()
    run_id = f"20261127T101502Z-codex-{handle}"
    known = Record(
        handle=handle,
        run_id=run_id,
        run_directory=f"agent/runs/{run_id}",
        agent_name="codex",
        session=Session("thread_id", f"019a1c2d-0b01-7aaa-8bbb-0000{handle}"),
        updated_at=START,
        branch=facts.branch,
        worktree=facts.top,
        worktree_id=trees.here(facts),
        cwd=facts.top,
        start_commit=facts.head,
        status="completed",
        attempts=1,
        created_at=START,
        host="box",
    )
    return known._replace(**changes)


def index(repo: GitRepo) -> Index:
    return Index(Layout(repo.facts().common_dir))


def leave(repo: GitRepo, handle: str, what: str = "record note pointer", **changes: Any) -> Record:
    """The pieces named in `what`, as a run that ended now leaves them."""
    made = record(repo, handle, **changes)
    facts = repo.facts()
    if "record" in what:
        index(repo).create(made)
    if "note" in what:
        writing.write(facts, facts.head, made)
    if "pointer" in what:
        assert made.branch is not None
        pointer.write(facts, made.branch, handle)
    return made


def find(repo: GitRepo, **asked: Any) -> Resolved:
    """Which run is it, for a person who stands here?"""
    facts = repo.facts()
    _, config = settings.load(facts, os.environ)
    return resolve(facts, config, index(repo), time.time(), **asked)
