"""Real pre-commit with our hooks, from this checkout as it stands: installed once for all tests of a run."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from support.gitrepo import GitRepo

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "pre_commit")
_PERSON = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Release"), ("EMAIL", "release@example.invalid"))
}


class PreCommit(NamedTuple):
    """`release` is a repository that consumers name by its URL, `rev` its commit, `home` pre-commit's own directory."""

    release: Path
    rev: str
    home: Path

    def configure(self, repo: GitRepo, *hooks: str, stages: tuple[str, ...]) -> None:
        """Write the configuration with these hooks (YAML mappings), commit it, and install it for these stages."""
        (repo.path / ".pre-commit-config.yaml").write_text(self.config(*hooks))
        repo.git("add", ".pre-commit-config.yaml")
        repo.git("commit", "-q", "-m", "configure pre-commit")
        for stage in stages:
            run(repo.path, {**os.environ, "PRE_COMMIT_HOME": str(self.home)}, "install", "--hook-type", stage)

    @property
    def url(self) -> str:
        return f"file://{self.release}"

    def config(self, *hooks: str) -> str:
        rows = "".join(f"  - {hook}\n" for hook in hooks)
        return f"repos:\n- repo: {self.url}\n  rev: {self.rev}\n  hooks:\n{rows}"


def run(cwd: Path, env: dict[str, str], *words: str) -> None:
    """`pre-commit WORDS`, which must succeed."""
    done = subprocess.run((*PROGRAM, *words), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"


def shared(factory: pytest.TempPathFactory) -> Path:
    """One directory for all workers of pytest-xdist."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def of_now(base: Path) -> PreCommit:
    """The release of this checkout, installed by pre-commit below `base`; the first to ask makes it."""
    made = PreCommit(base / "release", "", base / "pre-commit-home")
    with (base / "release.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Asked before any test has a home of its own: nothing of the machine's is read but where packages come from.
        env = {**os.environ, **_PERSON, "HOME": str(base), "PRE_COMMIT_HOME": str(made.home), "PYTHONPATH": ""}
        env |= {"GIT_CONFIG_GLOBAL": str(base / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
        if not made.release.exists():
            _publish(made.release, env)
        made = made._replace(rev=_git(made.release, env, "rev-parse", "HEAD"))
        if not made.home.exists():
            _install(made, base / "consumer", env)
    return made


def _publish(place: Path, env: dict[str, str]) -> None:
    """A repository as `make hooks-mirror` writes it, and the package that it needs."""
    build = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", _wheels(place))
    subprocess.run((*build, str(ROOT)), env=env, check=True, capture_output=True)
    subprocess.run((sys.executable, str(ROOT / "hooks/mirror.py"), str(place)), env=env, check=True)
    _git(place, env, "init", "-q")
    _git(place, env, "add", "--all")
    _git(place, env, "commit", "-q", "-m", "release")


def _wheels(place: Path) -> str:
    return str(place.parent / "wheels")


def _install(made: PreCommit, consumer: Path, env: dict[str, str]) -> None:
    """Into pre-commit's home, so that later uses find it there, whatever PYTHONPATH they have."""
    consumer.mkdir()
    _git(consumer, env, "init", "-q")
    (consumer / ".pre-commit-config.yaml").write_text(made.config("{id: git-agent-check}"))
    _git(consumer, env, "add", "--all")
    run(consumer, {**env, "PIP_FIND_LINKS": _wheels(made.release)}, "install-hooks")


def _git(place: Path, env: dict[str, str], *words: str) -> str:
    done = subprocess.run(("git", *words), cwd=place, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()
