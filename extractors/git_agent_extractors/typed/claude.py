"""What claude prints with stream-json between `init` and `result`."""

from __future__ import annotations

from typing import Any

import msgspec

from git_agent_extractors.claude import SYNTHETIC, tool_result
from git_agent_extractors.model import Event
from git_agent_extractors.profile import NO_DATA, NOTHING, Events, gist
from git_agent_extractors.typed import made, quick


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


class _ToolResult(msgspec.Struct, tag="tool_result", gc=False):
    content: str | list[_Part] = ""
    is_error: Any = None

    def event(self) -> Event:
        content = self.content
        words = content if isinstance(content, str) else "\n".join(part.text for part in content)
        return tool_result(words, self.is_error)


class _Said(msgspec.Struct, gc=False):
    content: list[_Text | _Thinking | _ToolUse]
    model: str = ""


class _Heard(msgspec.Struct, gc=False):
    content: list[_ToolResult]


class _Line(msgspec.Struct, tag_field="type", gc=False):
    session_id: str | None = None
    parent_tool_use_id: str | None = None

    def told(self) -> Events | None:
        return NOTHING

    def events(self, session: str | None) -> Events | None:
        """A sub-agent's lines tell nothing, not even an id."""
        if self.parent_tool_use_id is not None:
            return NOTHING
        return self.told() if self.session_id is None or self.session_id == session else None


class _Assistant(_Line, tag="assistant", kw_only=True):
    message: _Said

    def told(self) -> Events | None:
        if self.message.model == SYNTHETIC:
            return None
        content = self.message.content
        if len(content) == 1:  # nearly always
            return (content[0].event(),)
        return [block.event() for block in content]


class _User(_Line, tag="user", kw_only=True):
    message: _Heard

    def told(self) -> Events | None:
        content = self.message.content
        if len(content) == 1:  # nearly always
            return (content[0].event(),)
        return [block.event() for block in content]


class _StreamEvent(_Line, tag="stream_event"):
    pass


read = quick(msgspec.json.Decoder(_Assistant | _User | _StreamEvent))
