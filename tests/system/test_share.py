"""A conversation that goes to another machine by git and comes back: two homes, two paths, a bare remote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_agent_fixtures import home
from system.stores import sessions
from system.support import BRANCH, World, end_all, refused, succeeded
from system.test_two_homes import COPIED


@pytest.fixture
def there(world: World, tmp_path: Path) -> Iterator[World]:
    """A clone at another path, in another home, with the same engine."""
    place, bare, clone = (
        home.make(world.pin, tmp_path / "there", world.server.url),
        tmp_path / "bare",
        tmp_path / "a clone",
    )
    place.env["PATH"] = world.home.env["PATH"]
    world.git("init", "-q", "--bare", str(bare))
    world.git("remote", "add", "origin", f"file://{bare}")
    world.git("push", "-q", "origin", BRANCH)
    world.git("clone", "-q", "--branch", BRANCH, f"file://{bare}", str(clone))
    other = world._replace(home=place, repo=clone)
    other.git("config", f"agent.{world.pin.engine}.binary", str(world.binary))
    try:
        yield other
    finally:
        end_all(place)


@pytest.mark.engine_independent
def test_a_conversation_goes_to_another_machine_and_back(world: World, there: World) -> None:
    world.start("MK1 add a retry")
    sent = world.agent("push", "--sessions", "--yes")
    if world.pin not in COPIED:
        refused(sent, "cannot be read")
        return
    succeeded(sent)
    succeeded(there.agent("fetch"))
    asked = len(world.requests())
    refused(there.agent("resume", "MK9 never said"), "is text that the agent will believe")
    assert len(world.requests()) == asked
    succeeded(there.agent("resume", "--trust", "--message=MK2 there"))
    there.carried("MK1", "MK2")
    succeeded(there.agent("push", "--sessions", "--yes"))
    succeeded(world.agent("fetch"))
    refused(world.agent("resume", "MK8 never said"), "is text that the agent will believe")
    succeeded(world.agent("resume", "--trust", "--message=MK3 back"))
    world.carried("MK1", "MK2", "MK3")
    assert world.session() == there.session()
    assert world.session() in sessions(world)
