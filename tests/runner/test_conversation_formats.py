"""Engines' sessions read into messages, made of messages, and cut: from real stores, and from hostile ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from git_agent_runner.conversation import formats, handing, states
from git_agent_runner.conversation.formats.common import Form, New, clock
from git_agent_runner.conversation.messages import Message, ToolCall
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import Piece
from support import docs

REAL = Path(__file__).with_name("conversations")  # made on 2026-11-29 by the versions in the names; cut to what counts
NAMES = {path.name.partition("-")[0]: path for path in sorted(REAL.iterdir())}
ENGINES = sorted(NAMES)
LINES = [engine for engine in ENGINES if engine != "opencode"]  # its form is one document
TALK = (
    Message(True, "one\n  with lines", 1795825492.25),
    Message(False, "answer «one»", 1795825493.5),
    Message(True, "two", 1795825494.75),
    Message(False, "answer two", 1795825496.0),
)


def form(engine: str) -> Form:
    return formats.form(load(engine))


def real(engine: str) -> Piece:
    return Piece("chats/session-2026-11-29T05-50-ca020626.jsonl", NAMES[engine].read_bytes())


def of(*lines: Any) -> tuple[Piece, ...]:
    return (Piece("s.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines)),)


def said(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if message.user]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_real_conversation_is_read_with_its_tool_call(engine: str) -> None:
    messages = form(engine).read((real(engine),))
    assert [message.user for message in messages] == [True, False, False, True, False]
    assert said(messages) == ["MK1 TOOLCALL hello", "MK2 go on"]
    assert [messages[2].text.splitlines()[-1], messages[4].text] == [
        "user turns 1, markers MK1",
        "user turns 2, markers MK1 MK2",
    ]
    ((call,),) = [message.calls for message in messages if message.calls]
    assert ('"pwd"' in call.given, "/home/ada/site" in str(call.gave), call.failed) == (True, True, False)
    times = [message.at or 0.0 for message in messages]
    assert times == sorted(times)
    assert times[0] > 1795000000


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cut_leaves_the_turns_that_began_by_then(engine: str) -> None:
    whole = form(engine).read((real(engine),))
    piece = form(engine).cut(real(engine), (whole[0].at or 0.0) + 1)
    assert form(engine).read((piece,)) == whole[:3]
    assert form(engine).cut(real(engine), 1e12).data.startswith(piece.data[:100])
    assert form(engine).read((form(engine).cut(real(engine), 1e12),)) == whole


@pytest.mark.parametrize("engine", LINES)
def test_a_cut_takes_away_and_changes_nothing(engine: str) -> None:
    first = form(engine).read((real(engine),))[0].at or 0.0
    assert real(engine).data.startswith(form(engine).cut(real(engine), first + 1).data)


def test_a_cut_of_codex_has_the_turns_that_were_rolled_back_later() -> None:
    whole = real("codex")
    roll = {"timestamp": "2030-01-01T00:00:00Z", "type": "event_msg", "payload": {"type": "thread_rolled_back"}}
    roll["payload"] |= {"num_turns": 1}  # type: ignore[operator]  # which is a mapping
    (line,) = of(roll)
    then = whole._replace(data=whole.data + line.data)
    assert said(form("codex").read((then,))) == ["MK1 TOOLCALL hello"]
    assert form("codex").cut(then, 1890000000.0) == whole
    assert form("codex").cut(then, 1900000000.0) == then


def test_a_cut_of_opencode_has_the_turns_that_were_reverted_later() -> None:
    found = json.loads(real("opencode").data)
    found["info"]["revert"] = {"messageID": found["messages"][3]["info"]["id"]}
    found["info"]["time"]["updated"] = 1900000000_000
    piece = Piece("", json.dumps(found).encode())
    assert said(form("opencode").read((piece,))) == ["MK1 TOOLCALL hello"]
    texts = [said(form("opencode").read((form("opencode").cut(piece, at),))) for at in (1890000000.0, 1900000000.0)]
    assert texts == [["MK1 TOOLCALL hello", "MK2 go on"], ["MK1 TOOLCALL hello"]]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_cut_of_gemini_is_made_in_a_document_too(indent: int | None) -> None:
    times = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    talk = [
        {"id": f"{kind}{at}", "type": kind, "timestamp": at, "content": f"{kind} {at}"}
        for at in times
        for kind in ("user", "gemini")
    ]
    old = Piece("chats/a.json", json.dumps({"sessionId": "s", "messages": talk}, indent=indent).encode())
    cut = json.loads(form("gemini").cut(old, 1767300000.0).data)
    assert cut == {"sessionId": "s", "messages": talk[:2]}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_written_is_read_again(engine: str) -> None:
    name = form(engine).name("salt", 1795825492.25)
    assert load(engine).id_pattern.fullmatch(name)
    assert name == form(engine).name("salt", 1795825492.25) != form(engine).name("other", 1795825492.25)
    pieces = form(engine).write(New(name, "/home/ada/a site", "1.2.3", 1795825492.25), TALK)
    assert form(engine).read(pieces) == TALK


RECORDED = sorted((docs.ROOT / "fixtures/recordings").glob("*/*/*/session-head"))


@pytest.mark.parametrize("engine", LINES)
def test_the_beginnings_of_recorded_sessions_hold_what_the_model_was_shown(engine: str) -> None:
    """The other witness is the model server's log of then, which a killed prompt may never have reached."""
    seen, yaml = 0, YAML(typ="safe")
    for path in (path for path in RECORDED if path.parts[-4] == engine and "kill" not in path.parts[-2]):
        heard = yaml.load((path.parent / "turns.yaml").read_text()) or []
        texts = [text for text in said(form(engine).read((Piece("s.jsonl", path.read_bytes()),))) if "…[" not in text]
        if heard and texts:
            assert [text for text in texts if text not in heard] == [], path
            seen += 1
    assert seen >= 30


