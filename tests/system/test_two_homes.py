"""One run, two homes in turn, as of a person and a container: each resume continues all that was said in either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import PINS
from git_agent_runner.engines.spec import parse_version
from system.stores import sessions
from system.support import World, end_all, refused

COPIED = [
    pin for pin in PINS if pin.engine != "opencode" or (parse_version(pin.version) or ()) >= (1, 2)
]  # of opencode before 1.2 no copy is made


@pytest.fixture
def second(world: World, tmp_path: Path) -> Iterator[World]:
    """The same repository and engine in another home."""
    place = home.make(world.pin, tmp_path / "second", world.server.url)
    place.env["PATH"] = world.home.env["PATH"]
    try:
        yield world._replace(home=place)
    finally:
        end_all(place)


@pytest.mark.engine_independent
def test_a_run_goes_on_in_two_homes_by_turns(world: World, second: World) -> None:
    """faults A7, G7"""
    world.start("MK1 add a retry")
    if world.pin not in COPIED:
        refused(second.agent("resume", "MK2 go on"), f"session {world.session()} is in '{world.home.root}")
        return
    said = second.resume("MK2 in the second home").err
    assert f"the run's was in '{world.home.root}" in said
    second.carried("MK1", "MK2")
    said = world.resume("MK3 in the first home").err
    assert "in an earlier state (1 turn, " in said
    assert "the run's: 2 turns, " in said
    world.carried("MK1", "MK2", "MK3")
    strict = second.agent("resume", "--strict", "MK9 never said")
    refused(strict, "in an earlier state (2 turns, ", "the run's: 3 turns, ")
    second.resume("MK4 in the second home")
    second.carried("MK1", "MK2", "MK3", "MK4")
    assert world.session() in sessions(world)
    assert world.session() in sessions(second)
