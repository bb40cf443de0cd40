"""`resume --terminal` with real engines in a real tmux: the session goes on in the new window, and is recorded."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import NEWEST
from support.cli import TERMINALS
from system.support import World, alive, succeeded

PATIENCE = 120  # seconds until a hang is called one
MESSAGE = "- [ ] MK2; $(touch canary) 'it' \"is\" \\ and go on"


def _wait(look: Callable[[], object], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while not look():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


@pytest.mark.parametrize("pin", [pin for pin in NEWEST if pin.engine in ("claude", "codex")], ids=str, scope="session")
def test_a_session_goes_on_in_a_new_window(world: World) -> None:
    home.trust(world.pin, world.home, world.repo)
    world.start("MK1 add a retry")
    session = world.session()
    world.home.env["PATH"] += f":{TERMINALS}"
    program = shutil.which("tmux", path=world.home.env["PATH"])
    assert program
    tmux = (program, "-S", str(world.repo.parent / "tmux"), "-f", os.devnull)

    def ask(*words: str) -> str:
        return succeeded(world.run(*tmux, *words)).out

    ask("new-session", "-d", "-x", "120", "-y", "40", "exec sleep 600")
    try:
        inside = ask("display-message", "-p", "#{socket_path},#{pid},0").strip()
        succeeded(world.agent("resume", "--terminal", f"--message={MESSAGE}", TMUX=inside))
        assert _wait(lambda: "MK2" in [mark for entry in world.requests() for mark in entry.markers], PATIENCE)
        assert MESSAGE in [text.text for text in world.requests()[-1].users]
        world.carried("MK1", "MK2")
        assert _wait(lambda: "markersMK1MK2" in "".join(ask("capture-pane", "-p", "-t", ":1").split()), PATIENCE)

        for patience in (0.2, 5.0) * 20:  # some want to be asked twice, soon after another
            if len(_windows(ask)) > 1:
                ask("send-keys", "-t", ":1", "C-c")
                _wait(lambda: len(_windows(ask)) == 1, patience)
        assert len(_windows(ask)) == 1, ask("capture-pane", "-p", "-t", ":1")
    finally:
        ask("kill-server")
    attempt = world.facts()["attempts"][1]
    assert (attempt["kind"], attempt["resumed"]) == ("resume", "yes")
    assert world.session() == session
    assert not list(world.repo.rglob("canary"))
    assert alive(world.home) == []


def _windows(ask: Callable[..., str]) -> list[str]:
    return ask("list-windows").splitlines()
