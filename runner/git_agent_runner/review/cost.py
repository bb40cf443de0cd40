"""What reviews may cost: each one, and all of a day that hooks have begun for this person, whatever the repository."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from git_agent_extractors import ordinary
from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.engines.probe import user_cache_dir
from git_agent_runner.engines.spec import Engine

_LIMITS = {"claude": "--max-budget-usd"}
_LARGEST = 1 << 20  # bytes


def limited(engine: Engine, most: float | None) -> tuple[str, ...]:
    """The engine's own words for a limit in US dollars. Raises UserError where it has none."""
    if most is None:
        return ()
    if engine.name not in _LIMITS:
        names = ", ".join(_LIMITS)
        raise UserError(
            f"{engine.name} cannot limit what a review costs",
            code="cost_unbounded",
            hints=(f"--max-cost works with: {names}",),
        )
    return (_LIMITS[engine.name], f"{most:g}")


def refuse_more(ctx: Context) -> None:
    """Raises UserError where today's reviews of hooks have cost all that `agent.hooks.maxCost` allows."""
    most = ctx.settings.hooks_max_cost
    if most is not None and (spent := today(ctx)) >= most:
        raise UserError(
            f"reviews started by hooks have cost ${spent:.2f} today; agent.hooks.maxCost is {most:g}",
            code="cost_reached",
            hints=("git config --global agent.hooks.maxCost <US dollars a day>",),
        )


def today(ctx: Context) -> float:
    total = 0.0
    with suppress(OSError):
        for line in ordinary.whole(_file(ctx), _LARGEST).split(b"\n"):
            with suppress(ValueError):
                total += max(float(line or 0), 0.0)
    return total


def add(ctx: Context, cost: object) -> None:
    """Note what a review has cost, where the engine says so. One line at a time: no lock is needed."""
    if not isinstance(cost, (int, float)) or not 0 < cost < float("inf"):  # nor NaN
        return
    with suppress(UserError, OSError):
        atomic.make_dir(os.path.dirname(_file(ctx)))
        file = os.open(_file(ctx), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, f"{cost:.6f}\n".encode())
        finally:
            os.close(file)


def _file(ctx: Context) -> str:
    return f"{user_cache_dir(ctx.environ)}/spent/{time.strftime('%Y-%m-%d')}"
