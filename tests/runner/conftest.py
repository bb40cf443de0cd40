"""What the tests of the command line share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import GitRepo
from support.terminal import Person


@pytest.fixture
def cli(repo: GitRepo, isolated: Path) -> Cli:
    """A person in a repository with two commits."""
    return Cli(repo, isolated)


@pytest.fixture
def person(cli: Cli) -> Iterator[Person]:
    someone = Person(cli)
    yield someone
    os.close(someone.eyes)
    os.close(someone.terminal)


@pytest.fixture
def here(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """As `cli`, for commands in our own process."""
    monkeypatch.chdir(cli.repo.path)
    for name, value in cli.environ().items():
        monkeypatch.setenv(name, value)
    return cli
