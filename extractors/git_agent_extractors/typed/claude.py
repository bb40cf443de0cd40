"""What claude prints with stream-json between `init` and `result`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from git_agent_extractors.claude_items import ASKED, SYNTHETIC, tool_result
from git_agent_extractors.model import Event
from git_agent_extractors.profile import NO_DATA, NOTHING, Events, gist, made
from git_agent_extractors.typed import quick


class _Part(msgspec.Struct, gc=False):
    text: str = ""


class _Text(msgspec.Struct, tag="text", gc=False):
    text: str = ""

    def event(self) -> Event:
        return made(("message", self.text, "", NO_DATA))


class _Thinking(msgspec.Struct, tag="thinking", gc=False):
    thinking: str = ""

    def event(self) -> Event:
        return made(("reasoning", self.thinking, "", NO_DATA))


class _ToolUse(msgspec.Struct, tag="tool_use", gc=False):
    name: str = ""
    input: Any = None

    def event(self) -> Event:
        return made(("tool_call", gist(self.input), self.name, NO_DATA))


class _ToolResult(msgspec.Struct, gc=False):
    type: Literal["tool_result"]  # a tag may be missing where it distinguishes nothing
    content: str | list[_Part] = ""
    is_error: Any = None

    def event(self) -> Event:
        content = self.content
        words = content if isinstance(content, str) else "\n".join(part.text for part in content)
        return tool_result(words, self.is_error)


_Block = _Text | _Thinking | _ToolUse | _ToolResult


class _Said(msgspec.Struct, gc=False):
    content: list[_Text | _Thinking | _ToolUse]
    model: str = ""


class _Heard(msgspec.Struct, gc=False):
    content: list[_ToolResult]


class _Line(msgspec.Struct, tag_field="type", gc=False):
    """A sub-agent's lines tell nothing."""

    session_id: str | None = None
    parent_tool_use_id: str | None = None

    def events(self, session: str | None) -> Events | None:
        return NOTHING if self.session_id == session else None


class _Assistant(_Line, tag="assistant", kw_only=True):
    message: _Said

    def events(self, session: str | None) -> Events | None:
        if self.session_id != session or self.message.model == SYNTHETIC:
            return None
        return NOTHING if self.parent_tool_use_id is not None else _told(self.message.content)


class _User(_Line, tag="user", kw_only=True):
    message: _Heard

    def events(self, session: str | None) -> Events | None:
        if self.session_id != session:
            return None
        if self.parent_tool_use_id is not None:
            return NOTHING
        found = _told(self.message.content)
        return None if any(event.data and event.text.startswith(ASKED) for event in found) else found


class _StreamEvent(_Line, tag="stream_event"):
    pass


def _told(content: Sequence[_Block]) -> Events:
    return (content[0].event(),) if len(content) == 1 else [block.event() for block in content]


read = quick(msgspec.json.Decoder(_Assistant | _User | _StreamEvent))
