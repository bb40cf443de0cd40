"""Notes for tests: a run to note, its line, and what stands on a commit."""

from __future__ import annotations

import json
from typing import Any

from git_agent_extractors.model import Session
from git_agent_runner import git
from git_agent_runner.core.model import Note, Record
from git_agent_runner.store import notes
from support.gitrepo import GitRepo

REF = "refs/notes/agent"


def record(handle: str = "7f3a9c21", **changes: Any) -> Record:
    run_id = f"20261127T101502Z-codex-{handle}"
    known = Record(
        handle=handle,
        run_id=run_id,
        run_directory=f"agent/runs/{run_id}",
        agent_name="codex",
        session=Session("thread_id", "019a1c2d-0b01-7aaa-8bbb-0123456789ab"),
        launch_args=("--model", "gpt-5"),
        updated_at="2026-11-27T10:15:02.250Z",
        branch="main",
        host="box",
    )
    return known._replace(**changes)


def line(own: str = "7f3a9c21", /, **changes: Any) -> str:
    """A note's line, with some keys replaced; `...` leaves a key out."""
    known = json.loads(notes.render(record(own))[2:])
    return "- " + json.dumps({key: value for key, value in {**known, **changes}.items() if value is not ...})


def noted(repo: GitRepo, text: str, commit: str = "HEAD") -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=text)
    repo.git("notes", f"--ref={REF}", "add", "-f", "-C", blob, commit)


def raw(repo: GitRepo, commit: str = "HEAD") -> str:
    """The bytes of a note."""
    return git.run(("cat-file", "blob", repo.git("notes", f"--ref={REF}", "list", commit)), cwd=str(repo.path)).out


def handles(found: tuple[Note, ...] | list[Note]) -> list[str]:
    return [note.handle for note in found]