HOSTILE: list[Any] = [None, [], {}, "x", 7, True, [[]], [None], {"type": []}, [{"type": "text", "text": 7}]]
HOSTILE += [{"output": {"output": []}}, 1e999, "\ud800", [{"type": "tool_use"}], {"a": {"b": {"c": [1, {"d": None}]}}}]


def spoilt(value: Any, bad: Any) -> list[Any]:
    """The same with one thing in it, at any depth, replaced."""
    found = [bad]
    if isinstance(value, dict):
        found += [{**value, key: one} for key, inner in value.items() for one in spoilt(inner, bad)]
    if isinstance(value, list):
        found += [[*value[:at], one, *value[at + 1 :]] for at, inner in enumerate(value) for one in spoilt(inner, bad)]
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", HOSTILE, ids=repr)
def test_what_is_not_as_it_should_be_is_passed_over(engine: str, bad: Any) -> None:
    data = real(engine).data
    lines = data.splitlines() if engine in LINES else [data]
    for line in lines:
        for other in spoilt(json.loads(line), bad)[:: 7 if engine in LINES else 31]:
            piece = real(engine)._replace(data=data.replace(line, json.dumps(other).encode()))
            assert isinstance(form(engine).read((piece,)), tuple)
            assert isinstance(form(engine).cut(piece, 1795931330.0), Piece)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "data", [b"", b"\0" * 99, b"{", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\n\xfe", b"null\n1\n"]
)
def test_what_is_no_session_holds_nothing(engine: str, data: bytes) -> None:
    assert form(engine).read((Piece("s.jsonl", data),)) == ()
    assert form(engine).read(()) == ()


