"""Real pre-commit with our hooks, from this checkout as it stands: installed once for all tests of a run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from support.gitrepo import GitRepo, make

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "pre_commit")
_SHIPPED = ("runner", "extractors", "hooks", "fixtures/git_agent_fixtures", "docs/git-agent.1")
_FILES = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


class PreCommit(NamedTuple):
    """`release` is a repository that consumers name, `rev` its commit, `home` pre-commit's own directory."""

    release: Path
    rev: str
    home: Path

    def prepared(self) -> PreCommit:
        """The release made, and installed by pre-commit: later ones find it there, whatever PYTHONPATH they have."""
        made = self._replace(rev=release(self.release))
        consumer = make(self.home.with_name("consumer"))
        made.configure(consumer, "{id: git-agent-check}", stages=())
        made.run(consumer, "install-hooks")
        return made

    def configure(self, repo: GitRepo, *hooks: str, stages: tuple[str, ...]) -> None:
        """Write the configuration with these hooks (YAML mappings), commit it, and install it for these stages."""
        rows = "".join(f"  - {hook}\n" for hook in hooks)
        text = f"repos:\n- repo: {self.release}\n  rev: {self.rev}\n  hooks:\n{rows}"
        (repo.path / ".pre-commit-config.yaml").write_text(text)
        repo.git("add", ".pre-commit-config.yaml")
        repo.git("commit", "-q", "-m", "configure pre-commit")
        for stage in stages:
            self.run(repo, "install", "--hook-type", stage)

    def run(self, repo: GitRepo, *words: str) -> None:
        argv = (*PROGRAM, *words)
        done = subprocess.run(argv, cwd=repo.path, env=self.environ(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"

    def environ(self) -> dict[str, str]:
        return {**os.environ, "PRE_COMMIT_HOME": str(self.home)}


def release(place: Path) -> str:
    """Make a repository with what the package is built from, as it stands in this checkout; its commit."""
    repo = make(place)
    for name in _SHIPPED:
        source, target = ROOT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    for name in _FILES:
        shutil.copyfile(ROOT / name, place / name)
    return repo.commit("release")
