"""What gemini prints with stream-json between `init` and `result`."""

from __future__ import annotations

from typing import Any

import msgspec

from git_agent_extractors import gemini_items
from git_agent_extractors.gemini_items import NOTICE
from git_agent_extractors.profile import DELTA, NO_DATA, NOTHING, Events, Object, made
from git_agent_extractors.typed import quick


class _Line(msgspec.Struct, tag_field="type", gc=False):
    """Only `init` has an id."""


class _Message(_Line, tag="message"):
    role: str = ""
    content: str = ""
    delta: Any = None

    def events(self, session: str | None) -> Events | None:  # noqa: ARG002  the shape of Line
        if self.role != "assistant":
            return NOTHING
        if self.content == NOTICE:
            return None
        return (made(("message", self.content, "", DELTA if self.delta is True else NO_DATA)),)


class _ToolUse(_Line, tag="tool_use"):
    tool_name: str = ""
    parameters: Object = {}

    def events(self, session: str | None) -> Events | None:  # noqa: ARG002  the shape of Line
        return gemini_items.tool_use(self.tool_name, self.parameters)


class _ToolResult(_Line, tag="tool_result"):
    status: str = ""
    output: str = ""
    error: Any = None

    def events(self, session: str | None) -> Events | None:  # noqa: ARG002  the shape of Line
        return gemini_items.tool_result(self.status, self.output, self.error)


read = quick(msgspec.json.Decoder(_Message | _ToolUse | _ToolResult))
