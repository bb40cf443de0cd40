"""Lines that are decoded straight into events tell what they tell as objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_agent_extractors import scan
from git_agent_extractors.model import SOURCES, Event, Source
from git_agent_extractors.profile import Mode, Profile
from git_agent_extractors.profiles import NAMES, profile_of
from recordings.recorded import runs

QUICK = {name: profile_of(name) for name in NAMES if profile_of(name).quick is not None}
GOOD = "0199a213-81c0-7800-8aa1-7ffac1586f13"
DECOY = "11111111-1111-4111-8111-111111111111"
SES, CHILD = "ses_154ab1ebdfferuLfjWKE1REEOy", "ses_0childchildchild0000000000"
FIRST: dict[str, dict[str, Any]] = {
    "codex": {"type": "thread.started", "thread_id": GOOD},
    "claude": {"type": "system", "subtype": "init", "session_id": GOOD},
    "gemini": {"type": "init", "session_id": GOOD},
    "opencode": {"type": "step_start", "sessionID": SES},
}
PROPERTY = settings(max_examples=150)


@pytest.fixture(autouse=True, scope="module")
def at_once() -> Iterator[None]:
    """However little there is to read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_MUCH", 0)
        yield


def line(obj: object) -> bytes:
    return json.dumps(obj, ensure_ascii=False).encode()


def item(**fields: object) -> dict[str, Any]:
    return {"type": "item.completed", "item": fields}


def said(*content: object, **fields: object) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": "m", "content": content}, "session_id": GOOD, **fields}


def heard(*content: object, **fields: object) -> dict[str, Any]:
    return {"type": "user", "message": {"content": content}, "session_id": GOOD, **fields}


