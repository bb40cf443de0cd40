"""Sessions of OpenCode, as the document that `opencode export` prints and `opencode import` takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from git_agent_runner.conversation.formats.common import Form, New
from git_agent_runner.conversation.messages import Gathering, Message, mapping, parts
from git_agent_runner.core.clock import milliseconds
from git_agent_runner.engines import files
from git_agent_runner.engines.opencode import store
from git_agent_runner.engines.spec import Piece

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def read(pieces: tuple[Piece, ...]) -> tuple[Message, ...]:
    found = Gathering()
    document = files.parsed(pieces[0].data) if pieces else {}
    undone = mapping(mapping(document.get("info")).get("revert")).get("messageID")
    for message in parts(document.get("messages")):
        info = mapping(message.get("info"))
        if undone is not None and info.get("id") == undone:
            break
        if info.get("role") in ("user", "assistant"):
            _take(found, info, parts(message.get("parts")))
    return found.messages()


def _take(found: Gathering, info: dict[str, Any], said: list[dict[str, Any]]) -> None:
    texts, calls, attached = [], [], []
    for part in said:
        kind = part.get("type")
        if kind == "text" and isinstance(part.get("text"), str) and not part.get("synthetic"):
            texts.append(part["text"])
        elif kind == "tool":
            calls += _call(found, part)
        elif kind == "file":
            attached.append(str(part.get("filename") or part.get("mime")))
    found.add("\n".join(texts), _at(info), user=info["role"] == "user", calls=calls, attached=tuple(attached))


def _at(info: dict[str, Any]) -> float | None:
    return milliseconds(mapping(info.get("time")).get("created"))


def _call(found: Gathering, part: dict[str, Any]) -> list[int]:
    """A part holds a call and its result, and has an id of its own: models use those of calls again."""
    state, key = mapping(part.get("state")), part.get("id")
    given = found.call(part.get("tool"), key, state.get("input"))
    if state.get("status") in ("completed", "error"):
        failed = state["status"] == "error"
        found.result(key, str(state.get("error" if failed else "output", "")), failed=failed)
    return given


def write(new: New, messages: tuple[Message, ...]) -> tuple[Piece, ...]:
    """Write messages with the fields that 1.18.33 needs to show each to the model as a turn."""
    first, last = (int((one.at or 0) * 1000) for one in (messages[0], messages[-1]))
    info = {
        "id": new.session,
        "slug": "handed-over",
        "projectID": "global",
        "directory": new.cwd,
        "title": " ".join(messages[0].text.split())[:80] or "handed over",
        "version": new.version,
        "time": {"created": first, "updated": last},
    }
    return (Piece("", json.dumps({"info": info, "messages": [*_messages(new, messages)]}).encode()),)


def _messages(new: New, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    above = ""
    for number, message in enumerate(messages):
        at = int((message.at or 0) * 1000)
        name, part = (_name(kind, new.session, number) for kind in ("msg", "prt"))
        own = {"id": name, "sessionID": new.session}
        provider, _, named = new.model.partition("/")
        model = {"providerID": provider, "modelID": named}
        info: dict[str, Any] = {**own, "role": "user", "time": {"created": at}, "agent": "build", "model": model}
        if message.user:
            above = name
        else:
            info = {
                **own,
                "role": "assistant",
                "time": {"created": at, "completed": at},
                "parentID": above or name,
                "agent": "build",
                "mode": "build",
                "path": {"cwd": new.cwd, "root": new.cwd},
                "cost": 0,
                "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
                **model,
                "finish": "stop",
            }
        text = {"id": part, "sessionID": new.session, "messageID": name, "type": "text", "text": message.text}
        yield {"info": info, "parts": [text]}


def _name(kind: str, session: str, number: int) -> str:
    """An id begins with a count, by which messages are in order: before those that opencode makes of its clock, which
    wraps.
    """
    return f"{kind}_{number:012x}{_letters(f'{session} {kind} {number}')}"


def session_id(salt: str, at: float) -> str:
    """Ids sort the newest session first: the time counts down."""
    return f"ses_{~(int(at * 1000) * 0x1000) & (1 << 48) - 1:012x}{_letters(salt)}"


def _letters(salt: str) -> str:
    from hashlib import sha256

    number = int.from_bytes(sha256(salt.encode(errors="surrogateescape")).digest())
    return "".join(_LETTERS[number // 62**place % 62] for place in range(14))


def cut(piece: Piece, until: float) -> Piece:
    """The messages before the first of the person's after `until`. A revert is undone with the next message, so one
    that stands is the last thing done: it counts if nothing was done since `until`.
    """
    document = files.parsed(piece.data)
    info = mapping(document.get("info"))
    if (milliseconds(mapping(info.get("time")).get("updated")) or 0) > until:
        info = {key: value for key, value in info.items() if key != "revert"}
    kept = []
    for message in parts(document.get("messages")):
        said = mapping(message.get("info"))
        if said.get("role") == "user" and (_at(said) or 0) > until:
            break
        kept.append(message)
    return piece._replace(data=json.dumps({**document, "info": info, "messages": kept}).encode())


FORM = Form(session_id, read, write, cut, since=(1, 18), model=store.model)
