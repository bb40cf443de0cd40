"""A long output of codex, made in no time: the session's id stands where the benchmark wants it, or nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

SESSION = "0199a213-81c0-7800-8aa1-7ffac1586f13"
MIB = 1 << 20
_ID = {"type": "thread.started", "thread_id": SESSION}
_NO_ID = {"type": "turn.started"}
_END = {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 0, "output_tokens": 12}}


class Size(NamedTuple):
    """Bytes: of the whole, and of the one line in it that is longer than all others."""

    whole: int = 1024 * MIB
    line: int = 300 * MIB


class Transcript(NamedTuple):
    """`places` are where an id may stand, as offsets."""

    path: str
    places: dict[str, int]


def write(path: Path, size: Size) -> Transcript:
    """Without an id yet."""
    block = b"".join(_line(_output(f"item_{number}", "all is well\n" * 200)) for number in range(400))
    half = (size.whole - size.line) // 2 // len(block)
    with open(path, "wb") as file:
        first = _leave_room(file)
        _repeat(file, block, half)
        middle = _leave_room(file)
        head, tail = _line(_output("item_long", "…")).split("…".encode())
        file.write(head)
        _repeat(file, b"x" * MIB, size.line // MIB)
        file.write(tail)
        _repeat(file, block, half)
        last = _leave_room(file)
        file.write(_line(_END))
    return Transcript(str(path), {"first": first, "middle": middle, "last": last})


def place(transcript: Transcript, where: str) -> None:
    """Put the id there and nowhere else; at no place of that name, it is nowhere."""
    with open(transcript.path, "r+b") as file:
        for name, offset in transcript.places.items():
            file.seek(offset)
            file.write(_padded(_ID if name == where else _NO_ID))


def _leave_room(file: BinaryIO) -> int:
    offset = file.tell()
    file.write(_padded(_NO_ID))
    return offset


def _repeat(file: BinaryIO, data: bytes, times: int) -> None:
    for _ in range(times):
        file.write(data)


def _output(name: str, text: str) -> dict[str, Any]:
    item = {"id": name, "type": "command_execution", "command": "make", "aggregated_output": text, "exit_code": 0}
    return {"type": "item.completed", "item": {**item, "status": "completed"}}


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _padded(event: dict[str, Any]) -> bytes:
    return _line(event)[:-1].ljust(127) + b"\n"
