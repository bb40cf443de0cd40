"""A conversation as plain values, whichever engine had it: who said what, what was run, and what came of it.

Thinking, signatures, and what an engine puts in on its own are left out: they mean nothing to another engine.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from git_agent_runner.engines import files

_LONGEST = 8192  # characters of what a tool was given, or gave
_TAIL = 2048


class ToolCall(NamedTuple):
    """One use of a tool. `gave` is None where no result is known."""

    name: str
    given: str
    gave: str | None = None
    failed: bool = False


class Message(NamedTuple):
    """`at` is in seconds since the epoch. `attached` are names, or kinds, of what came with the text."""

    user: bool
    text: str
    at: float | None = None
    calls: tuple[ToolCall, ...] = ()
    attached: tuple[str, ...] = ()


class Gathering:
    """Collects messages while a session is read. A result refers to its call by id, which a later call may use
    again."""

    def __init__(self) -> None:
        self._messages: list[tuple[Message, list[int]]] = []
        self._calls: list[ToolCall] = []
        self._by_key: dict[str, list[int]] = {}

    def add(
        self, text: str, at: float | None, *, user: bool, calls: list[int] | None = None, attached: tuple[str, ...] = ()
    ) -> None:
        """A message, unless there is nothing in it. `calls` are what `call` gave."""
        if text.strip() or calls or attached:
            self._messages.append((Message(user, text, at, attached=attached), calls or []))

    def call(self, name: object, key: object, given: Any) -> list[int]:
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        self._calls.append(ToolCall(name if isinstance(name, str) else "", clipped(text)))
        number = len(self._calls) - 1
        self._by_key.setdefault(str(key), []).append(number)
        return [number]

    def result(self, key: object, gave: str, *, failed: bool = False) -> None:
        """Of the newest call with that id. Without an id, of the only one that has no result yet."""
        numbers = self._by_key.get(str(key), [])
        if key is None:
            numbers = [number for number in numbers if self._calls[number].gave is None]
        if numbers and (key is not None or len(numbers) == 1):
            self._calls[numbers[-1]] = self._calls[numbers[-1]]._replace(gave=clipped(gave), failed=failed)

    def drop_turns(self, count: int) -> None:
        """Drop the person's last turns, with all that followed: the person undid them."""
        prompts = [index for index, (message, _) in enumerate(self._messages) if message.user]
        if count > 0:
            del self._messages[prompts[-count] if count <= len(prompts) else 0 :]

    def messages(self) -> tuple[Message, ...]:
        return tuple(
            message._replace(calls=tuple(self._calls[number] for number in numbers))
            for message, numbers in self._messages
        )


def clipped(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    left = len(text) - _LONGEST
    return f"{text[: _LONGEST - _TAIL]}\n… {left} characters left out …\n{text[-_TAIL:]}"


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one a line; {} for what is none, so that lines can be counted."""
    return map(files.parsed, io.BytesIO(data))


def parts(content: Any) -> list[dict[str, Any]]:
    """The parts of a message, of which a plain text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def text_of(part: dict[str, Any]) -> str:
    return part["text"] if isinstance(part.get("text"), str) else ""


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