LINES: dict[str, list[dict[str, Any]]] = {
    "codex": [
        item(type="agent_message", text="done"),
        item(type="reasoning", text="**think**"),
        {"type": "item.started", "item": {"type": "command_execution", "command": "bash -lc 'ls -l'"}},
        item(type="command_execution", command="ls", aggregated_output="a\n", exit_code=0),
        item(type="command_execution", command="ls", aggregated_output="", exit_code=2),
        item(type="file_change", changes=[{"path": "a", "kind": "add"}, {"path": "b", "kind": "update"}]),
        {"type": "item.started", "item": {"type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"n": 1}}},
        item(type="mcp_tool_call", server="s", tool="t", result={"content": [{"type": "text", "text": "r"}]}),
        item(type="mcp_tool_call", server="s", tool="t", error={"message": "no"}, status="failed"),
        item(type="todo_list", items=[]),
        {"type": "item.updated", "item": {"type": "todo_list", "items": []}},
        {"type": "turn.started"},
    ],
    "claude": [
        said({"type": "text", "text": "hello"}, {"type": "thinking", "thinking": "hm"}),
        said({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"timeout": 3, "command": "ls"}}),
        said({"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": [{"content": "x"}]}}),
        heard({"type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": False}),
        heard({"type": "tool_result", "content": [{"type": "text", "text": "b"}, {"type": "image"}], "is_error": True}),
        said({"type": "text", "text": "a sub-agent"}, parent_tool_use_id="t1"),
        heard({"type": "tool_result", "content": "its tool"}, parent_tool_use_id="t1"),
        {"type": "stream_event", "event": {"type": "content_block_delta"}, "session_id": GOOD},
    ],
    "gemini": [
        {"type": "message", "role": "user", "content": "do it"},
        {"type": "message", "role": "assistant", "content": "par", "delta": True},
        {"type": "message", "role": "assistant", "content": "whole"},
        {"type": "tool_use", "tool_name": "read_file", "tool_id": "1", "parameters": {"limit": 5, "path": "a"}},
        {"type": "tool_result", "tool_id": "1", "status": "success", "output": "x"},
        {"type": "tool_result", "tool_id": "1", "status": "error", "output": "no such file", "error": {}},
    ],
    "opencode": [
        {"type": "step_start", "sessionID": SES, "part": {"type": "step-start"}},
        {"type": "text", "sessionID": SES, "part": {"text": "hello"}},
        {"type": "text", "sessionID": CHILD, "part": {"text": "a child's"}},
        {"type": "reasoning", "sessionID": SES, "part": {"text": "hm"}},
        {"type": "tool_use", "part": {"tool": "bash", "state": {"input": {"command": "ls"}, "output": "a"}}},
        {"type": "tool_use", "part": {"tool": "bash", "state": {"status": "error", "error": "no", "output": ""}}},
        {
            "type": "tool_use",
            "part": {"tool": "bash", "state": {"output": "a", "metadata": {"output": "a", "exit": 2}}},
        },
        {"type": "step_finish", "part": {"reason": "tool-calls", "tokens": {"input": 1, "output": 2}, "cost": 0.5}},
        {"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 1}}},
    ],
}


Told = tuple[list[Event], list[str]]


def told(profile: Profile, first: bytes, rest: bytes, source: Source = "stdout") -> Told:
    """Events and warnings of two chunks: what is read at once comes after the first event of the engine."""
    reading = scan.Scan(profile, source, Mode())
    events = [*reading.feed(first), *reading.feed(rest), *reading.close()]
    return events, reading.warnings


def one_by_one(engine: str, first: bytes, rest: bytes, source: Source = "stdout") -> Told:
    return told(profile_of(engine)._replace(quick=None), first, rest, source)


def block(*objects: object) -> bytes:
    return b"".join(line(obj) + b"\n" for obj in objects)


@pytest.mark.parametrize("engine", LINES)
def test_lines_are_read_at_once(engine: str) -> None:
    first, rest = block(FIRST[engine]), block(*LINES[engine])
    quick = QUICK[engine].quick
    assert quick is not None
    (opening, *expected), warnings = one_by_one(engine, first, rest)
    assert opening.kind == "session"
    at_once = quick()(rest, rest.splitlines(), opening.text)
    assert [event for event in expected if event.data != {"model": ""}] == at_once
    assert told(profile_of(engine), first, rest) == ([opening, *expected], warnings)


@pytest.mark.parametrize(
    ("engine", "odd"),
    [
        pytest.param("codex", line(LINES["codex"][0]) * 2, id="two on a line"),
        pytest.param("codex", line(LINES["codex"][0])[:-9], id="torn"),
        pytest.param("claude", line(heard({"content": "of no type"})), id="no type"),
        pytest.param("codex", b"", id="blank"),
        pytest.param("codex", b" " + line(LINES["codex"][0]), id="indented"),
        pytest.param("codex", line(LINES["codex"][0]).replace(b"done", b"d\xffne"), id="not UTF-8"),
        pytest.param("codex", line(LINES["codex"][0]).replace(b"done", b"d\x1b[0mone"), id="controls"),
        pytest.param("codex", line(LINES["codex"][0])[:-1] + b',"x":' + b"[" * 5000, id="too deep"),
        pytest.param("codex", line(item(type="agent_message", text=5)), id="codex: a number for a text"),
        pytest.param("codex", line(item(type="hologram")), id="codex: unknown item"),
        pytest.param("codex", line({"type": "item.completed"}), id="codex: no item"),
        pytest.param("codex", line({"type": "thread.started", "thread_id": DECOY}), id="codex: another id"),
        pytest.param("codex", line({"type": "turn.completed", "usage": {"input_tokens": 5}}), id="codex: end"),
        pytest.param("claude", line(said({"type": "text", "text": "x"}, session_id=DECOY)), id="claude: another id"),
        pytest.param(
            "claude",
            line(said({"type": "text", "text": "x"}, session_id=DECOY, parent_tool_use_id="t1")),
            id="claude: a sub-agent's id",
        ),
        pytest.param("claude", line({**said({"type": "text", "text": "x"}), "session_id": None}), id="claude: no id"),
        pytest.param("claude", line(said({"type": "hologram"})), id="claude: unknown block"),
        pytest.param("claude", line(said(5, "x")), id="claude: no blocks"),
        pytest.param("claude", line({"type": "user", "message": {"content": "words"}}), id="claude: text for blocks"),
        pytest.param(
            "claude",
            line(
                {"type": "assistant", "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "API"}]}}
            ),
            id="claude: synthetic",
        ),
        pytest.param("gemini", line({"type": "init", "session_id": DECOY}), id="gemini: another id"),
        pytest.param("gemini", line({"type": "tool_use", "parameters": None}), id="gemini: null for an object"),
        pytest.param("opencode", line({"type": "text", "part": None}), id="opencode: null for an object"),
        pytest.param(
            "opencode", line({"type": "error", "sessionID": SES, "error": {"name": "x"}}), id="opencode: error"
        ),
    ],
)
def test_what_is_odd_is_read_alone(engine: str, odd: bytes) -> None:
    first, around = block(FIRST[engine]), block(*LINES[engine])
    rest = around + odd + b"\n" + around + b"{cut"
    assert told(profile_of(engine), first, rest) == one_by_one(engine, first, rest)


def test_a_child_is_not_taken_for_the_root() -> None:
    """Lines that name no session do not make opencode's root known."""
    first, rest = block({"type": "step_start"}), block(*LINES["opencode"][1:3])
    events, warnings = told(profile_of("opencode"), first, rest)
    assert [event.text for event in events if event.kind == "session"] == [SES]
    assert (events, warnings) == one_by_one("opencode", first, rest)


@pytest.mark.parametrize("engine", QUICK)
def test_recordings(engine: str) -> None:
    for recording in runs():
        for source in SOURCES if recording.facts.engine == engine else ():
            data = recording.files.get(source, b"")
            cut = data.find(b"\n") + 1
            first, rest = data[:cut], data[cut:] * 3
            assert told(profile_of(engine), first, rest, source) == one_by_one(engine, first, rest, source), (
                f"{engine} {recording.facts.version} {recording.facts.situation}: lines at once tell something else"
            )


values = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.lists(st.text(max_size=3), max_size=2)
)


@st.composite
def altered(draw: st.DrawFn) -> tuple[str, bytes]:
    """A few lines of an engine, some values of which are others."""

    def alter(value: Any) -> Any:
        if draw(st.integers(0, 9)) == 0:
            return draw(values)
        if isinstance(value, dict):
            return {key: alter(inner) for key, inner in value.items() if draw(st.integers(0, 19))}
        return [alter(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    engine = draw(st.sampled_from(sorted(LINES)))
    chosen = draw(st.lists(st.sampled_from(LINES[engine]), min_size=1, max_size=6))
    return engine, block(*map(alter, chosen))


@PROPERTY
@given(altered())
def test_values_of_any_kind(case: tuple[str, bytes]) -> None:
    engine, rest = case
    first = block(FIRST[engine])
    assert told(profile_of(engine), first, rest) == one_by_one(engine, first, rest)


@pytest.mark.parametrize("engine", QUICK)
def test_a_byte_that_is_no_text_anywhere(engine: str) -> None:
    """Within a key, too, which then is another one."""
    first, rest = block(FIRST[engine]), block(*LINES[engine])
    for place in range(len(rest)):
        damaged = rest[:place] + b"\x80" + rest[place:]
        assert told(profile_of(engine), first, damaged) == one_by_one(engine, first, damaged), place


@PROPERTY
@given(st.sampled_from(sorted(LINES)), st.data())
def test_damage_anywhere(engine: str, data: st.DataObject) -> None:
    rest = block(*LINES[engine])
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(rest)))
        end = min(len(rest), start + data.draw(st.integers(0, 20)))
        rest = (
            rest[:start] + data.draw(st.binary(max_size=4) | st.sampled_from([b"\n", b"\r", b"{", b"}"])) + rest[end:]
        )
    first = block(FIRST[engine])
    assert told(profile_of(engine), first, rest) == one_by_one(engine, first, rest)
