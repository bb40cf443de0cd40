"""Long transcripts of each engine, of short or of long lines: one turn, over and over.

A line holds what the engine puts into it beside its text (codex 0.171, claude 2.1, gemini 0.61, opencode 1.18). The
short lines leave out what reports nothing, but not the session of claude and opencode, nor the time of gemini.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

MIB = 1 << 20
UUID = "0199a213-81c0-7800-8aa1-7ffac1586f13"
SES = "ses_154ab1ebdfferuLfjWKE1REEOy"
PROSE = 'The build fails in "parse" at line 42:\n\tthe naïve case is not handled. '

Object = dict[str, Any]


class Story(NamedTuple):
    """The first lines, the lines of one turn, of which one is the result of a tool, and the last ones."""

    first: list[Object]
    turn: list[Object]
    last: list[Object]


def write(path: Path, story: Story, size: int, long_line: int = 0) -> int:
    """A transcript of `size` bytes, and a result of `long_line` bytes in its middle; how many turns it has."""
    turn = b"".join(map(_line, story.turn))
    half = size // len(turn) // 2
    with path.open("wb") as file:
        file.writelines(map(_line, story.first))
        file.writelines(turn for _ in range(half))
        if long_line:
            _write_long(file, story.turn, long_line)
        file.writelines(turn for _ in range(half))
        file.writelines(map(_line, story.last))
    return 2 * half


def _write_long(file: BinaryIO, turn: list[Object], size: int) -> None:
    head, tail = max(map(_line, turn), key=len).split(b"line 42", 1)
    file.write(head)
    for _ in range(size // MIB):
        file.write(b"x" * MIB)
    file.write(tail)


def _line(event: Object) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _codex(text: str, details: bool) -> Story:
    def item(when: str, **fields: object) -> Object:
        return {"type": f"item.{when}", "item": {"id": "item_7", **fields}}

    command: Object = {"type": "command_execution", "command": f"bash -lc '{text}'"}
    output = {"aggregated_output": text, "exit_code": 0, **({"status": "completed"} if details else {})}
    return Story(
        [{"type": "thread.started", "thread_id": UUID}, {"type": "turn.started"}],
        [
            item("completed", type="reasoning", text=text),
            item("started", **command, **({"status": "in_progress"} if details else {})),
            item("completed", type="command_execution", command="make", **output),
            item("completed", type="agent_message", text=text),
        ],
        [{"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 12}}],
    )


def _claude(text: str, details: bool) -> Story:
    names: Object = {"parent_tool_use_id": None, "session_id": UUID, "uuid": UUID} if details else {"session_id": UUID}
    about: Object = {"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": None}
    usage = {"input_tokens": 10, "cache_read_input_tokens": 0, "output_tokens": 12, "service_tier": "standard"}

    def said(**block: object) -> Object:
        message = {**about, "content": [block], "usage": usage} if details else {"content": [block]}
        return {"type": "assistant", "message": message, **names}

    result = {"type": "tool_result", "content": text, **({"tool_use_id": "toolu_01"} if details else {})}
    return Story(
        [{"type": "system", "subtype": "init", "session_id": UUID, "model": "claude-x"}],
        [
            said(type="thinking", thinking=text),
            said(type="tool_use", name="Bash", input={"command": text}),
            {"type": "user", "message": {"content": [result]}, **names},
            said(type="text", text=text),
        ],
        [{"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": UUID}],
    )


def _gemini(text: str, details: bool) -> Story:
    time = {"timestamp": "2026-11-27T10:15:02.123Z"}
    tool = {"tool_id": "run_shell_command-1764238502123-5f"} if details else {}
    said = {"type": "message", **time, "role": "assistant", "content": text, "delta": True}
    return Story(
        [{"type": "init", "session_id": UUID, "model": "gemini-x"}],
        [
            said,
            {"type": "tool_use", **time, "tool_name": "run_shell_command", **tool, "parameters": {"command": text}},
            {"type": "tool_result", **time, **tool, "status": "success", "output": text},
            said,
        ],
        [{"type": "result", "status": "success", "stats": {"input_tokens": 10, "output_tokens": 12}}],
    )


def _opencode(text: str, details: bool) -> Story:
    ids = {"id": "prt_1", "sessionID": SES, "messageID": "msg_154ab1ebdfferuLfjWKE1REEOy"} if details else {}
    time = {"timestamp": 1764238502123} if details else {}

    def event(kind: str, **part: object) -> Object:
        return {"type": kind, **time, "sessionID": SES, "part": {**ids, **part}}

    state = {"status": "completed", "input": {"command": "make"}, "output": text}
    done = event("step_finish", reason="stop", tokens={"input": 10, "output": 12}, cost=0.5)
    return Story(
        [event("step_start")],
        [event("reasoning", text=text), event("tool_use", tool="bash", state=state), event("text", text=text)],
        [done],
    )


_STORIES: Mapping[str, Callable[[str, bool], Story]] = {
    "codex": _codex,
    "claude": _claude,
    "gemini": _gemini,
    "opencode": _opencode,
}
ENGINES = tuple(_STORIES)


def long_lines(engine: str) -> Story:
    """About 2 kB each."""
    return _STORIES[engine](PROSE * 24, True)


def short_lines(engine: str) -> Story:
    """About 90 bytes each."""
    return _STORIES[engine]("make", False)
