"""The session in the README is what a person gets: it is run on a terminal, with the engine it names, and compared."""

from __future__ import annotations

import os
import re

import pytest
from ptyprocess import PtyProcess

from git_agent_fixtures.engines import pinned
from support import docs
from system.support import World, succeeded

README = (docs.ROOT / "README.md").read_text()
PIN = pinned("claude")
# What differs from run to run. Equal words stay equal: each kind is numbered in the order in which its words appear.
_CHANGING = re.compile(
    r"""(?x)
    (?P<uuid>    \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b )
    | (?P<time>    \b\d{8}T\d{6}Z )
    | (?P<handle>  \b[0-9a-f]{8}\b )
    | (?P<commit>  \b[0-9a-f]{7}\b )
    | (?P<seconds> \b\d+(?=\ s\b) )
    """
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("pin", [PIN], ids=str, scope="session")
def test_the_readme_shows_what_happens(world: World) -> None:
    """Every command of the README's `console` blocks, in a new repository with one commit on main."""
    begin(world)
    steps = docs.session(README)
    replayed = "".join(f"$ {step.command}\n{on_terminal(world, step.command)}" for step in steps)
    shown = "".join(f"$ {step.command}\n{step.shows}" for step in steps)
    here = {str(world.repo): "/home/ann/shop", str(world.binary): "/usr/local/bin/claude"}
    assert same_words(renamed(replayed, here)) == same_words(shown)
    assert len(world.requests()) == 2
    assert [text.head for text in world.requests()[-1].users] == [
        "add a retry to the client",
        "address the review comments",
    ]


def test_the_readme_names_the_engine_of_its_session() -> None:
    assert f"printed by {PIN.engine} {PIN.version}" in README


@pytest.mark.parametrize("pin", [PIN], ids=str, scope="session")
def test_the_hook_in_the_readme_resumes_before_a_push(world: World) -> None:
    """Without a run it lets the push go; with one the agent is asked, and the refs on its stdin stay the hook's."""
    (hook,) = (body for body in docs.blocks(README, "sh") if body.startswith("#!/bin/sh"))
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


def on_terminal(world: World, command: str) -> str:
    """What a terminal shows of that command, its colours left out."""
    process = PtyProcess.spawn(
        ["/bin/sh", "-c", command], cwd=str(world.repo), env=world.home.env, dimensions=(50, 400), echo=False
    )
    shown = b""
    while True:
        try:
            shown += os.read(process.fd, 65536)
        except OSError:  # how Linux says that the terminal's other end is closed
            break
    process.close()
    return _COLOUR.sub("", shown.decode().replace("\r\n", "\n"))


def renamed(text: str, names: dict[str, str]) -> str:
    for here, there in names.items():
        text = text.replace(here, there)
    return text


def same_words(text: str) -> str:
    """The text with what changes from run to run replaced by `<kind number>`, and durations by `<seconds>`."""
    known: dict[str, str] = {}

    def word(found: re.Match[str]) -> str:
        kind = str(found.lastgroup)
        if kind == "seconds":
            return "<seconds>"
        number = 1 + sum(name.startswith(f"<{kind} ") for name in known.values())
        return known.setdefault(found[0], f"<{kind} {number}>")

    return _CHANGING.sub(word, text)
