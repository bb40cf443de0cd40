"""The promise itself: what was said before reaches the model again."""

from __future__ import annotations

import pytest

from system.stores import sessions
from system.support import ALLOW, World


@pytest.mark.every_version
def test_a_resume_carries_the_history(world: World) -> None:
    """No id is typed, nothing is chosen: the branch is enough. The engine has one conversation, and we know its id."""
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    world.carried("MK1")
    assert sessions(world) == {world.session()}
    world.resume("MK2 TOOLCALL address the review")
    world.carried("MK1", "MK2")
    world.ran_in(world.repo)
    assert sessions(world) == {world.session()}
    assert world.facts()["engineVersion"] == world.pin.version
