"""A repository with our hooks installed, and a run that has ended on its branch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hooks.managers import MANAGERS, packages
from support.cli import Cli
from support.gitrepo import GitRepo, make
from support.pre_commit import PreCommit, of_now, shared


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where husky and lefthook are."""
    return packages(shared(tmp_path_factory))


# A manager decides only that our hook is called: all histories go through git's own hooks, the others draw one a file.
_OTHERS = [pytest.param(name, marks=pytest.mark.one_of(name)) for name in MANAGERS if name != "git"]


@pytest.fixture(params=["git", *_OTHERS])
def repo(
    request: pytest.FixtureRequest,
    programs: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> GitRepo:
    """On `main`, our hooks installed, or called by a manager of hooks."""
    base = shared(tmp_path_factory)
    made = make(tmp_path / "repo")
    made.commit("one", f="1\n")
    made.commit("two", f="1\n2\n")
    monkeypatch.chdir(made.path)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(base / "pre-commit-home"))
    MANAGERS[request.param](made, base)
    return made


@pytest.fixture
def cli(tmp_path: Path, isolated: Path) -> Cli:
    """A person in a repository with one commit, without hooks."""
    made = make(tmp_path / "repo")
    made.commit("one", f="1\n")
    return Cli(made, isolated)


@pytest.fixture(scope="session")
def release_of_now(tmp_path_factory: pytest.TempPathFactory) -> PreCommit:
    """Workers of pytest-xdist share one release and one home of pre-commit."""
    return of_now(shared(tmp_path_factory))


@pytest.fixture
def pre_commit(release_of_now: PreCommit, monkeypatch: pytest.MonkeyPatch) -> PreCommit:
    """pre-commit, whose directory git's own hooks find too."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(release_of_now.home))
    return release_of_now
