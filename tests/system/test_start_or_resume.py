"""`git agent start --resume`: one line that goes on where there is something to continue."""

from __future__ import annotations

import pytest

from system.stores import forget, forget_copies, sessions
from system.support import World, refused, succeeded


@pytest.mark.engine_independent
def test_start_or_resume(world: World) -> None:
    """It starts, it resumes; when the engine has lost the session it says so and starts again, unless it must not."""
    words = ("start", "--resume", "-e", world.pin.engine)
    succeeded(world.agent(*words, "MK1 nothing to resume yet"))
    handle, first = world.facts()["handle"], world.session()
    succeeded(world.agent(*words, "MK2 go on"))
    world.carried("MK1", "MK2")
    forget(world, first)
    forget_copies(world)
    asked = len(world.requests())
    refused(world.agent(*words, "--strict", "MK3 that one or none"), "Session resumption failed: ", first)
    assert len(world.requests()) == asked
    done = succeeded(world.agent(*words, "MK4 then anew"))
    assert f"NOT resumed: session {first}" in done.err
    assert world.requests()[-1].markers == ("MK4",)
    facts = world.facts()
    assert (facts["handle"], facts["parentSession"]) == (handle, first)
    assert sessions(world) == {world.session()} != {first}
