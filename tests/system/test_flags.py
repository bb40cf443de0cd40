"""What was given to the engine at the start is in force on every resume, and nothing else is."""

from __future__ import annotations

import shlex

import pytest

from git_agent_fixtures.engines import PINS, install, pinned
from system.conftest import CACHE
from system.support import ALLOW, World, refused, succeeded

# Two models that are not the configured one: as the flag names them, and as the server is asked for them.
_MODELS = {
    "claude": ("claude-sonnet-4-5-20250929", "claude-opus-4-6"),
    "codex": ("gpt-5-other", "gpt-5-third"),
    "gemini": ("gemini-2.5-flash", "gemini-2.5-pro"),
    "opencode": ("scripted/scripted-2", "scripted/scripted-1"),
    "qwen": ("scripted-2", "scripted-3"),
    "copilot": ("scripted-2", "scripted-3"),
}
_ASKS_NOBODY = ("opencode",)  # its default lets every tool run


@pytest.mark.every_engine
@pytest.mark.one_of("flag")
def test_model_and_permission_of_the_start_are_in_force_on_resume(world: World) -> None:
    """The server was asked for that model, and the file that the agent was allowed to write is there."""
    first, second = _MODELS[world.pin.engine]
    world.start("MK1 WRITEFILE one", "--model", first, *ALLOW[world.pin.engine])
    assert _model(world) == first.rpartition("/")[2]
    assert (world.repo / "one").exists()
    world.resume("MK2 WRITEFILE two")
    world.carried("MK1", "MK2")
    assert _model(world) == first.rpartition("/")[2]
    assert (world.repo / "two").exists()
    world.resume("MK3 WRITEFILE three", "--model", second)
    assert _model(world) == second.rpartition("/")[2]
    world.resume("MK4 and now")
    world.carried("MK1", "MK2", "MK3", "MK4")
    assert _model(world) == second.rpartition("/")[2]
    assert (world.repo / "three").exists()


@pytest.mark.every_engine
@pytest.mark.one_of("flag")
@pytest.mark.parametrize("pin", [pin for pin in PINS if pin.engine not in _ASKS_NOBODY], ids=str, scope="session")
def test_what_was_not_allowed_stays_forbidden_until_the_person_allows_it(world: World) -> None:
    """Nothing is added: the first two attempts may not write. What a resume is given, the next one has too."""
    world.start("MK1 WRITEFILE one")
    told = world.resume("MK2 WRITEFILE two").err
    world.carried("MK1", "MK2")
    assert not (world.repo / "one").exists()
    assert not (world.repo / "two").exists()
    assert world.facts()["launch"]["args"] == []
    # As a person pastes it, with a message: of several the last one allows commands, too.
    hint = [line for line in told.splitlines() if line.startswith("hint: to allow ") and " -- " in line][-1]
    command = hint.partition(": git agent ")[2].replace("<message>", "MK3 WRITEFILE three")
    succeeded(world.agent(*shlex.split(command)))
    world.resume("MK4 WRITEFILE four")
    world.carried("MK1", "MK2", "MK3", "MK4")
    assert (world.repo / "three").exists()
    assert (world.repo / "four").exists()


@pytest.mark.every_engine
@pytest.mark.one_of("flag")
def test_each_mode_lets_the_agent_do_what_it_says(world: World) -> None:
    """A mode takes the place of the one before: side by side the wider would win in silence (claude, codex)."""
    world.home.env["IS_SANDBOX"] = "1"  # else claude refuses the flag of `full` to root
    world.git("config", "agent.mode", "full")
    world.start("MK1 WRITEFILE one")
    assert (world.repo / "one").exists()
    if world.pin.engine in _ASKS_NOBODY:
        refused(world.agent("resume", "--mode", "read", "MK2"), "'read'")
    else:
        succeeded(world.agent("resume", "--mode", "read", "MK2 WRITEFILE two"))
        world.resume(f"MK3 EDITFILE {world.repo}/three")
        assert not (world.repo / "two").exists()
        assert not (world.repo / "three").exists()
    succeeded(world.agent("resume", "--mode", "edit", f"MK4 EDITFILE {world.repo}/four"))
    assert (world.repo / "four").exists()
    world.carried("MK1", "MK4")


@pytest.mark.parametrize("pin", [pinned("gemini")], ids=str, scope="session")
def test_trust_is_asked_for_by_its_flag_and_never_given(world: World) -> None:
    """In a folder that gemini does not trust: exit 55 and the flag in a hint. Given once, it is passed again."""
    del world.home.env["GEMINI_CLI_TRUST_WORKSPACE"]
    done = world.agent("start", "-e", "gemini", "MK1 untrusted")
    assert done.status == 55
    assert any(line.startswith("hint: ") and "-- --skip-trust" in line for line in done.err.splitlines())
    assert world.facts()["status"] == "untrusted"
    assert world.requests() == ()
    world.start("MK2 trusted", "--skip-trust")
    world.resume("MK3 still trusted")
    world.carried("MK2", "MK3")


@pytest.mark.parametrize("pin", [pinned("codex", "0.65.0")], ids=str, scope="session")
def test_a_flag_that_the_installed_version_lost_is_refused_by_name(world: World) -> None:
    world.start("MK1 WRITEFILE one", "--full-auto")
    assert (world.repo / "one").exists()
    world.git("config", "agent.codex.binary", str(install(pinned("codex"), CACHE)))
    refused(world.agent("resume", "MK2"), "--full-auto", "0.171.0")
    assert len({entry.markers for entry in world.requests()}) == 1
    assert world.facts()["attempts"][-1]["number"] == 1


def _model(world: World) -> str:
    return world.requests()[-1].model
