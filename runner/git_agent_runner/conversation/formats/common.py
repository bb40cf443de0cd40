"""What the forms of all engines need: a new session's facts, times, and ids made of ids."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from git_agent_runner.context import timestamp
from git_agent_runner.conversation.messages import Message, records
from git_agent_runner.core.clock import moment
from git_agent_runner.engines.spec import Piece, StoreQuery, Version


class New(NamedTuple):
    """A session about to be made: its id and directory, the version of its engine, when it begins, and its model."""

    session: str
    cwd: str
    version: str
    at: float
    model: str = ""


class Form(NamedTuple):
    """How one engine's sessions are read, made and cut. All functions are pure.

    `name` makes an id of the engine's shape of any text and the time that it is to tell. `since` is the first version
    that was seen to take a session that no engine wrote, None where none was. `cut` leaves of one piece what was there
    when the turns that began by a time had ended. `model` reads which one the engine would use, where a session must
    name it.
    """

    name: Callable[[str, float], str]
    read: Callable[[tuple[Piece, ...]], tuple[Message, ...]]
    write: Callable[[New, tuple[Message, ...]], tuple[Piece, ...]]
    cut: Callable[[Piece, float], Piece]
    since: Version | None
    model: Callable[[StoreQuery], str | None] | None = None


def uuid4(salt: str, _at: float) -> str:
    """A UUID that is always the same for the same text."""
    digits = _digits(salt)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def uuid7(salt: str, at: float) -> str:
    digits = _digits(salt)
    begin = f"{int(at * 1000) & (1 << 48) - 1:012x}"
    return f"{begin[:8]}-{begin[8:]}-7{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def _digits(salt: str) -> str:
    from hashlib import sha256

    return sha256(salt.encode(errors="surrogateescape")).hexdigest()


def joined(pieces: tuple[Piece, ...]) -> bytes:
    """One after the other: their names begin with when they were made."""
    return b"\n".join(piece.data for piece in sorted(pieces))


Test = Callable[[dict[str, Any]], bool]


def undone(data: bytes, is_said: Test, is_prompt: Test) -> frozenset[int]:
    """The lines, in a tree by `parentUuid`, that the person undid: a later prompt has an earlier parent.

    What comes before the oldest line that the newest one descends from is there anyway: a link may be torn.
    """
    above: dict[str, str] = {}
    place: dict[str, int] = {}
    prompts: list[tuple[int, str]] = []
    newest = None
    for number, record in enumerate(records(data)):
        name, said = record.get("uuid"), is_said(record)
        if not isinstance(name, str):
            continue
        place[name] = number
        above[name] = str(record.get("parentUuid") or record.get("logicalParentUuid"))
        newest = name if said else newest
        if said and is_prompt(record):
            prompts.append((number, name))
    line = _line(newest, above, place)
    first = min((place[name] for name in line), default=0)
    ends = [number for number, _ in prompts[1:]] + [max(place.values(), default=0) + 1]
    gone = [
        range(begin, end)
        for (begin, name), end in zip(prompts, ends, strict=False)
        if name not in line and begin > first
    ]
    return frozenset(number for lines in gone for number in lines)


def _line(newest: str | None, above: dict[str, str], place: dict[str, int]) -> set[str]:
    line: set[str] = set()
    while newest in place and newest not in line:
        line.add(newest)
        newest = above[newest]
    return line


def seconds(record: dict[str, Any]) -> float | None:
    return moment(record.get("timestamp"))


def clock(at: float | None) -> str:
    return timestamp(datetime.fromtimestamp(at or 0.0, UTC))