def claude(name: str, above: str | None, kind: str = "user", /, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": name}]
    return {"type": kind, "uuid": name, "parentUuid": above, "message": {"content": content}, **more}


def test_claude_turns_that_were_taken_back_are_gone() -> None:
    one, answer = claude("one", None), claude("a", "one", "assistant")
    lines = (one, answer, claude("two", "a"), claude("b", "two", "assistant"), claude("three", "a"))
    assert said(form("claude").read(of(*lines))) == ["one", "three"]
    torn = (one, answer, claude("two", "nowhere"), claude("b", "two", "assistant"))
    assert said(form("claude").read(of(*torn))) == ["one", "two"]
    summed = (one, answer, claude("two", None, logicalParentUuid="a", isCompactSummary=True), claude("three", "two"))
    assert said(form("claude").read(of(*summed))) == ["one", "three"]


@pytest.mark.parametrize("mark", ["isMeta", "isSidechain", "isApiErrorMessage"])
def test_claude_puts_in_lines_that_nobody_said(mark: str) -> None:
    lines = (claude("one", None), claude("two", "one", **{mark: True}))
    assert said(form("claude").read(of(*lines))) == ["one"]


def test_claude_thinks_attaches_and_fails() -> None:
    thinks = {"type": "thinking", "thinking": "secret", "signature": "s"}
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "false"}}
    failed = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": [{"type": "text", "text": "no"}]}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x" * 9999}}
    lines = (
        claude("one", None, message={"content": [{"type": "text", "text": "one"}, picture]}),
        claude("a", "one", "assistant", message={"content": [thinks, call]}),
        claude("r", "a", message={"content": [failed]}),
    )
    assert form("claude").read(of(*lines)) == (
        Message(True, "one", attached=("image/png",)),
        Message(False, "", calls=(ToolCall("Bash", '{"command": "false"}', "no", failed=True),)),
    )


def results(engine: str, *uses: tuple[Any, str | None]) -> list[str | None]:
    """What each call is read to have returned, of calls with these ids whose results follow, each with its own."""
    lines: list[dict[str, Any]] = []
    for number, (key, gave) in enumerate(uses):
        call = {"type": "tool_use", "id": key, "name": "Bash", "input": number}
        lines.append(claude(f"a{number}", None, "assistant", message={"content": [call]}))
        if engine == "codex":
            lines[-1] = codex_item(type="function_call", name="shell", arguments=str(number), call_id=key)
        if gave is not None:
            result = {"type": "tool_result", "tool_use_id": key, "content": gave}
            lines.append(claude(f"r{number}", None, message={"content": [result]}))
            if engine == "codex":
                lines[-1] = codex_item(type="function_call_output", call_id=key, output=gave)
    calls = [call for message in form(engine).read(of(*lines)) for call in message.calls]
    assert [call.given for call in calls] == [str(number) for number in range(len(uses))]
    return [call.gave for call in calls]


def codex_item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


@pytest.mark.parametrize("engine", ["claude", "codex"])
@pytest.mark.parametrize(
    "uses",
    [
        pytest.param([("call_0", "one"), ("call_0", "two")], id="used again"),
        pytest.param([("call_0", None), ("call_0", "two")], id="used again after a call that was cut off"),
        pytest.param([(None, "one"), (None, "two")], id="none"),
        pytest.param([(None, None), ("None", "two")], id="one that reads like none"),
    ],
)
def test_ids_of_calls_are_no_keys(engine: str, uses: list[tuple[Any, str | None]]) -> None:
    found = results(engine, *uses)
    assert found == [gave for _, gave in uses]


def test_a_result_without_an_id_is_nobodys_where_two_may_have_it() -> None:
    assert results("claude", (None, None), (None, "two")) == [None, None]


