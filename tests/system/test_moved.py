"""A repository that was moved is the same one; a copy is another, with a conversation of its own from then on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from system.stores import sessions
from system.support import ALLOW, World, succeeded


@pytest.mark.one_of("place")
def test_a_moved_repository_keeps_its_conversation(world: World, tmp_path: Path) -> None:
    """faults B12: there, and back at the old place."""
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    session = world.session()
    there = world._replace(repo=tmp_path / "other name")
    world.repo.rename(there.repo)
    done = there.resume("MK2 TOOLCALL")
    there.carried("MK1", "MK2")
    there.ran_in(there.repo)
    assert done.err.count(str(there.repo)) == 1
    there.repo.rename(world.repo)
    world.resume("MK3 TOOLCALL")
    world.carried("MK1", "MK2", "MK3")
    world.ran_in(world.repo)
    assert world.session() == session
    assert sessions(world) == {session}


@pytest.mark.one_of("place")
def test_a_copied_repository_goes_on_with_a_copy_of_the_conversation(world: World, tmp_path: Path) -> None:
    """faults B12, G7: neither repository's turns reach the other's conversation, and none is lost."""
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    session = world.session()
    copy = world._replace(repo=tmp_path / "copy")
    shutil.copytree(world.repo, copy.repo, symlinks=True)
    world.resume("MK2 in the original")
    done = succeeded(copy.agent("resume", "MK3 TOOLCALL in the copy"))
    copy.carried("MK1", "MK3")
    assert "MK2" not in copy.requests()[-1].markers
    copy.ran_in(copy.repo)
    assert f"session {session} belongs to the repository '{world.repo.resolve()}', of which this is a copy" in done.err
    world.resume("MK4 in the original")
    world.carried("MK1", "MK2", "MK4")
    assert "MK3" not in world.requests()[-1].markers
    assert world.session() == session
    assert copy.facts()["parentSession"] == session
    assert sessions(world) == {session, copy.session()}
