"""Sessions of Claude Code: a line for each message, or part of one, in a tree by `parentUuid` (1.0.128 to 2.1.332)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from git_agent_runner.conversation.formats.common import Form, New, clock, joined, seconds, undone, uuid4
from git_agent_runner.conversation.messages import Gathering, Message, mapping, parts, records, text_of
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Piece

# What claude itself says in the person's place, or in the model's.
_OWN = (
    "<system-reminder>",
    "<command-",
    "<local-command-",
    "[Request interrupted by user",
    "Caveat: The messages below",
)
_NO_ANSWER = "No response requested."


def read(pieces: tuple[Piece, ...]) -> tuple[Message, ...]:
    data = joined(pieces)
    gone, found = undone(data, _is_said, _is_prompt), Gathering()
    for number, record in enumerate(records(data)):
        if number not in gone and _is_said(record):
            _take(found, record)
    return found.messages()


def _take(found: Gathering, record: dict[str, Any]) -> None:
    at, calls, texts, attached = seconds(record), [], [], []
    for part in parts(mapping(record.get("message")).get("content")):
        kind = part.get("type")
        if kind == "text" and not text_of(part).startswith(_OWN) and text_of(part) != _NO_ANSWER:
            texts.append(text_of(part))
        elif kind == "tool_use":
            calls += found.call(part.get("name"), part.get("id"), part.get("input"))
        elif kind == "tool_result":
            said = "\n".join(text_of(one) or f"[{one.get('type')}]" for one in parts(part.get("content")))
            found.result(part.get("tool_use_id"), said, failed=part.get("is_error") is True)
        elif kind in ("image", "document"):
            attached.append(str(part.get("title") or mapping(part.get("source")).get("media_type") or kind))
    found.add("\n".join(texts), at, user=record["type"] == "user", calls=calls, attached=tuple(attached))


def _is_said(record: dict[str, Any]) -> bool:
    """Is the line part of the conversation? Sub-agents, summaries and error reports have lines of the same types."""
    marks = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
    return record.get("type") in ("user", "assistant") and not any(record.get(mark) for mark in marks)


def _is_prompt(record: dict[str, Any]) -> bool:
    return record["type"] == "user" and not _is_result(record)


def _is_result(record: dict[str, Any]) -> bool:
    return any(part.get("type") == "tool_result" for part in parts(mapping(record.get("message")).get("content")))


def write(new: New, messages: tuple[Message, ...]) -> tuple[Piece, ...]:
    """Write lines with the fields that 1.0.128, 2.0.42 and 2.1.332 need to show each line to the model as a turn."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in _lines(new, messages))
    return (Piece(f"{files.dashes(new.cwd)[:200]}/{new.session}.jsonl", data),)


def _lines(new: New, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    above = None
    for number, message in enumerate(messages):
        name = uuid4(f"{new.session} {number}", new.at)
        said: dict[str, Any] = {"role": "user", "content": message.text}
        if not message.user:
            said = {
                "id": f"msg_{name.replace('-', '')[:24]}",
                "type": "message",
                "role": "assistant",
                "model": "<synthetic>",
                "content": [{"type": "text", "text": message.text}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }
        yield {
            "parentUuid": above,
            "isSidechain": False,
            "type": said["role"],
            "message": said,
            "uuid": name,
            "timestamp": clock(message.at),
            "userType": "external",
            "cwd": new.cwd,
            "sessionId": new.session,
            "version": new.version,
        }
        above = name


def cut(piece: Piece, until: float) -> Piece:
    """Up to the last message before the first prompt after `until`; what claude writes of a prompt is before it."""
    end = begun = 0
    for line in io.BytesIO(piece.data):
        record = files.parsed(line)
        said = _is_said(record)
        if said and _is_prompt(record) and (seconds(record) or 0) > until:
            return piece._replace(data=piece.data[:end])
        begun += len(line)
        end = begun if said else end
    return piece


FORM = Form(uuid4, read, write, cut, since=(1, 0, 128))