def test_opencode_uses_ids_of_calls_again() -> None:
    found = json.loads(real("opencode").data)
    (place,) = [
        (number, at)
        for number, message in enumerate(found["messages"])
        for at, part in enumerate(message["parts"])
        if part["type"] == "tool"
    ]
    again = json.loads(json.dumps(found["messages"][place[0]]))
    again["parts"][place[1]] |= {"id": "prt_other"}
    again["parts"][place[1]]["state"]["output"] = "another"
    found["messages"].append(again)
    messages = form("opencode").read((Piece("", json.dumps(found).encode()),))
    first, second = [call.gave for message in messages for call in message.calls]
    assert ("/home/ada/site" in str(first), second) == (True, "another")


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59"]
)
def test_a_date_that_is_none_on_a_clock_in_utc_is_none(text: str) -> None:
    line = claude("one", None, timestamp=text)
    (message,) = form("claude").read(of(line))
    clock(message.at)
    assert form("claude").cut(of(line)[0], 1e9).data in (b"", of(line)[0].data)
    for turn in load("claude").turns(of(line)[0].data):
        assert str(states._state([turn], None)).startswith("1 turn")


@pytest.mark.parametrize("created", [float("inf"), 10**400, -1, 1e17])
def test_a_time_that_no_clock_has_is_none(created: float) -> None:
    document = json.loads(real("opencode").data)
    document["messages"][0]["info"]["time"]["created"] = created
    piece = real("opencode")._replace(data=json.dumps(document).encode())
    assert form("opencode").read((piece,))[0].at is None
    assert next(iter(load("opencode").turns(piece.data))).at is None
    at = float("inf") if created == 10**400 else created
    assert [message.at for message in handing._dated((Message(True, "one", at), TALK[1]))] == [TALK[1].at] * 2


def codex(text: str, role: str = "user") -> dict[str, Any]:
    return {
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]},
    }


def test_codex_turns_that_were_rolled_back_are_gone() -> None:
    back, all_back = (
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": number}} for number in (1, 9)
    )
    lines = (codex("one"), codex("a", "assistant"), codex("two"), codex("b", "assistant"), back, codex("three"))
    assert said(form("codex").read(of(*lines))) == ["one", "three"]
    assert said(form("codex").read(of(*lines[:4], all_back))) == []


def test_codex_puts_in_what_nobody_said_and_a_tag_is_no_sign_of_it() -> None:
    context = codex("<environment_context>\n  <cwd>/</cwd>\n</environment_context>")
    rules = codex("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>")
    words = ["<b> is not closed", "<p>x</p> and words", "<task>Fix it</task>", "# AGENTS.md instructions are wrong"]
    assert said(form("codex").read(of(rules, context, *map(codex, words)))) == words


@pytest.mark.parametrize(
    ("output", "gave", "failed"),
    [
        pytest.param("plain", "plain", False, id="as text"),
        pytest.param('{"output":"x","metadata":{"exit_code":2}}', "x", True, id="as an object in a text"),
        pytest.param([{"type": "input_text", "text": "x"}], "x", False, id="in parts"),
        pytest.param({"content": "x", "success": False}, "x", True, id="as an object"),
    ],
)
def test_codex_results_have_several_forms(output: Any, gave: str, failed: bool) -> None:
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}
    result = {"type": "function_call_output", "call_id": "c", "output": output}
    lines = ({"type": "response_item", "payload": one} for one in (call, result))
    assert form("codex").read(of(*lines)) == (Message(False, "", calls=(ToolCall("shell", "{}", gave, failed),)),)


def test_gemini_turns_that_were_taken_back_are_gone() -> None:
    one, two = ({"id": name, "type": "user", "content": [{"text": name}]} for name in ("one", "two"))
    assert said(form("gemini").read(of({"sessionId": "s"}, one, two, {"$rewindTo": "two"}))) == ["one"]
    assert said(form("gemini").read(of({"sessionId": "s"}, one, two, {"$set": {"messages": [two]}}))) == ["two"]


def test_gemini_goes_on_in_another_file() -> None:
    one, two = ({"id": name, "type": "user", "content": name} for name in ("one", "two"))
    later, earlier = (Piece(f"chats/{name}", of(line)[0].data) for name, line in (("b", two), ("a", one)))
    assert said(form("gemini").read((later, earlier))) == ["one", "two"]
    old = Piece("chats/a.json", json.dumps({"sessionId": "s", "messages": [one, two]}, indent=2).encode())
    assert said(form("gemini").read((old,))) == ["one", "two"]


