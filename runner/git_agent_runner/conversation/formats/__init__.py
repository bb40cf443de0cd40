"""The formats of engines' sessions: each can be read into messages, made from messages, and cut."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines.spec import dotted

if TYPE_CHECKING:
    from git_agent_runner.conversation.formats.common import Form
    from git_agent_runner.engines.spec import Engine, Version

KNOWN = ("claude", "codex", "copilot", "gemini", "opencode", "qwen")


def form(engine: Engine) -> Form:
    """Raises UserError `handover_unsupported`."""
    if engine.name not in KNOWN:
        raise UserError(
            f"{engine.name}'s conversations cannot be handed over or forked",
            code="handover_unsupported",
            hints=(
                f"of these they can: {', '.join(KNOWN)}",
                f'to start without the conversation: git agent start -e {engine.name} "<prompt>"',
            ),
        )
    found: Form = import_module(f"git_agent_runner.conversation.formats.{engine.name}").FORM
    return found


def taking(engine: Engine, version: Version) -> Form:
    """The format of an engine that is to take over a conversation. Raises UserError `handover_unsupported`."""
    found = form(engine)
    if found.since is None or version < found.since:
        other = f"{dotted(found.since)} is the first version tried: {engine.install}" if found.since else None
        raise UserError(
            f"{engine.name} {dotted(version)} is not known to take a conversation from another engine",
            code="handover_unsupported",
            hints=(other or f'to start without the conversation: git agent start -e {engine.name} "<prompt>"',),
        )
    return found
