"""Two machines: clones of one remote at different paths, each with a home of its own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from support.cli import Cli, Done
from support.gitrepo import GitRepo, make


class Machine(NamedTuple):
    """A clone, and the home that its engines keep their sessions in."""

    cli: Cli

    @property
    def repo(self) -> GitRepo:
        return self.cli.repo

    @property
    def places(self) -> dict[str, str]:
        home = self.cli.home
        own = {"XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache"}
        return {"HOME": str(home), **{name: str(home / folder) for name, folder in own.items()}}

    def run(self, *words: str, **environ: str) -> Done:
        return self.cli.run(*words, stdin=None, cwd=None, **{**self.places, **environ})

    def ok(self, *words: str, **environ: str) -> Done:
        done = self.run(*words, **environ)
        assert done.status == 0, done
        return done

    def begin(self, engine: str = "claude") -> str:
        """A run of this branch that has ended; its handle."""
        handle: str = self.ok("start", "-e", engine, "--json", "begin").json["handle"]
        return handle

    def share(self, *words: str) -> Done:
        """Push the conversations; the person has agreed."""
        return self.ok("push", "--sessions", "--yes", *words)

    def moved_on(self, message: str) -> None:
        self.ok("resume", message)


def two(cli: Cli, tmp_path: Path) -> tuple[Machine, Machine]:
    bare = make(tmp_path / "bare", "--bare")
    cli.repo.git("remote", "add", "origin", str(bare.path))
    cli.repo.git("push", "-q", "origin", "main")
    home = tmp_path / "home b"
    home.mkdir()
    return Machine(cli), Machine(Cli(GitRepo(bare.path).clone(tmp_path / "place b"), home))
