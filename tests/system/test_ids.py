"""An id that names no session, or another one: a new conversation never begins unnoticed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from git_agent_fixtures import home
from system.stores import forget, forget_copies, sessions
from system.support import World, refused

UNKNOWN = {"opencode": f"ses_{'0' * 26}"}
UUID_OF_NOBODY = "11111111-2222-4333-8444-555555555555"
# Versions that begin a new conversation and exit 0 when they do not know the id.
BEGIN_ANEW = {"codex-0.65.0", "gemini-0.36.0"}


@pytest.mark.one_of("gone")
def test_an_id_that_names_no_session_starts_nothing(world: World) -> None:
    world.start("MK1 add a retry")
    session = world.session()
    unknown = UNKNOWN.get(world.pin.engine, UUID_OF_NOBODY)
    values = {
        "unknown": unknown,
        "empty": "",
        "blank": " ",
        "malformed": "not-an-id",
        "upper case": session.upper(),
        "cut": session[:-1],
        "longer": f"{session}0",
        "with a blank": f" {session}",
        "a file's name": f"{session}.jsonl",
        "a number": "1",
        "a word of the engine": "latest",
        "a flag": "--last",
        "with a line end": f"{session}\n",
    }
    before = _everything(world)
    codes = {}
    for name, value in values.items():
        done = refused(world.agent("resume", "--json", f"--session={value}", "--message=MK2 and go on"))
        codes[name] = json.loads(done.out)["error"]["code"]
    assert codes == {name: "session_missing" if name == "unknown" else "session_malformed" for name in values}
    assert _everything(world) == before
    world.resume("MK3 and go on")
    world.carried("MK1", "MK3")
    assert world.session() == session


@pytest.mark.one_of("other")
def test_another_sessions_id_resumes_that_conversation_and_says_so(world: World) -> None:
    """Given on the command line, or written into the record by hand: the id decides, and is reported as it is."""
    world.start("MK1 add a retry")
    mine, handle = world.session(), world.facts()["handle"]
    world.start("MK2 write the docs")
    other = world.session()
    done = world.agent("resume", handle, "MK3 and go on", "--session", other)
    assert done.status == 0, done.err
    world.carried("MK2", "MK3")
    assert "MK1" not in world.requests()[-1].markers
    assert other in done.err
    facts = world.facts(handle)
    assert (facts["session"]["value"], facts["parentSession"]) == (other, mine)
    assert facts["attempts"][-1]["resumed"] == "yes"
    _edit(world, handle, other, mine)
    assert world.agent("resume", handle, "MK4 and go on").status == 0
    world.carried("MK1", "MK4")
    assert not {"MK2", "MK3"} & set(world.requests()[-1].markers)
    assert world.facts(handle)["session"]["value"] == mine
    assert sessions(world) == {mine, other}


@pytest.mark.one_of("gone")
def test_a_session_that_the_engine_has_lost_is_refused(world: World) -> None:
    """As is an id that nobody ever had, which somebody wrote into the record."""
    world.start("MK1 add a retry")
    session, handle = world.session(), world.facts()["handle"]
    forget(world, session)
    forget_copies(world)
    before = _everything(world)
    done = refused(world.agent("resume", "--json", "--message=MK2 and go on"), session, "--fallback fresh")
    assert json.loads(done.out)["error"]["code"] == "session_missing"
    refused(world.agent("resume", "--strict", "--message=MK2 and go on"), "fatal: Session resumption failed: ", session)
    assert _everything(world) == before
    unknown = UNKNOWN.get(world.pin.engine, UUID_OF_NOBODY)
    _edit(world, handle, session, unknown)
    before = _everything(world)
    refused(world.agent("resume", "--message=MK2 and go on"), unknown)
    assert _everything(world) == before


@pytest.mark.one_of("other")
def test_a_new_conversation_in_the_place_of_the_old_one_is_found_out(world: World, tmp_path: Path) -> None:
    """The store that we can see has the session, the engine's has not: a launcher moved its home, as containers do."""
    world.start("MK1 add a retry")
    session = world.session()
    world.git("config", f"agent.{world.pin.engine}.binary", str(_launcher_elsewhere(world, tmp_path)))
    asked = len(world.requests())
    done = world.agent("resume", "--message=MK2 and go on")
    facts = world.facts()
    assert facts["session"]["value"] == session
    assert done.status not in (0, 128, 129), done.err
    if str(world.pin) in BEGIN_ANEW:
        assert [entry.markers for entry in world.requests()[asked:]] == [("MK2",)]
        assert f"warning: NOT resumed: {world.pin.engine} began a new conversation" in done.err
        assert facts["attempts"][-1]["resumed"] == "as_new"
        assert facts["attempts"][-1]["reportedSession"] not in (None, session)
    else:
        assert len(world.requests()) == asked
        assert facts["status"] in ("session_missing", "no_output"), done.err
    world.git("config", f"agent.{world.pin.engine}.binary", str(world.binary))
    world.resume("MK3 and go on")
    world.carried("MK1", "MK3")
    assert "MK2" not in world.requests()[-1].markers
    assert world.session() == session


def _everything(world: World) -> tuple[object, ...]:
    """What the server was asked, side requests too; what the engine keeps; what we keep."""
    kept = world.repo / ".git" / "agent"
    ours = {path: path.read_bytes() for place in ("index", "runs") for path in (kept / place).rglob("*.*")}
    return len(world.server.requests()), sessions(world), ours


def _edit(world: World, handle: str, old: str, new: str) -> None:
    """As a person does it, in an editor."""
    record = world.repo / ".git" / "agent" / "index" / f"{handle}.yaml"
    lines = record.read_text().split("\n")
    (at,) = (number for number, line in enumerate(lines) if line.startswith("session: ") and old in line)
    lines[at] = lines[at].replace(old, new)
    record.write_text("\n".join(lines))


def _launcher_elsewhere(world: World, tmp_path: Path) -> Path:
    place = home.make(world.pin, tmp_path / "elsewhere", world.server.url)
    words = [f"{name}={value}" for name, value in place.env.items()]
    launcher = tmp_path / world.pin.engine
    launcher.write_text(f'#!/bin/sh\nexec env {shlex.join([*words, str(world.binary)])} "$@"\n')
    launcher.chmod(0o755)
    return launcher