def qwen(name: str, above: str | None, kind: str = "user", /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": name, "parentUuid": above, "message": {"parts": [{"text": name}]}, **more}


def test_qwen_turns_that_were_taken_back_are_gone() -> None:
    one, answer = qwen("one", None), qwen("a", "one", "assistant")
    lines = (one, answer, qwen("two", "a"), qwen("b", "two", "assistant"), qwen("three", "a"))
    assert said(form("qwen").read(of(*lines))) == ["one", "three"]


def test_qwen_thinks_fails_and_speaks_for_itself() -> None:
    call = {"functionCall": {"id": "c", "name": "run_shell_command", "args": {"command": "false"}}}
    thought = {"text": "secret", "thought": True}
    failed = {"functionResponse": {"id": "c", "response": {"error": "no"}}}
    picture = {"inlineData": {"mimeType": "image/png", "data": "x" * 9999}}
    lines = (
        qwen("one", None, message={"parts": [{"text": "one"}, picture]}),
        qwen("a", "one", "assistant", message={"parts": [thought, call]}),
        qwen("r", "a", "tool_result", message={"parts": [failed]}),
        qwen("two", "r", provenance="goal_runtime"),
    )
    assert form("qwen").read(of(*lines)) == (
        Message(True, "one", attached=("image/png",)),
        Message(False, "", calls=(ToolCall("run_shell_command", '{"command": "false"}', "no", failed=True),)),
    )


def copilot(name: str, kind: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": f"{kind}.message", "id": name, "data": {"content": name, **more}}


def test_copilot_turns_that_were_taken_back_are_gone() -> None:
    back, none = ({"type": "session.snapshot_rewind", "data": {"upToEventId": name}} for name in ("two", "nowhere"))
    lines = (copilot("one"), copilot("a", "assistant"), copilot("two"), back, none, copilot("three"))
    assert said(form("copilot").read(of(*lines))) == ["one", "three"]


def test_copilot_fails_attaches_and_has_agents_of_its_own() -> None:
    call = {"toolCallId": "c", "name": "bash", "arguments": {"command": "false"}}
    done = {"toolCallId": "c", "success": False, "error": {"message": "no"}}
    lines = (
        copilot("one", attachments=[{"type": "file", "path": "/w/a.png", "displayName": "a.png"}]),
        copilot("", "assistant", toolRequests=[call]),
        {**copilot("two"), "agentId": "a"},
        {"type": "tool.execution_complete", "data": done},
    )
    assert [turn.prompt for turn in load("copilot").turns(of(*lines)[0].data)] == [True, False]
    assert form("copilot").read(of(*lines)) == (
        Message(True, "one", attached=("a.png",)),
        Message(False, "", calls=(ToolCall("bash", '{"command": "false"}', "no", failed=True),)),
    )


def test_opencode_turns_that_were_taken_back_are_gone() -> None:
    found = json.loads(real("opencode").data)
    found["info"]["revert"] = {"messageID": found["messages"][3]["info"]["id"]}
    assert said(form("opencode").read((Piece("", json.dumps(found).encode()),))) == ["MK1 TOOLCALL hello"]


def test_message_ids_of_opencode_are_in_order_whatever_the_time() -> None:
    """The clock in opencode's own ids wraps, last on 2026-08-14: ids begin with a plain count."""
    from git_agent_runner.conversation.formats import opencode

    before = 1786706395.0 - 60
    new = New("ses_1", "/w", "1.18.33", before, "a/b")
    said = tuple(Message(number % 2 == 0, "x", before + 60 * number) for number in range(4))
    written = json.loads(opencode.write(new, said)[0].data)["messages"]
    starts = [one["info"]["id"][:16] for one in written]
    assert starts == [f"msg_{number:012x}" for number in range(4)]
