"""What is not part of a run's story is left out for a reason that is in the profile."""

from __future__ import annotations

from importlib import import_module

import pytest

from git_agent_extractors.profile import Ignored
from git_agent_extractors.profiles import NAMES, profile_of

WITH_PARTS = ("claude", "codex_items")  # whose events have a type within their type


@pytest.mark.parametrize("engine", NAMES)
def test_every_type_that_yields_nothing_says_why(engine: str) -> None:
    """Handlers that yield nothing even for a full event are `Ignored`; each of those has a reason in words."""
    kinds = profile_of(engine).kinds
    reasons = {kind: handler.reason for kind, handler in kinds.items() if isinstance(handler, Ignored)}
    assert [kind for kind, reason in reasons.items() if len(reason.split()) < 3] == []


@pytest.mark.parametrize("module", WITH_PARTS)
def test_every_part_that_is_left_out_says_why(module: str) -> None:
    ignored: dict[str, str] = import_module(f"git_agent_extractors.{module}").IGNORED
    assert ignored
    assert [kind for kind, reason in ignored.items() if len(reason.split()) < 3] == []
