"""The engines' own interface, in the person's terminal: `start -i`, `resume -i`, and a headless resume after them."""

from __future__ import annotations

import stat

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import NEWEST
from git_agent_runner.conversation import place
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery
from system.stores import sessions
from system.support import World, alive
from system.terminal import terminal


@pytest.mark.parametrize("pin", NEWEST, ids=str, scope="session")
def test_a_session_begun_in_a_terminal_goes_on_there_and_without_one(world: World) -> None:
    """Messages begin like an option, which they must not become."""
    home.trust(world.pin, world.home, world.repo)
    _in_a_terminal(world, "MK1", "start", "-i", "-e", world.pin.engine, "--prompt=- [ ] MK1 add a retry")
    session = world.session()
    assert sessions(world) == {session}
    _in_a_terminal(world, "MK2", "resume", "-i", "--message=- [ ] MK2 and go on")
    world.carried("MK1", "MK2")
    assert world.session() == session
    world.resume("MK3 and go on")
    world.carried("MK1", "MK2", "MK3")
    assert world.session() == session
    assert sessions(world) == {session}
    facts = world.facts()
    for attempt in ("0001", "0002"):
        recorded = world.repo / ".git" / "agent" / "runs" / facts["runId"] / "attempts" / attempt / "pty-output"
        assert stat.S_IMODE(recorded.stat().st_mode) == 0o600
        assert b"\x1b[" in recorded.read_bytes()


def _kept_unseen(world: World, answer: str) -> bool:
    """Copilot 1.0.102 was seen to draw nothing of a reply that came while it still opened the session."""
    logs = (world.home.root / ".copilot/session-state").glob("*/events.jsonl")
    return any(answer in log.read_text() for log in logs)


def _in_a_terminal(world: World, mark: str, *words: str) -> None:
    """One turn: the message reaches the model, its answer is drawn, and leaving restores the terminal."""
    with terminal(world, *words) as shown:
        before = shown.modes
        shown.until(lambda: mark in [name for entry in world.requests() for name in entry.markers], "it is asked")
        (asked,) = [text for text in world.requests()[-1].users if mark in text.head]
        assert asked.text == words[-1].partition("=")[2]
        answer = " ".join(("markers", "MK1", "MK2")[: 2 + (mark == "MK2")])
        shown.until(lambda: answer.replace(" ", "") in shown.text() or _kept_unseen(world, answer), "it is answered")
        shown.until(lambda: _is_over(world), "the turn is over in the store")
        assert shown.leave() == 0, shown.text()[-2000:]
        assert shown.modes == before
    assert alive(world.home) == []


def _is_over(world: World) -> bool:
    """An interface that is left before its engine has written the end of the turn is interrupted (faults G1)."""
    engine = load(world.pin.engine, world.home.env)
    version = engine.parse_version(world.pin.version) or ()
    query = StoreQuery(world.home.env, str(world.repo), version)
    found = [place.stored(engine, query._replace(session=session)) for session in sessions(world)]
    assert engine.ended
    return [engine.ended(piece.data) for one in found if one for piece in one.pieces][-1:] == [True]
