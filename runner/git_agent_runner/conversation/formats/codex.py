"""Sessions of Codex: a line for each item, after one that says whose they are (0.36.0 to 0.171.0)."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from typing import Any

from git_agent_runner.conversation.formats.common import Form, New, clock, joined, seconds, uuid7
from git_agent_runner.conversation.messages import Gathering, Message, mapping, parts, records, text_of
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Piece

# What codex itself puts in as the person's words, who may write in other tags.
_TAGS = (
    "environment_context|user_instructions|permissions instructions|skills_instructions|collaboration_mode|turn_aborted"
    "|user_shell_command|subagent_notification|skill"
)
_OWN = re.compile(rf"\s*(?:<({_TAGS})>.*</\1>\s*|# AGENTS\.md instructions for [^\n]*\s*<INSTRUCTIONS>.*)", re.DOTALL)
_CALLS = {
    "function_call": ("name", "arguments"),
    "custom_tool_call": ("name", "input"),
    "local_shell_call": ("type", "action"),
    "web_search_call": ("type", "action"),
}


def read(pieces: tuple[Piece, ...]) -> tuple[Message, ...]:
    found = Gathering()
    for record in records(joined(pieces)):
        payload = mapping(record.get("payload"))
        if record.get("type") == "response_item":
            _take(found, payload, seconds(record))
        elif record.get("type") == "event_msg" and payload.get("type") == "thread_rolled_back":
            count = payload.get("num_turns")
            found.drop_turns(count if type(count) is int else 0)
    return found.messages()


def _take(found: Gathering, item: dict[str, Any], at: float | None) -> None:
    kind = str(item.get("type"))
    if _is_prompt(item) or (kind, item.get("role")) == ("message", "assistant"):
        said = parts(item.get("content"))
        attached = tuple("image" for part in said if part.get("type") == "input_image")
        found.add("\n".join(_texts(item)), at, user=_is_prompt(item), attached=attached)
    elif kind in _CALLS:
        name, given = _CALLS[kind]
        key = item.get("call_id") or item.get("id")
        found.add("", at, user=False, calls=found.call(item.get(name), key, item.get(given)))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _result(found, item)


def _is_prompt(item: dict[str, Any]) -> bool:
    if (item.get("type"), item.get("role")) != ("message", "user"):
        return False
    texts = _texts(item)
    return not texts or not all(map(_OWN.fullmatch, texts))


def _texts(item: dict[str, Any]) -> list[str]:
    said = (part for part in parts(item.get("content")) if part.get("type") in ("text", "input_text", "output_text"))
    return [text_of(part) for part in said]


def _result(found: Gathering, item: dict[str, Any]) -> None:
    """As text, or, by older versions, as an object in a text, with the exit status beside it."""
    output = item.get("output")
    whole = files.parsed(output.encode(errors="replace")) if isinstance(output, str) else mapping(output)
    if "output" in whole or "content" in whole:
        exit_code = mapping(whole.get("metadata")).get("exit_code", 0)
        said = whole.get("output", whole.get("content"))
        failed = exit_code != 0 or whole.get("success") is False
        found.result(item.get("call_id"), "\n".join(map(text_of, parts(said))), failed=failed)
    else:
        found.result(item.get("call_id"), "\n".join(map(text_of, parts(output))))


def write(new: New, messages: tuple[Message, ...]) -> tuple[Piece, ...]:
    """Write items with the fields that 0.65.0, 0.98.0 and 0.171.0 need to show each message to the model as a turn."""
    begun = time.gmtime(new.at)
    name = time.strftime(f"%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S-{new.session}.jsonl", begun)
    return (Piece(name, b"".join(json.dumps(line).encode() + b"\n" for line in _lines(new, messages))),)


def _lines(new: New, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    meta = {
        "id": new.session,
        "session_id": new.session,
        "timestamp": clock(new.at),
        "cwd": new.cwd,
        "originator": "codex_exec",
        "cli_version": new.version,
        "source": "exec",
    }
    yield {"timestamp": clock(new.at), "type": "session_meta", "payload": meta}
    for message in messages:
        role, kind = ("user", "input_text") if message.user else ("assistant", "output_text")
        said = {"type": "message", "role": role, "content": [{"type": kind, "text": message.text}]}
        yield {"timestamp": clock(message.at), "type": "response_item", "payload": said}


def cut(piece: Piece, until: float) -> Piece:
    """Up to where the first turn that has its prompt after `until` began, which is before it."""
    place, begun = 0, None
    for line in io.BytesIO(piece.data):
        record = files.parsed(line)
        payload, kind = mapping(record.get("payload")), record.get("type")
        begun = place if payload.get("type") == "task_started" else begun
        late = (seconds(record) or 0) > until
        if late and payload.get("type") == "thread_rolled_back":  # the turns that it takes back were there by then
            return piece._replace(data=piece.data[:place])
        if kind == "response_item" and _is_prompt(payload):
            if late:
                return piece._replace(data=piece.data[: place if begun is None else begun])
            begun = None
        place += len(line)
    return piece


FORM = Form(uuid7, read, write, cut, since=(0, 65))
