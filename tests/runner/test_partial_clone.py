"""A partial clone, in which git fetches what it lacks one object at a time. Faults B16."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.store import notes
from support.gitrepo import GitRepo
from support.noted import line, noted
from support.runs import find

HANDLES = [f"{number:08x}" for number in range(5)]


@pytest.fixture
def clone(repo: GitRepo, tmp_path: Path) -> GitRepo:
    """It has the notes' commits and trees, and none of five notes; each connection adds a line to `connections`."""
    for handle in HANDLES:
        repo.commit(handle)
        noted(repo, line(handle))
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    made = repo.clone(tmp_path / "clone", "--filter=blob:none", "--no-local", "--no-checkout")
    made.git("fetch", "-q", "origin", f"{notes.REF}:{notes.REF}")
    program = tmp_path / "upload-pack"
    program.write_text(f'#!/bin/sh\necho >>"{tmp_path}/connections"\nexec git-upload-pack "$@"\n')
    program.chmod(0o700)
    made.git("config", "remote.origin.uploadpack", str(program))
    return made


def test_all_notes_come_with_one_connection(clone: GitRepo, tmp_path: Path) -> None:
    read = notes.read(clone.facts())
    assert ({note.handle for found in read.by_commit.values() for note in found}, read.problems) == ({*HANDLES}, ())
    assert find(clone).handle == HANDLES[-1]
    assert (tmp_path / "connections").read_text() == "\n"


def test_a_remote_that_is_gone_is_said(clone: GitRepo, repo: GitRepo, tmp_path: Path) -> None:
    repo.path.rename(tmp_path / "elsewhere")
    with pytest.raises(UserError) as caught:
        find(clone)
    command = "git agent fetch origin"
    said = f"5 notes are not in this partial clone and cannot be fetched now; once 'origin' answers: {command}"
    assert (caught.value.code, caught.value.hints[0]) == ("no_run", said)
    assert len((tmp_path / "connections").read_text()) < len(HANDLES)
    (tmp_path / "elsewhere").rename(repo.path)
    assert find(clone).handle == HANDLES[-1]


def test_doctor_lets_nobody_overwrite_a_note_that_is_only_not_here(
    clone: GitRepo, repo: GitRepo, tmp_path: Path
) -> None:
    """faults A18, B16: `git notes edit` would put an empty note in its place."""
    repo.path.rename(tmp_path / "elsewhere")
    mends = {wrong.fix for wrong in notes.read(clone.facts()).problems}
    assert mends == {"nothing: it is fetched by the next command that can reach the remote of this partial clone"}
