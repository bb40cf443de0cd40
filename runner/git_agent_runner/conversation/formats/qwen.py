"""Sessions of Qwen Code: lines in a tree, as Claude Code's, whose parts are those of Gemini CLI (0.24.4)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from git_agent_runner.conversation.formats.common import Form, New, clock, joined, seconds, undone, uuid4
from git_agent_runner.conversation.formats.gemini import take
from git_agent_runner.conversation.messages import Gathering, Message, mapping, parts, records
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Piece

# What each kind of line says of where it comes from, where it is no aim, agent or program that speaks instead.
_KINDS = {"user": "real_user", "assistant": "assistant_output", "tool_result": "tool_result"}


def read(pieces: tuple[Piece, ...]) -> tuple[Message, ...]:
    data = joined(pieces)
    gone, found = undone(data, _is_said, _is_prompt), Gathering()
    for number, record in enumerate(records(data)):
        if number not in gone and _is_said(record):
            taken = take(found, parts(mapping(record.get("message")).get("parts")), [])
            text, user = "\n".join(taken.texts), _is_prompt(record)
            found.add(text, seconds(record), user=user, calls=taken.calls, attached=tuple(taken.attached))
    return found.messages()


def _is_said(record: dict[str, Any]) -> bool:
    from_whom = _KINDS.get(str(record.get("type")))
    return from_whom is not None and record.get("provenance", from_whom) == from_whom


def _is_prompt(record: dict[str, Any]) -> bool:
    return record.get("type") == "user"


def write(new: New, messages: tuple[Message, ...]) -> tuple[Piece, ...]:
    """Write lines with the fields that 0.24.4 needs to show each to the model as a turn."""
    return (
        Piece(f"{new.session}.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in _lines(new, messages))),
    )


def _lines(new: New, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    above = None
    for number, message in enumerate(messages):
        name = uuid4(f"{new.session} {number}", new.at)
        yield {
            "uuid": name,
            "parentUuid": above,
            "sessionId": new.session,
            "timestamp": clock(message.at),
            "type": "user" if message.user else "assistant",
            "cwd": new.cwd,
            "version": new.version,
            "message": {"role": "user" if message.user else "model", "parts": [{"text": message.text}]},
        }
        above = name


def cut(piece: Piece, until: float) -> Piece:
    """Up to the last message before the first prompt after `until`."""
    end = begun = 0
    for line in io.BytesIO(piece.data):
        record = files.parsed(line)
        said = _is_said(record)
        if said and _is_prompt(record) and (seconds(record) or 0) > until:
            return piece._replace(data=piece.data[:end])
        begun += len(line)
        end = begun if said else end
    return piece


FORM = Form(uuid4, read, write, cut, since=(0, 24, 4))
