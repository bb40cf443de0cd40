"""What opencode prints with `--format json`, errors apart."""

from __future__ import annotations

from typing import Any

import msgspec

from git_agent_extractors import opencode_items
from git_agent_extractors.profile import NO_DATA, NOTHING, Events, Object, gist, made
from git_agent_extractors.typed import quick


class _Words(msgspec.Struct, gc=False):
    text: str = ""


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    exit: Any = None


class _State(msgspec.Struct, gc=False):
    status: str = ""
    input: Object = {}
    output: str = ""
    error: str = ""
    metadata: _Metadata = _Metadata()


class _Tool(msgspec.Struct, gc=False):
    state: _State
    tool: str = ""


class _Step(msgspec.Struct, gc=False):
    reason: str = ""
    tokens: Object = {}
    cost: Any = None


class _Line(msgspec.Struct, tag_field="type", gc=False):
    def told(self) -> Events:
        return NOTHING

    def events(self, session: str | None) -> Events | None:
        """Once the root's id is known, that of any line is a child's."""
        return None if session is None else self.told()


class _StepStart(_Line, tag="step_start"):
    pass


class _Text(_Line, tag="text"):
    part: _Words

    def told(self) -> Events:
        return (made(("message", self.part.text, "", NO_DATA)),)


class _Reasoning(_Line, tag="reasoning"):
    part: _Words

    def told(self) -> Events:
        return (made(("reasoning", self.part.text, "", NO_DATA)),)


class _ToolUse(_Line, tag="tool_use"):
    part: _Tool

    def told(self) -> Events:
        state = self.part.state
        broken = state.status == "error"
        failed = broken or opencode_items.command_failed(state.metadata.exit)
        return opencode_items.tool_use(
            self.part.tool, gist(state.input), state.error if broken else state.output, failed
        )


class _StepFinish(_Line, tag="step_finish"):
    part: _Step

    def told(self) -> Events:
        part = self.part
        return opencode_items.step_finish(part.reason, part.tokens, {"cost": part.cost})


read = quick(msgspec.json.Decoder(_StepStart | _Text | _Reasoning | _ToolUse | _StepFinish))
