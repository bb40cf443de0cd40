"""Going on in its own process, which nothing waits for and no terminal ends."""

from __future__ import annotations

import os
from collections.abc import Callable


def go_on(work: Callable[[], object]) -> None:
    """Do it in a grandchild that leads its own session, and return at once.

    It is this process as it stands: nothing has to be found out again, and what it holds is the same.
    """
    if child := os.fork():
        os.waitpid(child, 0)
        return
    status = 1
    try:
        os.setsid()
        if os.fork() == 0:
            _forget_streams()
            work()
        status = 0
    finally:
        os._exit(status)


def _forget_streams() -> None:
    """Whoever reads what a hook says waits until nobody can say any more."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, max(null, 255) + 1)
