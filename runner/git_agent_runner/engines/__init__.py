"""Engines: how each command line is written, version by version. The table is literal, so grep finds it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines.spec import Engine

if TYPE_CHECKING:
    from git_agent_extractors.profile import Profile
    from git_agent_runner.engines.added import Added

MODULES = {
    "codex": "git_agent_runner.engines.codex.command",
    "claude": "git_agent_runner.engines.claude.command",
    "gemini": "git_agent_runner.engines.gemini.command",
    "opencode": "git_agent_runner.engines.opencode.command",
    "iflow": "git_agent_runner.engines.iflow.command",
    "qwen": "git_agent_runner.engines.qwen.command",
    "copilot": "git_agent_runner.engines.copilot.command",
}


def load(name: str, environ: Mapping[str, str] = os.environ) -> Engine:
    """The engine of that name: one of the table, or one that the person has added. Only its own code is imported.

    Raises UserError `engine_unknown`, or for a profile of the person's own `profile_invalid`, `profile_in_repository`.
    """
    module = MODULES.get(name)
    if module is None:
        return _added(name, environ).engine
    engine: Engine = import_module(module).ENGINE
    return engine


def profile(name: str, environ: Mapping[str, str] = os.environ) -> Profile:
    """How the output of that engine is read. Raises UserError as `load` does."""
    from git_agent_extractors.profiles import profile_of

    return profile_of(name) if name in MODULES else _added(name, environ).profile


def all_added(environ: Mapping[str, str] = os.environ) -> list[tuple[str, Added | UserError]]:
    """Everything that the person has added, by name, or what is wrong with it."""
    from git_agent_runner.engines import added

    return [(name, _looked_at(name, environ)) for name in added.names(environ)]


def _looked_at(name: str, environ: Mapping[str, str]) -> Added | UserError:
    from git_agent_runner.engines import added

    if name in MODULES:
        return UserError(
            f"{added.place(name, environ)} describes '{name}', which is built in and cannot be replaced",
            code="profile_shadows",
            hints=("give it another name",),
        )
    try:
        return added.find(name, environ) or UserError(
            f"{added.place(name, environ)}: expected a name of up to 32 lower-case letters, digits and dashes",
            code="profile_invalid",
            hints=("give it another name",),
        )
    except UserError as error:
        return error


def _added(name: str, environ: Mapping[str, str]) -> Added:
    from git_agent_runner.engines import added

    found = added.find(name, environ)
    if found is None:
        known = ", ".join((*MODULES, *(other for other in added.names(environ) if other not in MODULES)))
        raise UserError(
            f"unknown engine '{name}'",
            code="engine_unknown",
            hints=(f"known engines: {known}",),
        )
    return found
