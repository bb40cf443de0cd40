"""Real repositories for tests: fixed people, fixed dates, no configuration of the machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from git_agent_runner.core.model import Repository
from git_agent_runner.git import discover

EPOCH = 1_700_000_000  # 2023-11-14T22:13:20Z, the date of every commit and reflog entry unless a test says otherwise


def dates(seconds: int) -> dict[str, str]:
    """The environment that makes git believe it is that second since the epoch."""
    return {"GIT_AUTHOR_DATE": f"{seconds} +0000", "GIT_COMMITTER_DATE": f"{seconds} +0000"}


class GitRepo(NamedTuple):
    """A work tree and the words to change it. Every method runs real git and fails loudly."""

    path: Path

    def git(self, *words: str, stdin: str | None = None, env: dict[str, str] | None = None) -> str:
        """What `git <words>` prints here, without the last line break."""
        done = subprocess.run(
            ("git", *words),
            cwd=self.path,
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
            check=False,
        )
        assert done.returncode == 0, f"git {words}: {done.stderr}"
        return done.stdout.removesuffix("\n")

    def commit(self, message: str, when: int = EPOCH, **files: str) -> str:
        """Commit files (name without dots = text), or an empty commit; the new commit's object name."""
        for name, text in files.items():
            (self.path / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message, env=dates(when))
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def switch_new(self, branch: str, start: str = "HEAD", when: int = EPOCH) -> None:
        """Make a branch and check it out; `when` is what its reflog says of its birth."""
        self.git("checkout", "-q", "-b", branch, start, env=dates(when))

    def worktree(self, path: Path, branch: str) -> GitRepo:
        """A linked work tree at `path` with that branch, made from HEAD if it does not exist."""
        known = self.git("for-each-ref", "--format=%(refname)", f"refs/heads/{branch}")
        self.git("worktree", "add", "-q", *(() if known else ("-b", branch)), str(path), *((branch,) if known else ()))
        return GitRepo(path)

    def clone(self, path: Path, *words: str) -> GitRepo:
        self.git("clone", "-q", *words, str(self.path), str(path))
        return GitRepo(path)

    def facts(self) -> Repository:
        """This repository as the program sees it from here."""
        return discover(str(self.path), os.environ)


def make(path: Path, *words: str) -> GitRepo:
    """A new repository with an unborn branch `main`; `words` go to `git init`."""
    path.mkdir(parents=True, exist_ok=True)
    repo = GitRepo(path)
    repo.git("init", "-q", "-b", "main", *words)
    return repo
