"""A repository with our hooks installed, and a run that has ended on its branch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_agent_hooks.install import install
from git_agent_hooks.place import find
from git_agent_runner import context
from support.gitrepo import GitRepo, make


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """On `main`, two commits, our hooks installed."""
    made = make(tmp_path / "repo")
    made.commit("one", f="1\n")
    made.commit("two", f="1\n2\n")
    monkeypatch.chdir(made.path)
    ctx = context.load(os.environ)
    assert install(ctx, find(ctx))
    return made
