"""Sessions of Gemini CLI: messages that are written again as they grow, and again by each resume (0.36.0 to 0.61.0)."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from git_agent_runner.conversation.formats.common import Form, New, clock, seconds, uuid4
from git_agent_runner.conversation.messages import Gathering, Message, mapping, parts, records, text_of
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Piece

_OWN = ("<session_context>", "<hook_context>")


def read(pieces: tuple[Piece, ...]) -> tuple[Message, ...]:
    said: dict[str, dict[str, Any]] = {}
    for piece in sorted(pieces):
        said |= _replayed(piece.data)
    found = Gathering()
    for message in said.values():
        _take(found, message)
    return found.messages()


def _replayed(data: bytes) -> dict[str, dict[str, Any]]:
    """What is left of the messages, by their ids, as gemini's `loadConversationRecord` replays a file; each with the
    time that it was written first.
    """
    kept: dict[str, dict[str, Any]] = {}
    times: dict[str, Any] = {}
    whole = files.parsed(data)
    for record in [whole] if isinstance(whole.get("messages"), list) else records(data):
        undone = record.get("$rewindTo")
        if isinstance(undone, str):
            names = [*kept]
            kept = {name: kept[name] for name in names[: names.index(undone) if undone in kept else 0]}
        changed = mapping(record.get("$set", record))
        many = changed.get("messages")
        if isinstance(many, list):
            kept = {}
        for one in filter(_is_message, many if isinstance(many, list) else [record]):
            name = str(one["id"])
            kept[name] = {**one, "timestamp": times.setdefault(name, one.get("timestamp"))}
    return kept


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "id" in value and value.get("type") in ("user", "gemini")


def _take(found: Gathering, message: dict[str, Any]) -> None:
    whole = parts(message.get("toolCalls"))
    told = [call.get("id") for call in whole if call.get("id") is not None]
    taken = take(found, parts(message.get("content")), told)
    calls = [*taken.calls, *(number for call in whole for number in _call(found, call))]
    user = message["type"] == "user"
    found.add("\n".join(taken.texts), seconds(message), user=user, calls=calls, attached=tuple(taken.attached))


class TurnParts(NamedTuple):
    texts: list[str]
    calls: list[int]
    attached: list[str]


def take(found: Gathering, said: list[dict[str, Any]], told: list[object]) -> TurnParts:
    """What the parts of a message hold; `told` are the ids of calls that are in it elsewhere, with their results."""
    taken = TurnParts([], [], [])
    for part in said:
        if called := mapping(part.get("functionCall")):
            if called.get("id") not in told:
                taken.calls.extend(found.call(called.get("name"), called.get("id"), called.get("args")))
        elif answered := mapping(part.get("functionResponse")):
            gave = answered.get("response")
            found.result(answered.get("id"), _gave(gave), failed="error" in mapping(gave))
        elif media := mapping(part.get("inlineData") or part.get("fileData")):
            taken.attached.append(str(media.get("fileUri") or media.get("mimeType")))
        elif not part.get("thought") and not text_of(part).startswith(_OWN):
            taken.texts.append(text_of(part))
    return taken


def _call(found: Gathering, call: dict[str, Any]) -> list[int]:
    given = found.call(call.get("name"), call.get("id"), call.get("args"))
    answers = [mapping(part.get("functionResponse")).get("response") for part in parts(call.get("result"))]
    if answers:
        failed = call.get("status") in ("error", "cancelled")
        found.result(call.get("id"), "\n".join(map(_gave, answers)), failed=failed)
    return given


def _gave(response: Any) -> str:
    said = mapping(response).get("output", mapping(response).get("error", response))
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def write(new: New, messages: tuple[Message, ...]) -> tuple[Piece, ...]:
    """Write messages with the fields that 0.61.0 needs to show each to the model as a turn."""
    name = time.strftime(f"chats/session-%Y-%m-%dT%H-%M-{new.session[:8]}.jsonl", time.gmtime(new.at))
    return (Piece(name, b"".join(json.dumps(line).encode() + b"\n" for line in _lines(new, messages))),)


def _lines(new: New, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    times = {"startTime": clock(new.at), "lastUpdated": clock(messages[-1].at)}
    yield {"sessionId": new.session, "projectHash": _hash(new.cwd), **times, "kind": "main"}
    for number, message in enumerate(messages):
        yield {
            "id": uuid4(f"{new.session} {number}", new.at),
            "timestamp": clock(message.at),
            "type": "user" if message.user else "gemini",
            "content": [{"text": message.text}] if message.user else message.text,
        }


def _hash(cwd: str) -> str:
    from hashlib import sha256

    return sha256(cwd.encode(errors="surrogateescape")).hexdigest()


def cut(piece: Piece, until: float) -> Piece:
    """Up to the last message before the first prompt after `until` that is on a line of its own: a resume writes
    those from before it again, with the time of then. Of a session that is one document: its messages before that.
    """
    document = files.parsed(piece.data)
    if isinstance(document.get("messages"), list):
        return piece._replace(data=json.dumps({**document, "messages": _before(document["messages"], until)}).encode())
    place = end = 0
    for line in io.BytesIO(piece.data):
        record = files.parsed(line)
        if _begins_after(record, until):
            return piece._replace(data=piece.data[:end])
        place += len(line)
        end = place if _is_message(record) else end
    return piece


def _before(messages: list[Any], until: float) -> list[Any]:
    later = (index for index, message in enumerate(messages) if _begins_after(message, until))
    return messages[: next(later, len(messages))]


def _begins_after(message: Any, until: float) -> bool:
    if not _is_message(message) or message["type"] != "user":
        return False
    return _is_prompt(message) and (seconds(message) or 0) > until


def _is_prompt(message: dict[str, Any]) -> bool:
    return any(text_of(part) and not text_of(part).startswith(_OWN) for part in parts(message.get("content")))


FORM = Form(uuid4, read, write, cut, since=(0, 61))
