"""How long tests wait for what must come: no limit decides anything, and one that is reached is a hang."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 300.0  # seconds
T = TypeVar("T")


def until(look: Callable[[], T], what: str) -> T:
    """The first true answer of `look`, asked again and again; a test that waits in vain fails with `what`."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)
    return found


def comes(look: Callable[[], object], seconds: float) -> bool:
    """Does it become true by then? For what is asked for again where it does not."""
    deadline = time.monotonic() + seconds
    while not look():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
