"""The engines that can be read, by name. The table is literal, so grep finds it."""

from __future__ import annotations

from git_agent_extractors import claude, codex, copilot, gemini, iflow, opencode, qwen
from git_agent_extractors.profile import Profile

PROFILES: dict[str, Profile] = {
    "codex": codex.PROFILE,
    "claude": claude.PROFILE,
    "gemini": gemini.PROFILE,
    "opencode": opencode.PROFILE,
    "iflow": iflow.PROFILE,
    "qwen": qwen.PROFILE,
    "copilot": copilot.PROFILE,
}


def profile_of(engine: str | Profile) -> Profile:
    """A shipped engine's profile by its name; one that is not shipped is given as it is. Raises KeyError."""
    return PROFILES[engine] if isinstance(engine, str) else engine
