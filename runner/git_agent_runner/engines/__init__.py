"""Engines: how each command line is written, version by version. The table is literal, so grep finds it."""

from __future__ import annotations

from importlib import import_module

from git_agent_runner.engines.spec import Engine
from git_agent_runner.errors import UserError

MODULES = {
    "codex": "git_agent_runner.engines.codex",
    "claude": "git_agent_runner.engines.claude",
    "gemini": "git_agent_runner.engines.gemini",
    "opencode": "git_agent_runner.engines.opencode",
    "iflow": "git_agent_runner.engines.iflow",
}


def load(name: str) -> Engine:
    """The engine of that name; only its own module is imported. Raises UserError for a name not in the table."""
    module = MODULES.get(name)
    if module is None:
        raise UserError(
            f"unknown engine '{name}'",
            code="engine_unknown",
            hints=(f"engines are: {', '.join(MODULES)}",),
        )
    engine: Engine = import_module(module).ENGINE
    return engine
