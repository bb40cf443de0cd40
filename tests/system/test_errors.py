"""What goes wrong at the model's end is named, costs no session, and is no success, whatever the engine exits with."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from support.waiting import until
from system.stores import sessions
from system.support import World, refused

# Status words in the order of `TROUBLE`. Those that retry in silence, without end, are shown to be stalled.
TROUBLE = ("RATELIMIT", "AUTHFAIL", "OVERLOAD", "HANGUP")
_SILENT = "stalled"
# What the engine may have named on its standard error before it fell silent (gemini 0.36.0 does, of the first retry).
_NAMES = dict(zip(TROUBLE, ("rate_limited", "auth_failed", "overloaded", "network"), strict=True))
STATUS = {
    "codex-0.171.0": ("rate_limited", "auth_failed", "overloaded", "network"),
    "codex-0.65.0": ("rate_limited", "auth_failed", "overloaded", "network"),
    "claude-2.1.332": ("rate_limited", "auth_failed", "overloaded", "network"),
    "claude-1.0.128": ("rate_limited", "auth_failed", "overloaded", "network"),
    "gemini-0.61.0": (_SILENT, "auth_failed", _SILENT, "network"),
    "gemini-0.36.0": (_SILENT, "auth_failed", _SILENT, "network"),
    "opencode-1.18.33": ("rate_limited", "auth_failed", "overloaded", _SILENT),
    "opencode-1.2.27": (_SILENT, "auth_failed", _SILENT, _SILENT),
    "qwen-0.24.4": (_SILENT, "auth_failed", _SILENT, "completed"),  # it has a reply that broke off carried on
    "qwen-0.5.2": ("rate_limited", "auth_failed", "overloaded", "network"),
    "copilot-1.0.102": ("rate_limited", "auth_failed", "overloaded", "network"),
}

# Versions that take a first prompt back when it is answered by a 401: nothing is left to continue.
TAKE_BACK = {"gemini-0.61.0"}


@pytest.mark.one_of("trouble")
def test_trouble_at_the_model_is_named_and_the_session_goes_on(world: World, tmp_path: Path) -> None:
    world.git("config", "agent.stallAfter", "3")
    world.start("MK1 add a retry")
    session = world.session()
    for number, (word, status) in enumerate(zip(TROUBLE, STATUS[str(world.pin)], strict=True), 2):
        _meets(world, f"MK{number} {word}", status, tmp_path / word)
        assert world.session() == session
    world.resume("MK9 and go on")
    world.carried("MK1", "MK9")
    assert world.session() == session
    assert sessions(world) == {session}


@pytest.mark.one_of("trouble")
def test_trouble_in_the_first_reply_costs_no_session(world: World) -> None:
    """401 is the one of them that no engine retries for long."""
    done = world.agent("start", "-e", world.pin.engine, "--prompt=MK1 AUTHFAIL")
    assert done.status not in (0, 70, 128, 129), done.err
    assert f"{world.pin.engine}: auth_failed" in done.err
    facts = world.facts()
    assert facts["status"] == "auth_failed"
    assert {facts["session"]["value"]} == sessions(world)
    done = world.agent("resume", "--message=MK2 and go on")
    if str(world.pin) in TAKE_BACK:
        refused(done, "cannot be resumed", "its messages are missing")
        return
    assert done.status == 0, done.err
    assert "MK2" in world.requests()[-1].users[-1].head
    assert {facts["session"]["value"]} == sessions(world)


def _meets(world: World, message: str, status: str, told: Path) -> None:
    """The next resume meets this trouble; one that would go on for ever is interrupted once it was silent."""
    with told.open("w") as err:
        process = world.spawn("resume", f"--message={message}", stderr=err)
    if status == _SILENT:
        until(lambda: _asked(world, message) and "stalled: nothing printed for " in told.read_text(), "it is silent")
        process.send_signal(signal.SIGINT)
    process.communicate()
    attempt = world.facts()["attempts"][-1]
    assert _asked(world, message)
    if status == "completed":
        assert (process.returncode, attempt["status"]) == (0, status), told.read_text()
    elif status == _SILENT:
        # gemini tells of some retries, so that the end may come shortly after a word.
        assert attempt["status"] in ("stalled", "interrupted", _NAMES[message.rsplit(maxsplit=1)[-1]]), told.read_text()
        assert process.returncode == 130
    else:
        assert attempt["status"] == status, told.read_text()
        assert f"{world.pin.engine}: {status}" in told.read_text()
        assert process.returncode not in (0, 70, 128, 129)


def _asked(world: World, message: str) -> bool:
    """opencode before 1.15 puts a line end in front, and gemini takes back what was answered by a 401."""
    return any(message in (text.text or "") for entry in world.requests() for text in entry.users)
