"""An engine that loses a session does not cost it: the run's own copy comes back, and with it the whole history."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from git_agent_fixtures.engines import NEWEST, PINS
from git_agent_runner.engines.opencode.store import export
from git_agent_runner.engines.spec import StoreQuery, parse_version
from system.stores import forget, sessions
from system.support import ALLOW, World, succeeded

RETENTIVE = [pin for pin in NEWEST if pin.engine == "gemini"]
EXPORTING = [pin for pin in PINS if pin.engine == "opencode" and (parse_version(pin.version) or ()) >= (1, 2)]


def test_a_session_that_the_engine_has_lost_comes_back_whole(world: World) -> None:
    if world.pin.engine == "opencode" and world.pin not in EXPORTING:
        lost_for_good(world)
        return
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    world.resume("MK2 address the review")
    session = world.session()
    forget(world, session)
    assert session not in sessions(world)
    assert world.facts()["resumable"] is True
    done = world.resume("MK3 TOOLCALL and go on")
    assert f"{world.pin.engine} had lost session {session}: the backup of " in done.err
    world.carried("MK1", "MK2", "MK3")
    world.ran_in(world.repo)
    assert world.session() == session
    assert sessions(world) == {session}
    assert world.facts()["attempts"][-1]["resumed"] == "yes"
    world.resume("MK4 once more")
    world.carried("MK1", "MK2", "MK3", "MK4")


def lost_for_good(world: World) -> None:
    """opencode before 1.2 keeps a session in many files, of which no copy is made."""
    world.start("MK1 add a retry")
    assert list(world.repo.glob(".git/agent/runs/*/session/*/manifest.json")) == []


@pytest.mark.parametrize("pin", RETENTIVE, ids=str, scope="session")
def test_a_resumed_conversation_survives_gemini_s_retention(world: World) -> None:
    """With default settings a session that was resumed in a later minute goes when another one is started here."""
    settings = world.home.root / ".gemini/settings.json"
    known = json.loads(settings.read_text())
    known.get("general", {}).pop("sessionRetention", None)
    settings.write_text(json.dumps(known))
    world.start("MK1 add a retry")
    handle, session = world.facts()["handle"], world.session()
    next_minute()
    world.resume("MK2 address the review")
    next_minute()
    world.start("MK9 another piece of work")
    assert "MK1" not in all_text(world, session)  # gemini has deleted it
    done = succeeded(world.agent("resume", handle, "MK3 and go on"))
    assert f"gemini had lost session {session}: the backup of " in done.err
    world.carried("MK1", "MK2", "MK3")
    assert world.facts(handle)["session"]["value"] == session


def next_minute() -> None:
    """Files are named after the minute, by the wall clock; nothing is asserted about time."""
    minute = int(time.time() // 60)
    while int(time.time() // 60) == minute:
        time.sleep(0.5)


def all_text(world: World, session: str) -> str:
    files = world.home.root.glob(f".gemini/tmp/*/chats/session-*-{session[:8]}.json*")
    return "".join(file.read_text() for file in files)


@pytest.mark.parametrize("pin", EXPORTING, ids=str, scope="session")
def test_the_copy_of_an_opencode_session_is_what_its_export_prints(world: World, tmp_path: Path) -> None:
    world.start("MK1 TOOLCALL add a retry")
    world.resume("MK2 go on")
    session, printed = world.session(), tmp_path / "exported.json"
    # Into a file: what 1.18.33 writes into a pipe ends after 128 KiB.
    succeeded(world.run("sh", "-c", 'exec "$0" export "$1" >"$2"', str(world.binary), session, str(printed)))
    version = parse_version(world.pin.version) or ()
    ours = export(StoreQuery(world.home.env, str(world.repo), version, session))
    assert ours is not None
    assert json.loads(ours) == json.loads(printed.read_text())
