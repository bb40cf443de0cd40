"""A world for one test: a scratch repository, a model server, a home, and one real engine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import psutil

from git_agent_fixtures.engines import Pin
from git_agent_fixtures.home import Home
from git_agent_fixtures.recording import processes
from git_agent_fixtures.server.log import Entry
from git_agent_fixtures.server.serving import Server
from support import forks, schemas
from support.waiting import PATIENCE

BIN = Path(sys.executable).parent
BRANCH = "feature/retry"

# What an engine must be given to run the scripted shell commands.
ALLOW: dict[str, tuple[str, ...]] = {
    "claude": ("--allowedTools=Bash",),
    "codex": ("--sandbox", "workspace-write"),
    "gemini": ("--yolo",),
    "opencode": (),
    "qwen": ("--yolo",),
    "copilot": ("--allow-all-tools",),
}


class Done(NamedTuple):
    """A command that has ended."""

    status: int
    out: str
    err: str


class World(NamedTuple):
    """Everything one test drives. `repo` is on `BRANCH`; `git agent` finds the engine through git config."""

    pin: Pin
    home: Home
    server: Server
    repo: Path
    binary: Path

    def run(self, *argv: str, stdin: str | None = None, cwd: Path | None = None, **env: str) -> Done:
        """Run a command in the engine's environment; in the repository unless `cwd` says otherwise."""
        done = subprocess.run(
            argv,
            cwd=cwd or self.repo,
            env={**self.home.env, **env},
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def agent(self, *words: str, stdin: str | None = None, cwd: Path | None = None, **env: str) -> Done:
        """`git-agent WORDS`, whatever comes of it: a start as it is installed, all else by a fork, which is faster."""
        if words[:1] == ("start",) or stdin is not None:
            done = self.run(str(BIN / "git-agent"), *words, stdin=stdin, cwd=cwd, **env)
        else:
            status, out, err = forks.run(words, cwd or self.repo, {**self.home.env, **env}, PATIENCE)
            done = Done(status, out.decode(), err.decode())
        if schemas.asked(words):
            schemas.check(words, done.out)
        return done

    def start(self, prompt: str, *args: str) -> Done:
        """`git-agent start -e ENGINE PROMPT -- ARGS`, which must succeed."""
        return succeeded(self.agent("start", "-e", self.pin.engine, f"--prompt={prompt}", *_to_engine(args)))

    def resume(self, message: str, *args: str) -> Done:
        """`git-agent resume MESSAGE -- ARGS`, which must succeed."""
        return succeeded(self.agent("resume", f"--message={message}", *_to_engine(args)))

    def facts(self, *handle: str) -> dict[str, Any]:
        """What `git-agent show` tells of a run; without a handle of the branch's."""
        told: dict[str, Any] = json.loads(succeeded(self.agent("show", "--json", *handle)).out)
        return told

    def session(self) -> str:
        """The id that the record of the branch's run holds; there must be one."""
        value = self.facts()["session"]["value"]
        assert isinstance(value, str)
        return value

    def spawn(self, *words: str, stderr: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        """`git-agent WORDS`, running; it is ended with the world."""
        return subprocess.Popen(
            (str(BIN / "git-agent"), *words),
            cwd=self.repo,
            env=self.home.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def git(self, *words: str) -> str:
        """What `git WORDS` prints in the repository; it must succeed."""
        return succeeded(self.run("git", *words)).out.removesuffix("\n")

    def commit(self, message: str, **files: str) -> str:
        """Commit files (name without dots = text) and give the commit's object name."""
        for name, text in files.items():
            (self.repo / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def requests(self) -> tuple[Entry, ...]:
        """The conversations that the engine has asked the model to continue; its side requests are left out."""
        return self.server.turns()

    def carried(self, *markers: str) -> None:
        """Assert that the newest request tells the model these markers in this order, the last one as the news.

        Markers are counted, not turns: engines merge turns and repeat texts.
        """
        newest = self.requests()[-1]
        assert tuple(mark for mark in dict.fromkeys(newest.markers) if mark in markers) == markers
        assert markers[-1] in newest.users[-1].head

    def ran_in(self, place: Path) -> None:
        """Assert that the newest request tells of a TOOLCALL in that directory: the engine's own shell said so."""
        result, path = self.requests()[-1].tool_results[-1], str(place.resolve())
        line = result.replace("\n", "")  # qwen 0.5.2's shell sits in a terminal that breaks lines at 80 columns
        assert path in line or json.dumps(path)[1:-1] in line, result  # gemini's results are objects, logged as JSON


def prepare(world: World, *words: str) -> World:
    """Make the repository of that world: one commit, `BRANCH` checked out, the engine configured.

    `words` go to `git init`.
    """
    world.repo.mkdir(parents=True)
    world.git("init", "-q", *words)
    world.commit("begin", readme="scratch\n")
    world.git("switch", "-q", "-c", BRANCH)
    world.git("config", f"agent.{world.pin.engine}.binary", str(world.binary))
    return world


def refused(done: Done, *words: str) -> Done:
    """Assert a refusal of ours that says these words."""
    assert done.status == 128, f"exit {done.status}\n{done.out}\n{done.err}"
    assert done.err.count("fatal: ") == 1
    assert [word for word in words if word not in done.err] == []
    return done


def succeeded(done: Done) -> Done:
    assert done.status == 0, f"exit {done.status}\n{done.out}\n{done.err}"
    return done


def alive(home: Home) -> list[psutil.Process]:
    """What runs in this home: git-agent, engines and their tools, whose parents and process groups tell nothing."""
    return processes.alive(str(home.root))


def end_all(home: Home) -> None:
    """End whatever still runs in this home, at once, and wait until all of it is over."""
    processes.end_all(str(home.root))


def _to_engine(args: Sequence[str]) -> tuple[str, ...]:
    return ("--", *args) if args else ()
