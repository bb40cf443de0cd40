"""What a person is told of a run: facts that stand in its output and are easily lost."""

from __future__ import annotations

import json
from io import BytesIO

import pytest

from git_agent_extractors.live import Decoder
from git_agent_extractors.model import Event, Source
from git_agent_extractors.read import read_stream


def lines(*objects: object) -> bytes:
    return b"".join(json.dumps(obj).encode() + b"\n" for obj in objects)


def told(engine: str, *objects: object, source: Source = "stdout") -> list[Event]:
    decoder = Decoder(engine)
    return decoder.feed(source, lines(*objects)) + decoder.close()


def test_the_requests_of_an_old_codex_are_added_up() -> None:
    """One `token_count` for each request; later versions print one `turn.completed` (codex/0.29.0/tools)."""
    count = {"id": "0", "msg": {"type": "token_count", "input_tokens": 10, "output_tokens": 5}}
    assert read_stream("codex", BytesIO(lines(*[count] * 4))).usage == {"input_tokens": 40, "output_tokens": 20}


@pytest.mark.parametrize(
    ("state", "failed", "words"),
    [
        pytest.param({"status": "completed", "output": "a", "metadata": {"exit": 2}}, True, "a", id="exit above 0"),
        pytest.param({"status": "completed", "output": "a", "metadata": {"exit": 0}}, False, "a", id="exit 0"),
        pytest.param({"status": "completed", "output": "a", "metadata": {"exit": None}}, False, "a", id="no exit"),
        pytest.param({"status": "completed", "output": "a"}, False, "a", id="no command"),
        pytest.param({"status": "error", "error": "no", "output": "a"}, True, "no", id="error"),
    ],
)
def test_a_command_that_failed_is_a_failed_tool_of_opencode(state: object, failed: bool, words: str) -> None:
    result = told("opencode", {"type": "tool_use", "part": {"tool": "bash", "state": state}})[-1]
    assert (result.kind, result.text, result.data) == ("tool_result", words, {"failed": True} if failed else {})


def test_what_opencode_counts_beside_input_and_output_is_told_and_added_up() -> None:
    tokens = {"input": 2, "output": 3, "reasoning": 5, "cache": {"read": 7, "write": 0}}
    step = {"type": "step_finish", "part": {"reason": "tool-calls", "tokens": tokens, "cost": 0.5}}
    assert read_stream("opencode", BytesIO(lines(step, step))).usage == {
        "input_tokens": 4,
        "output_tokens": 6,
        "cost_usd": 1.0,
        "reasoning_output_tokens": 10,
        "cache_read_input_tokens": 14,
    }


def test_the_words_of_a_refused_id_are_told() -> None:
    """opencode/1.1.34/resume-malformed"""
    printed = b'ZodError: [\n  {\n    "message": "Invalid string: must start with \\"ses\\""\n  }\n]\n'
    found = read_stream("opencode", BytesIO(printed), "stderr")
    assert (found.status, found.error) == ("failed", 'Invalid string: must start with \\"ses\\"')


@pytest.mark.parametrize(
    ("item", "words"),
    [
        pytest.param({"result": {"content": [{"type": "text", "text": "r"}]}}, "r", id="text"),
        pytest.param(
            {"result": {"content": [], "structured_content": {"n": 1}}}, '{"content":[],"structured', id="none"
        ),
        pytest.param({"result": None, "error": {"message": "no"}}, "no", id="error"),
        pytest.param({"result": "plain"}, "plain", id="a string"),
    ],
)
def test_the_text_of_an_mcp_result_is_told(item: dict[str, object], words: str) -> None:
    event = {"type": "item.completed", "item": {"type": "mcp_tool_call", "server": "s", "tool": "t", **item}}
    (result,) = told("codex", event)
    assert result.text.startswith(words)
