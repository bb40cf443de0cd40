"""The session in the README is what a person gets: it is run on a terminal, with the engine it names, and compared."""

from __future__ import annotations

import pytest

from git_agent_fixtures.engines import pinned
from support import docs
from system.console import replayed, same_words
from system.support import World, succeeded

README = (docs.ROOT / "README.md").read_text()
SCRIPTS = (docs.ROOT / "docs/scripts.md").read_text()
PERMISSIONS = (docs.ROOT / "docs/permissions.md").read_text()
PIN = pinned("claude")


@pytest.mark.parametrize("pin", [PIN], ids=str, scope="session")
def test_the_readme_shows_what_happens(world: World) -> None:
    """Every command of the `console` blocks of README, then of docs/scripts.md, in a repository with one commit."""
    begin(world)
    here = {
        str(world.repo): "/home/ann/shop",
        str(world.binary): "/usr/local/bin/claude",
        str(world.home.root): "/home/ann",
    }
    told, shown = replayed(world, README + SCRIPTS, here)
    assert same_words(told) == same_words(shown)
    assert len(world.requests()) == 2
    assert [text.head for text in world.requests()[-1].users] == [
        "add a retry to the client",
        "address the review comments",
    ]


@pytest.mark.parametrize("pin", [PIN], ids=str, scope="session")
def test_the_permissions_page_shows_what_happens(world: World) -> None:
    """Faults F12: the flag of the hint lets the agent write what it was refused before."""
    begin(world)
    told, shown = replayed(world, PERMISSIONS, {str(world.binary): "/usr/local/bin/claude"})
    assert same_words(told) == same_words(shown)


def test_the_pages_name_the_engine_of_their_sessions() -> None:
    assert f"Printed by {PIN.engine} {PIN.version}" in README
    assert f"Printed by {PIN.engine} {PIN.version}" in PERMISSIONS


@pytest.mark.parametrize("pin", [PIN], ids=str, scope="session")
def test_the_hook_of_the_scripts_page_resumes_before_a_push(world: World) -> None:
    """Without a run it lets the push go; with one the agent is asked, and the refs on its stdin stay the hook's."""
    (hook,) = (body for body in docs.blocks(SCRIPTS, "sh") if body.startswith("#!/bin/sh"))
    file = world.repo / ".git/hooks/pre-push"
    file.parent.mkdir(exist_ok=True)
    file.write_text(hook)
    file.chmod(0o755)
    world.git("init", "-q", "--bare", str(world.home.root / "there.git"))
    push = ("git", "push", "-q", str(world.home.root / "there.git"), "HEAD")
    assert succeeded(world.run(*push)) == (0, "", "")
    world.start("add a retry")
    world.commit("Add a retry")
    assert succeeded(world.run(*push)).err.count("attempt 2") == 1
    assert [text.head for text in world.requests()[-1].users] == ["add a retry", "run the tests; fix nothing"]


def begin(world: World) -> None:
    """The world's repository as a person's: on main, its engine on PATH, one file committed."""
    world.git("switch", "-q", "main")
    world.git("branch", "-q", "-D", "feature/retry")
    world.commit("Add a client", client="def fetch(): ...\n")
    world.git("config", "--unset", f"agent.{PIN.engine}.binary")
    world.home.env["PATH"] = f"{world.binary.parent}:{world.home.env['PATH']}"
