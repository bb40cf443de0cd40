"""A conversation that goes to another engine and back, and a second one from it: by what the models were shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import Pin, install, pinned
from git_agent_runner.conversation import formats
from git_agent_runner.conversation.place import stored
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import Piece, StoreQuery, parse_version
from support.waiting import PATIENCE
from system.conftest import CACHE
from system.support import ALLOW, World, succeeded

SIX = tuple(pinned(engine) for engine in formats.KNOWN)
NEWER = {"qwen", "copilot"}  # with claude only: each reads and writes the same messages as all others
PAIRS = [
    (one, other)
    for one in SIX
    for other in SIX
    if one != other and ("claude" in (one.engine, other.engine) or NEWER.isdisjoint((one.engine, other.engine)))
]
Beside = Callable[[Pin], None]


@pytest.fixture
def beside(world: World, tmp_path: Path) -> Beside:
    """Puts another engine into the same home."""

    def put(pin: Pin) -> None:
        place = home.make(pin, tmp_path / str(pin), world.server.url)
        shutil.copytree(place.root, world.home.root, dirs_exist_ok=True)
        paths = f"{world.home.env['PATH']}:{place.env['PATH']}"
        own = {name: value.replace(str(place.root), str(world.home.root)) for name, value in place.env.items()}
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            if name not in own:
                world.home.env.pop(name, None)
        world.home.env.update({**own, "PATH": paths})
        world.git("config", f"agent.{pin.engine}.binary", str(install(pin, CACHE)))

    return put


def pieces(world: World, pin: Pin, session: str) -> tuple[Piece, ...]:
    """What that engine's store has of the session."""
    found = stored(
        load(pin.engine), StoreQuery(world.home.env, str(world.repo), parse_version(pin.version) or (), session)
    )
    assert found
    return found.pieces


def told(world: World, *texts: str) -> None:
    """Assert that the newest request has each of the person's texts as a turn of its own, and the last one newest."""
    users = [user.text for user in world.requests()[-1].users]
    assert [text for text in users if text in texts] == list(texts)
    assert users[-1] == texts[-1]


OLD = [(pinned("codex"), pinned("claude", "1.0.128")), (pinned("claude"), pinned("codex", "0.65.0"))]


@pytest.mark.long_matrix(18)
@pytest.mark.parametrize(("pin", "other"), [*PAIRS, *OLD], ids=str, scope="session")
def test_a_conversation_goes_to_another_engine_and_back(world: World, other: Pin, beside: Beside) -> None:
    beside(other)
    world.start("MK1 TOOLCALL begin", *ALLOW[world.pin.engine])
    session, first = world.session(), world.requests()[-1].tool_results[-1]
    before = pieces(world, world.pin, session)
    flags = ("--", *ALLOW[other.engine]) if ALLOW[other.engine] else ()
    succeeded(world.agent("resume", "-e", other.engine, "MK2 TOOLCALL in the other", *flags))
    told(world, "MK1 TOOLCALL begin", "MK2 TOOLCALL in the other")
    answers = "\n".join(world.requests()[-1].answers)
    assert "user turns 1, markers MK1" in answers
    assert str(world.repo) in first
    assert answers.index("was run with") < answers.index(str(world.repo)) < answers.index("user turns 1, markers MK1")
    assert pieces(world, world.pin, session) == before
    facts = world.facts()
    assert (facts["engine"], facts["parentSession"]) == (other.engine, session)
    assert [one["session"]["value"] for one in facts["earlierSessions"]] == [session]
    world.resume("MK3 on")
    told(world, "MK1 TOOLCALL begin", "MK2 TOOLCALL in the other", "MK3 on")
    succeeded(world.agent("resume", "-e", world.pin.engine, "MK4 back"))
    told(world, "MK1 TOOLCALL begin", "MK2 TOOLCALL in the other", "MK3 on", "MK4 back")
    assert "user turns 3, markers MK1 MK2 MK3" in "\n".join(world.requests()[-1].answers)
    assert pieces(world, world.pin, session) == before


@pytest.mark.long_matrix(12)
@pytest.mark.parametrize("pin", SIX, ids=str, scope="session")
def test_a_fork_and_the_first_go_on_at_once(world: World) -> None:
    world.start("MK1 TOOLCALL begin", *ALLOW[world.pin.engine])
    first = world.facts()
    session = first["session"]["value"]
    made = world.commit("work")
    world.resume("MK2 on")
    before = pieces(world, world.pin, session)
    world.git("worktree", "add", "-q", "-b", "try-b", "../try-b")
    done = succeeded(
        world.agent("fork", first["handle"], "--commit", made, "MK3 in the fork", cwd=world.repo.parent / "try-b")
    )
    told(world, "MK1 TOOLCALL begin", "MK3 in the fork")
    assert f"{world.pin.engine} session {session} of run {first['handle']} was forked as" in done.err
    assert pieces(world, world.pin, session) == before
    both = [
        world.spawn("resume", "MK4 in the first"),
        world.spawn("resume", "--branch", "try-b", "--cwd", str(world.repo.parent / "try-b"), "MK5 in the fork"),
    ]
    assert [process.wait(PATIENCE) for process in both] == [0, 0], [process.communicate() for process in both]
    newest = {entry.markers[-1]: list(dict.fromkeys(entry.markers)) for entry in world.requests()}
    assert (newest["MK4"], newest["MK5"]) == (["MK1", "MK2", "MK4"], ["MK1", "MK3", "MK5"])


@pytest.mark.long_matrix(64)
@pytest.mark.parametrize(("pin", "other"), PAIRS[:1], ids=str, scope="session")
def test_a_conversation_of_300_turns_is_shown_whole(world: World, other: Pin, beside: Beside) -> None:
    beside(other)
    world.start("MK1 begin")
    session = world.session()
    (path,) = world.home.root.glob(f".claude/projects/*/{session}.jsonl")
    said = [line for line in map(json.loads, path.read_text().splitlines()) if line["type"] in ("user", "assistant")]
    with path.open("a") as file:
        for number in range(2, 301):
            for line in said[:2]:
                name = f"00000000-0000-4000-8000-{number * 2 + (line['type'] == 'user'):012}"
                text = [{"type": "text", "text": f"MK{number} {line['type']}"}]
                more = {"uuid": name, "parentUuid": said[-1]["uuid"], "message": {**line["message"], "content": text}}
                said.append({**line, **more})
                file.write(json.dumps(said[-1]) + "\n")
    succeeded(world.agent("resume", "-e", other.engine, "MK301 in the other"))
    world.carried(*(f"MK{number}" for number in range(1, 302)))
    assert len(world.requests()[-1].answers) == 300
