"""Two states of a session: which goes on from the other, and what each holds. faults A7"""

from __future__ import annotations

import json
from typing import Any

import pytest

from git_agent_runner.conversation.states import Behind, compare
from git_agent_runner.engines import load
from git_agent_runner.store.copies import Copy

COPY = Copy("claude", "2.1.332", "s", "/w", "/w", "2026-11-28T12:00:00.000Z", ())


def said(name: str, kind: str = "user", **more: Any) -> dict[str, Any]:
    content = "the words" if kind == "user" else [{"type": "text", "text": "ok"}]
    when = f"2026-11-28T10:{name}:00.000Z"
    return {"type": kind, "uuid": name, "timestamp": when, "cwd": "/w", "message": {"content": content}, **more}


ONE, ONE_REPLY = said("01"), said("02", "assistant")
TOOL = said("03", message={"content": [{"type": "tool_result", "content": "ok"}]})
TWO, TWO_REPLY = said("04"), said("05", "assistant")
BY_HAND = said("06")
MODE = {"type": "mode", "mode": "normal"}
WHOLE = (ONE, ONE_REPLY, TOOL, TWO, TWO_REPLY)


def lines(*records: dict[str, Any]) -> dict[str, bytes]:
    return {"s.jsonl": b"".join(json.dumps(record).encode() + b"\n" for record in records)}


def beside(there: tuple[dict[str, Any], ...]) -> Behind | None:
    return compare(load("claude"), lines(*there), lines(*WHOLE), COPY)


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(WHOLE, id="the same"),
        pytest.param((*WHOLE, BY_HAND), id="a continuation"),
        pytest.param((MODE, *WHOLE), id="with a line that is no message"),
        pytest.param((*({**record, "cwd": "/elsewhere"} for record in WHOLE), BY_HAND), id="of a moved directory"),
    ],
)
def test_what_goes_on_is_not_behind(there: tuple[dict[str, Any], ...]) -> None:
    assert beside(there) is None


@pytest.mark.parametrize(
    ("there", "older", "has_last", "turns"),
    [
        pytest.param((ONE, ONE_REPLY), True, False, 1, id="earlier"),
        pytest.param((ONE, ONE_REPLY, MODE), True, False, 1, id="earlier, and opened since"),
        pytest.param((ONE, ONE_REPLY, TOOL, TWO), True, False, 2, id="cut off in the last reply"),
        pytest.param((ONE, ONE_REPLY, BY_HAND), False, False, 2, id="parted"),
        pytest.param((ONE, TWO, TWO_REPLY, BY_HAND), False, True, 3, id="parted, with the last message"),
    ],
)
def test_what_lacks_something_is_behind(
    there: tuple[dict[str, Any], ...], older: bool, has_last: bool, turns: int
) -> None:
    found = beside(there)
    assert found
    assert (found.older, found.has_last, found.state.turns, found.copy.turns) == (older, has_last, turns, 2)
    assert str(found.copy) == "2 turns, the last of 2026-11-28T10:05:00.000Z"


def test_a_document_is_compared_by_its_messages() -> None:
    def document(*names: str) -> dict[str, bytes]:
        infos = [{"id": name, "role": "user", "time": {"created": 1795860000000}} for name in names]
        return {
            "session.json": json.dumps({"info": {}, "messages": [{"info": i, "parts": []} for i in infos]}).encode()
        }

    engine = load("opencode")
    assert compare(engine, document("a", "b", "c"), document("a", "b"), COPY) is None
    earlier, parted = (compare(engine, document(*there), document("a", "b"), COPY) for there in ("a", "ac"))
    assert earlier
    assert parted
    assert (earlier.older, parted.older, parted.has_last) == (True, False, False)
