"""`git agent …` as a person runs it: the real program in a process of its own, stand-ins for engines first on PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import git_agent_runner.cli
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.git import settings
from git_agent_runner.store import notes, pointer
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.index import Index
from support import forks, schemas
from support.gitrepo import GitRepo
from support.waiting import PATIENCE, until

STAND_INS = Path(__file__).parent / "engines"
TERMINALS = Path(__file__).parent / "terminals"  # last on PATH: where there is a real tmux, it is tried
SOURCES = [str(Path(git_agent_runner.cli.__file__).parents[1]), *(path for path in sys.path if path)]
# -P: the directory that the person is in must not be searched for modules.
PROGRAM = (sys.executable, "-P", "-m", "git_agent_runner.cli")


class Done(NamedTuple):
    """How one command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """What a person is told: the lines of stderr that are ours."""
        words = ("fatal:", "hint:", "warning:", "git-agent:")
        return [line for line in self.err.splitlines() if line.startswith(words)]


class Cli(NamedTuple):
    """A person in a repository. `home` holds the engines' stores and the log of what the stand-ins were given."""

    repo: GitRepo
    home: Path

    def environ(self, **changes: str) -> dict[str, str]:
        path = os.pathsep.join([str(STAND_INS), str(Path(sys.executable).parent), os.environ["PATH"], str(TERMINALS)])
        own = {"PATH": path, "PYTHONPATH": os.pathsep.join(SOURCES), "FAKE_LOG": str(self.home / "fake.log")}
        # As people run it: with buffers, and with compiled modules kept.
        odd = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
        inherited = {name: value for name, value in os.environ.items() if name not in odd}
        return {**inherited, **own, **changes}

    def start(self, *words: str, cwd: Path | None = None, **environ: str) -> subprocess.Popen[bytes]:
        """The command, running; its streams are pipes."""
        return self.start_into(subprocess.PIPE, *words, cwd=cwd, **environ)

    def start_into(self, stderr: int, *words: str, cwd: Path | None = None, **environ: str) -> subprocess.Popen[bytes]:
        """The command, running, its standard error given."""
        return subprocess.Popen(
            (*PROGRAM, *words),
            cwd=cwd or self.repo.path,
            env=self.environ(**environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

    def run(self, *words: str, stdin: bytes | None = None, cwd: Path | None = None, **environ: str) -> Done:
        """The command, to its end; `environ` is added to its environment. Its JSON is as the schemas say."""
        done = self._run(*words, stdin=stdin, cwd=cwd, **environ)
        if schemas.asked(words):
            schemas.check(words, done.out)
        return done

    def _run(self, *words: str, stdin: bytes | None, cwd: Path | None, **environ: str) -> Done:
        if stdin is None and not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in environ):
            status, out, err = forks.run(words, cwd or self.repo.path, self.environ(**environ), PATIENCE)
            return Done(status, out.decode(), err.decode(errors="replace"))
        done = subprocess.run(
            (*PROGRAM, *words),
            cwd=cwd or self.repo.path,
            env=self.environ(**environ),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))

    def ok(self, *words: str, cwd: Path | None = None, **environ: str) -> Done:
        done = self.run(*words, stdin=None, cwd=cwd, **environ)
        assert done.status == 0, done
        return done

    def begin(self, engine: str = "codex", *words: str, cwd: Path | None = None, **environ: str) -> Record:
        """A run of this branch that has ended; its record."""
        started = self.run("start", "-e", engine, "--json", "begin", *words, stdin=None, cwd=cwd, **environ)
        return self.record(started.json["handle"])

    @property
    def layout(self) -> Layout:
        return Layout(self.repo.facts().common_dir)

    def record(self, handle: str | None = None) -> Record:
        """The record of a run, by default of the only one."""
        index = Index(self.layout)
        return index.read(handle or _only(index.handles()))

    def attempt(self, number: int = 1, handle: str | None = None) -> Attempt:
        return attempts.read(self.layout, self.record(handle).run_id, number)

    def pointers(self) -> dict[str, str]:
        repo = self.repo.facts()
        return pointer.read(repo, settings.read(repo))

    def noted(self) -> list[str]:
        """The handles in notes."""
        return [note.handle for runs in notes.read(self.repo.facts()).by_commit.values() for note in runs]

    def calls(self) -> list[dict[str, Any]]:
        """What the stand-ins were given, one entry for each time one was started."""
        path = self.home / "fake.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def forget_copies(self) -> None:
        """Take away the copies of sessions that runs have, as of runs that have none."""
        for path in Path(self.layout.runs_dir).glob("*/session"):
            shutil.rmtree(path)

    def state(self) -> set[str]:
        """Every file and directory of ours in the repository but locks, and the names of our settings."""
        root = Path(self.layout.root)
        files = {str(path.relative_to(root)) for path in root.rglob("*") if "locks" not in path.parts}
        return files | set(self.repo.git("config", "--local", "--list", "--name-only").split("\n"))


def _only(handles: list[str]) -> str:
    (handle,) = handles
    return handle


def wait_for(path: Path) -> str:
    """What the file holds, once it holds something."""
    return until(lambda: path.exists() and path.read_text(), f"{path} comes") or ""


def ask(*words: str) -> int:
    """The exit status of the command in our own process, which is faster: for what starts no engine."""
    with schemas.checked(words):
        return git_agent_runner.cli.main(words)
