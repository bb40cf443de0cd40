"""The promise itself: what was said before reaches the model again."""

from __future__ import annotations

from system.support import ALLOW, World


def test_a_resume_carries_the_history(world: World) -> None:
    """The engine is told the first message before the second, and the server saw both."""
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    world.carried("MK1")
    world.resume("MK2 TOOLCALL address the review")
    world.carried("MK1", "MK2")
    assert str(world.repo.resolve()) in world.requests()[-1].tool_results[-1]
