"""Repositories of other kinds than the usual one, and an engine that was upgraded between start and resume."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_fixtures.engines import OLDER, install, pinned
from system.conftest import CACHE
from system.stores import sessions
from system.support import BRANCH, World, prepare, refused

Shape = Callable[[World, Path], World]


def _sha256(world: World, place: Path) -> World:
    return prepare(world._replace(repo=place / "wide"), "--object-format=sha256")


def _submodule(world: World, place: Path) -> World:
    whole = prepare(world._replace(repo=place / "whole"))
    whole.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(world.repo), "part")
    return _configured(world._replace(repo=whole.repo / "part"))


def _of_a_bare_one(world: World, place: Path) -> World:
    """The bare repository itself has nowhere to work in; its linked worktrees have."""
    world.git("clone", "-q", "--bare", ".", str(place / "bare.git"))
    bare = world._replace(repo=place / "bare.git")
    refused(bare.agent("start", "-e", world.pin.engine, "MK0 nowhere"), "bare")
    bare.git("worktree", "add", "-q", str(place / "tree"), BRANCH)
    return _configured(world._replace(repo=place / "tree"))


def _configured(world: World) -> World:
    world.git("config", f"agent.{world.pin.engine}.binary", str(world.binary))
    return world


@pytest.mark.parametrize("pin", [pinned("codex")], ids=str, scope="session")
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(_sha256, id="sha256"),
        pytest.param(_submodule, id="submodule"),
        pytest.param(_of_a_bare_one, id="worktree of a bare repository"),
    ],
)
def test_a_session_goes_on_in_other_repositories(world: World, shape: Shape, tmp_path: Path) -> None:
    world = shape(world, tmp_path)
    world.start("MK1 begin")
    noted = world.git("notes", "--ref=agent", "show", "HEAD")
    assert world.session() in noted
    world.git("commit", "-q", "--amend", "-m", "begin again")
    assert world.session() in world.git("notes", "--ref=agent", "show", "HEAD")
    world.resume("MK2 TOOLCALL go on")
    world.carried("MK1", "MK2")
    world.ran_in(world.repo)


@pytest.mark.parametrize("pin", OLDER, ids=str, scope="session")
def test_a_session_outlives_an_upgrade_of_its_engine(world: World) -> None:
    newest = pinned(world.pin.engine)
    world.start("MK1 with the old one")
    world.git("config", f"agent.{newest.engine}.binary", str(install(newest, CACHE)))
    world.resume("MK2 with the new one")
    world.carried("MK1", "MK2")
    assert world.facts()["engineVersion"] == newest.version
    assert sessions(world) == {world.session()}
