"""Two states of a session: which goes on from the other, and what each holds. faults A7"""

from __future__ import annotations

import json
from typing import Any

import pytest

from git_agent_runner.conversation.states import Behind, compare
from git_agent_runner.engines import load
from git_agent_runner.store.session_copies import Copy

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


def claude(kind: str, **message: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"role": kind, **message}}


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "payload": payload}


def gemini(kind: str, **message: Any) -> dict[str, Any]:
    return {"id": f"{kind}{len(str(message))}", "type": kind, **message}


def copilot(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


SAID: list[Any] = [{"type": "text", "text": "ok"}]
BEGUN = codex("event_msg", type="task_started")
REPLY = codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "ok"}])
PROMPT = codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "go"}])
ANSWER = copilot("assistant.message", content="ok", toolRequests=[])
QWEN = {"type": "assistant", "message": {"role": "model", "parts": [{"text": "ok"}]}}
CALL = {"type": "assistant", "message": {"role": "model", "parts": [{"functionCall": {"name": "run"}}]}}


@pytest.mark.parametrize(
    ("engine", "records", "ends"),
    [
        pytest.param("claude", [claude("user", content="go"), claude("assistant", stop_reason="end_turn")], True),
        pytest.param("claude", [claude("user", content="go")], False),
        pytest.param("claude", [claude("assistant", stop_reason="tool_use")], False),
        pytest.param("claude", [claude("assistant", stop_reason=None, content=SAID)], False),
        pytest.param(
            "claude",
            [claude("assistant", stop_reason="end_turn"), claude("user", content=[{"text": "[Request"}])],
            False,
        ),
        pytest.param(
            "claude",
            [claude("user", content="go"), claude("assistant", model="<synthetic>", stop_reason="stop_sequence")],
            False,
        ),
        pytest.param("claude", [{"type": "mode"}], None),
        pytest.param("codex", [BEGUN, PROMPT, REPLY, codex("event_msg", type="task_complete")], True),
        pytest.param("codex", [BEGUN, PROMPT, REPLY], False),
        pytest.param("codex", [BEGUN, PROMPT, codex("event_msg", type="turn_aborted")], False),
        pytest.param("codex", [PROMPT, REPLY], True),
        pytest.param("codex", [PROMPT, REPLY, PROMPT], False),
        pytest.param("codex", [PROMPT, codex("response_item", type="function_call")], False),
        pytest.param("gemini", [gemini("user", content="go"), gemini("gemini", content="ok")], True),
        pytest.param("gemini", [gemini("user", content="go"), gemini("info", content="Request cancelled.")], False),
        pytest.param("gemini", [gemini("gemini", content="so", toolCalls=[{"name": "run"}])], False),
        pytest.param("qwen", [{"type": "user", "message": {"parts": [{"text": "go"}]}}, QWEN], True),
        pytest.param("qwen", [QWEN, {"type": "user", "message": {"parts": [{"text": "go"}]}}], False),
        pytest.param("qwen", [QWEN, CALL, {"type": "tool_result", "message": {"parts": []}}], False),
        pytest.param(
            "copilot", [copilot("user.message"), ANSWER, copilot("assistant.turn_end"), copilot("abort")], True
        ),
        pytest.param("copilot", [ANSWER, copilot("user.message"), copilot("assistant.turn_start")], False),
        pytest.param("copilot", [copilot("assistant.message", content="", toolRequests=[{}])], False),
    ],
)
def test_a_finished_turn(engine: str, records: list[dict[str, Any]], ends: bool | None) -> None:
    """Faults G1. As in the stores of codex 0.171.0 and 0.36.0, claude 2.1.332, gemini 0.61.0 and copilot 1.0.102."""
    ended = load(engine).ended
    assert ended
    assert ended(lines(*records)["s.jsonl"]) is ends


@pytest.mark.parametrize(
    ("info", "ends"),
    [
        pytest.param({"role": "assistant", "time": {"completed": 2}, "finish": "stop"}, True, id="finished"),
        pytest.param(
            {"role": "assistant", "time": {"completed": 2}, "finish": "tool-calls"}, False, id="asked for a tool"
        ),
        pytest.param(
            {"role": "assistant", "time": {"completed": 2}, "error": {"name": "MessageAborted"}}, False, id="cut off"
        ),
        pytest.param({"role": "assistant", "time": {"created": 1}}, False, id="under way"),
        pytest.param({"role": "user", "time": {"created": 1}}, False, id="asked"),
    ],
)
def test_a_finished_turn_of_opencode(info: dict[str, Any], ends: bool) -> None:
    """Faults G1. As 1.18.33 exports it."""
    ended = load("opencode").ended
    assert ended
    assert ended(json.dumps({"messages": [{"info": {"id": "msg_1", **info}, "parts": []}]}).encode()) is ends
