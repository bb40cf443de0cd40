"""A real engine makes a check pass in a copy, while a person goes on typing."""

from __future__ import annotations

import json

import pytest

from git_agent_fixtures.engines import pinned
from system.support import ALLOW, World, succeeded


@pytest.mark.parametrize("pin", [pinned("claude"), pinned("codex")], ids=str, scope="session")
def test_the_check_passes_and_what_was_typed_meanwhile_is_there(world: World) -> None:
    """claude lets an agent change nothing below a `.git`.

    The check types, too: before the agent works, and again after it, before its patch is put in place.
    """
    (world.repo / "f").write_text("bad\n")
    world.git("add", "f")
    head = world.git("rev-parse", "HEAD")
    check = world.home.root / "check"
    typed = f"for name in readme new; do echo typed >>'{world.repo}'/$name; done"
    check.write_text(f"#!/bin/sh\n{typed}\ngrep written-by-the-agent f\n")
    check.chmod(0o755)
    engine = world.pin.engine
    words = (
        "fix",
        "-e",
        engine,
        "--check",
        str(check),
        "WRITEFILE f",
        "--",
        *(("--permission-mode", "acceptEdits") if engine == "claude" else ALLOW[engine]),
    )
    done = succeeded(world.agent(*words))
    assert (world.git("show", ":f"), (world.repo / "f").read_text()) == (
        "written-by-the-agent",
        "written-by-the-agent\n",
    ), done
    assert (world.repo / "readme").read_text() == "scratch\ntyped\ntyped\n"
    assert (world.repo / "new").read_text() == "typed\ntyped\n"
    assert world.git("status", "--porcelain") == "A  f\n M readme\n?? new"
    assert world.git("rev-parse", "HEAD") == head
    (run,) = json.loads(world.agent("list", "--all", "--json").out)["runs"]
    assert (run["role"], run["status"]) == ("fix", "completed")
    assert json.loads(world.agent("status", "--json").out)["error"]["code"] == "no_run"
