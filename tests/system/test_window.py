"""`resume --terminal` with real engines in a real tmux: the session goes on in the new window, and is recorded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import NEWEST
from support.cli import TERMINALS
from support.waiting import comes, until
from system.support import World, alive, succeeded

MESSAGE = "- [ ] MK2; $(touch canary) 'it' \"is\" \\ and go on"


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
        until(lambda: "MK2" in [mark for entry in world.requests() for mark in entry.markers], "it goes on")
        assert MESSAGE in [text.text for text in world.requests()[-1].users]
        world.carried("MK1", "MK2")
        until(lambda: "markersMK1MK2" in "".join(ask("capture-pane", "-p", "-t", ":1").split()), "it is shown")

        for patience in (0.2, 5.0) * 20:  # some want to be asked twice, soon after another
            if len(_windows(ask)) > 1:
                ask("send-keys", "-t", ":1", "C-c")
                comes(lambda: len(_windows(ask)) == 1, patience)
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
