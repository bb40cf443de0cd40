"""The engines that can be read, by name. The table is literal, so grep finds it."""

from __future__ import annotations

from importlib import import_module

from git_agent_extractors.profile import Profile

NAMES = ("codex", "claude", "gemini", "opencode", "iflow", "qwen", "copilot")  # each a module, read when it is needed


def profile_of(engine: str | Profile) -> Profile:
    """A shipped engine's profile by its name; one that is not shipped is given as it is. Raises KeyError."""
    if not isinstance(engine, str):
        return engine
    if engine not in NAMES:
        raise KeyError(engine)
    found: Profile = import_module(f"git_agent_extractors.{engine}").PROFILE
    return found
