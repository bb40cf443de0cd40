"""Real engines, and everything ends at each step of an attempt: nothing complete is lost, and the run goes on.

A long matrix: steps x engines x start and resume. A part of it runs each time, all of it at night.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from git_agent_fixtures.engines import NEWEST, Pin
from support import faults
from support.faults import Fault
from support.waiting import until
from system.stores import sessions
from system.support import ALLOW, Done, World, alive, end_all

# Each run draws one for each engine.
pytestmark = [pytest.mark.long_matrix, pytest.mark.every_engine, pytest.mark.one_of("fault")]

EACH = pytest.mark.parametrize("pin", NEWEST, ids=str, scope="session")
# What each engine's output gives no chance for: the id of a new session is ours, or comes with the first bytes.
MINTED = {"claude", "gemini", "qwen", "copilot"}
LEARNED = ("session-printed", "session-in-attempt", "session-in-record")


def under(world: World, fault: Fault, *arguments: str) -> Done:
    return world.run(sys.executable, "-P", *fault.words(*arguments))


def reached(pin: Pin, step: str) -> bool:
    return not (pin.engine in MINTED and step in LEARNED)


def after(world: World, before: dict[str, str]) -> None:
    """What was complete is as it was; doctor fixes the rest."""
    end_all(world.home)
    until(lambda: not alive(world.home), "all of it is gone")
    for lock in world.home.root.glob(".qwen/extension-store/*.lock"):  # qwen 0.24.4's own, which counts for a minute
        os.utime(lock, (0, 0))
    for _ in range(2):
        kept = faults.complete(world.repo / ".git/agent")
        assert {name: kept.get(name) for name in before} == before
        faults.fixed(world.agent)


@EACH
@pytest.mark.parametrize("do", ["kill both", "kill git-agent"])
@pytest.mark.parametrize(("step", "nth"), faults.RESUME_POINTS)
def test_killed_in_a_resume(world: World, tmp_path: Path, step: str, nth: int, do: str) -> None:
    """The session is the same, its first turn is there, and each message reached the model once at most."""
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    session = world.session()
    before = faults.complete(world.repo / ".git/agent")
    fault = Fault(do, step, nth, str(tmp_path / "happened"))
    under(world, fault, "resume", "--message=MK2 go on")
    assert fault.happened()
    after(world, before)
    world.resume("MK3 and on")
    world.carried("MK1", "MK3")
    assert world.session() == session
    assert sessions(world) == {session}
    assert len([entry for entry in world.requests() if "MK2" in entry.users[-1].head]) <= 1


@pytest.mark.parametrize("do", ["kill both", "kill git-agent"])
@pytest.mark.parametrize(
    ("step", "nth", "pin"),
    [(step, nth, pin) for step, nth in faults.START_POINTS for pin in NEWEST if reached(pin, step)],
    ids=str,
    scope="session",
)
def test_killed_in_a_start(world: World, tmp_path: Path, step: str, nth: int, do: str) -> None:
    """The run is found again and its session goes on, or what is missing is said, with a way on; or there is no run."""
    fault = Fault(do, step, nth, str(tmp_path / "happened"))
    under(world, fault, "start", "-e", world.pin.engine, "--prompt=MK1 begin", "--", *ALLOW[world.pin.engine])
    assert fault.happened()
    after(world, {})
    asked = len(world.requests())
    done = world.agent("resume", "--message=MK2 and on")
    if done.status == 0:
        world.carried("MK1", "MK2")
        assert sessions(world) == {world.session()}
    else:
        assert faults.says_why(done), done
        assert len(world.requests()) == asked
        world.git("config", "agent.engine", world.pin.engine)  # there may be no run at all
        assert world.agent("resume", "--fallback=fresh", "--message=MK3 anew").status == 0
        assert "MK3" in world.requests()[-1].users[-1].head


@EACH
@pytest.mark.parametrize("step", ["engine-spawned", "process-saved", "output-came"])
def test_only_the_engine_is_killed(world: World, tmp_path: Path, step: str) -> None:
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    before = faults.complete(world.repo / ".git/agent")
    fault = Fault("kill engine", step, 1, str(tmp_path / "happened"))
    done = under(world, fault, "resume", "--message=MK2 SLOWSTREAM")
    assert (done.status, fault.happened()) == (137, True)
    after(world, before)
    world.resume("MK3 and on")
    world.carried("MK1", "MK3")


@EACH
@pytest.mark.parametrize("nth", range(1, 21))
def test_the_disk_is_full_from_a_write_on(world: World, tmp_path: Path, nth: int) -> None:
    """Ours, not the engine's: what cannot be kept is said, and what was kept stands."""
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    before = faults.complete(world.repo / ".git/agent")
    fault = Fault("fill the disk", "", nth, str(tmp_path / "happened"))
    done = under(world, fault, "resume", "--message=MK2 go on")
    assert "Traceback" not in done.err
    assert "a bug in git-agent" not in done.err
    assert fault.happened() == ("No space left" in done.err or "disk is full" in done.err), done.err
    after(world, before)
    world.resume("MK3 and on")
    world.carried("MK1", "MK3")


@EACH
def test_the_clock_jumps_back_in_an_attempt(world: World, tmp_path: Path) -> None:
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    before = faults.complete(world.repo / ".git/agent")
    fault = Fault("jump the clock", "output-came", 1, str(tmp_path / "happened"))
    done = under(world, fault, "resume", "--message=MK2 go on")
    assert (done.status, fault.happened()) == (0, True), done.err
    after(world, before)
    world.resume("MK3 and on")
    world.carried("MK1", "MK2", "MK3")


@EACH
@pytest.mark.parametrize("step", ["engine-spawned", "output-came", "engine-ended"])
def test_the_work_tree_is_removed_in_an_attempt(world: World, tmp_path: Path, step: str) -> None:
    """Its runs are elsewhere. It goes on where its branch is checked out again, or says why not."""
    place = tmp_path / "tree"
    world.git("worktree", "add", "-q", "-b", "other", str(place))
    there = world._replace(repo=place)
    there.start("MK1 begin", *ALLOW[world.pin.engine])
    handle = there.facts()["handle"]
    before = faults.complete(world.repo / ".git/agent")
    fault = Fault("remove the work tree", step, 1, str(tmp_path / "happened"), str(place))
    under(there, fault, "resume", "--message=MK2 go on")
    assert fault.happened()
    after(world, before)
    assert faults.says_why(world.agent("resume", "--handle", handle, "--message=MK3 not here"))
    world.git("worktree", "prune")
    world.git("worktree", "add", "-q", "-f", str(place), "other")
    there.resume("MK4 and on")
    there.carried("MK1", "MK4")
