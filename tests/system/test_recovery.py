"""What is left of a run after a loss, and how it goes on: real engines, whose model is told the whole conversation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from system.support import ALLOW, World, refused, succeeded

NOTES = "refs/notes/agent"


def forget(world: World, *what: str) -> None:
    """As in a fresh clone that the engine's store outlived: runs and pointers, or notes, are gone."""
    if "runs" in what:
        shutil.rmtree(world.repo / ".git/agent")
        world.git("config", "--remove-section", "branch.feature/retry")
    if "notes" in what:
        world.git("update-ref", "-d", NOTES)


def test_a_session_that_git_agent_knows_nothing_of_is_adopted(world: World) -> None:
    """As one that was begun by hand: the engine's store alone tells of it."""
    world.start("MK1 add a retry")
    session = world.session()
    forget(world, "runs", "notes")
    done = succeeded(world.agent("adopt", world.pin.engine, "--json", "--", *ALLOW[world.pin.engine]))
    assert json.loads(done.out)["session"]["value"] == session
    assert len(world.requests()) == 1, "no engine was started"
    world.resume("MK2 and go on")
    world.carried("MK1", "MK2")
    assert world.session() == session
    assert json.loads(world.agent("doctor", "--json").out)["problems"] == []


@pytest.mark.engine_independent
def test_a_run_that_only_its_note_knows_goes_on(world: World) -> None:
    world.commit("work of this branch", work="1\n")
    world.start("MK1 add a retry")
    session, handle = world.session(), world.facts()["handle"]
    forget(world, "runs")
    if world.pin.engine == "copilot":  # its store does not show which directory a session belongs to
        refused(world.agent("resume", "MK2 and go on"), f"git agent adopt {handle} --trust")
        succeeded(world.agent("adopt", handle, "--trust"))
    world.resume("MK2 and go on")
    world.carried("MK1", "MK2")
    assert (world.session(), world.facts()["handle"]) == (session, handle)


@pytest.mark.engine_independent
def test_a_note_does_not_give_permissions(world: World) -> None:
    world.commit("work of this branch", work="1\n")
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    forget(world, "runs")
    if not ALLOW[world.pin.engine]:
        world.resume("MK2 and go on")
        world.carried("MK1", "MK2")
        return
    flag = ALLOW[world.pin.engine][0].partition("=")[0]
    refused(world.agent("resume", "MK2 and go on"), flag, "--trust")
    assert len(world.requests()) == 1
    succeeded(world.agent("resume", "--trust", "MK3 and go on"))
    world.carried("MK1", "MK3")


@pytest.mark.engine_independent
def test_records_that_were_lost_or_torn_are_rebuilt(world: World) -> None:
    world.start("MK1 add a retry")
    session, facts = world.session(), world.facts()
    for harm in (_unlink_record, _tear_record, _tear_attempt):
        harm(world, facts)
        succeeded(world.agent("doctor", "--repair"))
        assert world.session() == session
    forget(world, "notes")
    succeeded(world.agent("doctor", "--repair"))
    assert session in world.git("notes", "--ref=agent", "show", "HEAD")
    world.resume("MK2 and go on")
    world.carried("MK1", "MK2")


def _unlink_record(world: World, facts: dict[str, str]) -> None:
    (world.repo / f".git/agent/index/{facts['handle']}.yaml").unlink()


def _tear_record(world: World, facts: dict[str, str]) -> None:
    path = world.repo / f".git/agent/index/{facts['handle']}.yaml"
    path.write_bytes(path.read_bytes()[:99])


def _tear_attempt(_world: World, facts: dict[str, str]) -> None:
    path = Path(facts["runDirectory"], "attempts/0001/attempt.yaml")
    path.write_bytes(path.read_bytes()[:99])
