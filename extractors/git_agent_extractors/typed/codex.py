"""What codex prints between the first and the last line of a turn."""

from __future__ import annotations

from typing import Any

import msgspec

from git_agent_extractors.codex_items import changed, command, command_done, mcp, mcp_done
from git_agent_extractors.profile import NO_DATA, NOTHING, Events, made
from git_agent_extractors.typed import quick


class _Item(msgspec.Struct, tag_field="type", gc=False):
    def begun(self) -> Events:
        return NOTHING

    def done(self) -> Events:
        return NOTHING


class _Message(_Item, tag="agent_message"):
    text: str = ""

    def done(self) -> Events:
        return (made(("message", self.text, "", NO_DATA)),)


class _Reasoning(_Item, tag="reasoning"):
    text: str = ""

    def done(self) -> Events:
        return (made(("reasoning", self.text, "", NO_DATA)),)


class _Command(_Item, tag="command_execution"):
    command: str = ""
    aggregated_output: str = ""
    exit_code: Any = None
    status: Any = None

    def begun(self) -> Events:
        return command(self.command)

    def done(self) -> Events:
        return command_done(self.aggregated_output, self.exit_code, self.status)


class _Change(msgspec.Struct, gc=False):
    path: str = ""


class _Changes(_Item, tag="file_change"):
    changes: list[_Change] = []
    status: Any = None

    def done(self) -> Events:
        return changed([change.path for change in self.changes], self.status)


class _Mcp(_Item, tag="mcp_tool_call"):
    server: str = ""
    tool: str = ""
    arguments: Any = None
    result: Any = None
    error: Any = None

    def begun(self) -> Events:
        return mcp(self.server, self.tool, self.arguments)

    def done(self) -> Events:
        return mcp_done(self.server, self.tool, self.result, self.error)


class _Todo(_Item, tag="todo_list"):
    pass


_Items = _Message | _Reasoning | _Command | _Changes | _Mcp | _Todo


class _Line(msgspec.Struct, tag_field="type", gc=False):
    """Only `thread.started` has an id."""

    def events(self, session: str | None) -> Events | None:  # noqa: ARG002  the shape of Line
        return NOTHING


class _Started(_Line, tag="item.started"):
    item: _Items

    def events(self, session: str | None) -> Events | None:  # noqa: ARG002  the shape of Line
        return self.item.begun()


class _Completed(_Line, tag="item.completed"):
    item: _Items

    def events(self, session: str | None) -> Events | None:  # noqa: ARG002  the shape of Line
        return self.item.done()


class _Updated(_Line, tag="item.updated"):
    pass


class _TurnStarted(_Line, tag="turn.started"):
    pass


read = quick(msgspec.json.Decoder(_Started | _Completed | _Updated | _TurnStarted))
