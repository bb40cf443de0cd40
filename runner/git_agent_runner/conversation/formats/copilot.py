"""Sessions of GitHub Copilot CLI: an event a line, each after its parent (1.0.102)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from git_agent_runner.conversation.formats.common import Form, New, clock, joined, seconds, uuid4
from git_agent_runner.conversation.messages import Gathering, Message, mapping, parts, records
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Piece

_SAID = ("user.message", "assistant.message")


def read(pieces: tuple[Piece, ...]) -> tuple[Message, ...]:
    found = Gathering()
    for record in _left(joined(pieces)):
        kind, data = record.get("type"), mapping(record.get("data"))
        if kind in _SAID:
            _take(found, data, seconds(record), user=kind == "user.message")
        elif kind == "tool.execution_complete":
            gave = mapping(data.get("result")).get("content", mapping(data.get("error")).get("message"))
            text = gave if isinstance(gave, str) else ""
            found.result(data.get("toolCallId"), text, failed=data.get("success") is False)
    return found.messages()


def _left(data: bytes) -> list[dict[str, Any]]:
    """The events but those of sub-agents, whose answers are results, and those that the person went back from."""
    kept: list[dict[str, Any]] = []
    for record in records(data):
        undone = mapping(record.get("data")).get("upToEventId")
        if record.get("type") == "session.snapshot_rewind":
            place = next((at for at, one in enumerate(kept) if one.get("id") == undone), len(kept))
            del kept[place:]
        if record.get("agentId") is None:
            kept.append(record)
    return kept


def _take(found: Gathering, data: dict[str, Any], at: float | None, *, user: bool) -> None:
    calls = [
        number
        for one in parts(data.get("toolRequests"))
        for number in found.call(one.get("name"), one.get("toolCallId"), one.get("arguments"))
    ]
    attached = (
        str(one.get("displayName") or one.get("path") or one.get("type")) for one in parts(data.get("attachments"))
    )
    text = data.get("content")
    found.add(text if isinstance(text, str) else "", at, user=user, calls=calls, attached=tuple(attached))


def write(new: New, messages: tuple[Message, ...]) -> tuple[Piece, ...]:
    """Write events that 1.0.102 needs to show each message to the model as a turn."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in _lines(new, messages))
    return (Piece(f"{new.session}/events.jsonl", data),)


def _lines(new: New, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    begun = clock(new.at)
    start = {
        "sessionId": new.session,
        "version": 1,
        "producer": "copilot-agent",
        "copilotVersion": new.version,
        "startTime": begun,
        "context": {"cwd": new.cwd},
    }
    above = uuid4(new.session, new.at)
    yield {"type": "session.start", "data": start, "id": above, "timestamp": begun, "parentId": None}
    for number, message in enumerate(messages):
        name = uuid4(f"{new.session} {number}", new.at)
        said: dict[str, Any] = {"content": message.text, "messageId": uuid4(name, new.at)}
        if not message.user:
            said |= {"toolRequests": []}
        kind = _SAID[0] if message.user else _SAID[1]
        yield {"type": kind, "data": said, "id": name, "timestamp": clock(message.at), "parentId": above}
        above = name


def cut(piece: Piece, until: float) -> Piece:
    """Up to the first prompt after `until`."""
    end = 0
    for line in io.BytesIO(piece.data):
        record = files.parsed(line)
        begins = record.get("type") == "user.message" and record.get("agentId") is None
        if begins and (seconds(record) or 0) > until:
            return piece._replace(data=piece.data[:end])
        end += len(line)
    return piece


FORM = Form(uuid4, read, write, cut, since=(1, 0, 102))
