"""What codex alone prints: when its session is known, and commands in the clothes of a shell."""

from __future__ import annotations

import json

import pytest

from git_agent_extractors.live import Decoder
from git_agent_fixtures.recording import folder
from recordings.recorded import ROOT


def test_session_comes_as_soon_as_its_line_is_printed() -> None:
    recording = folder.read(ROOT / "codex" / "0.171.0" / "17-kill-SIGTERM")
    first = recording.files["stdout"].split(b"\n")[0]
    decoder = Decoder("codex")
    assert decoder.feed("stdout", first) == []
    (event,) = decoder.feed("stdout", b"\n")
    assert (event.kind, event.data) == ("session", {"value": recording.truth.session})


@pytest.mark.parametrize(
    ("item", "seen"),
    [
        pytest.param("/bin/bash -lc 'echo hi > a && echo \"b\"'", 'echo hi > a && echo "b"', id="0.171"),
        pytest.param("bash -lc \"echo 'it'\"", "echo 'it'", id="other quotes"),
        pytest.param("bash -lc 'echo", "bash -lc 'echo", id="open quote"),
        pytest.param("bash -lc 'a' b", "bash -lc 'a' b", id="more words"),
        pytest.param("bash -lc '", "bash -lc '", id="a quote alone"),
        pytest.param("bash -lc ", "bash -lc ", id="nothing"),
        pytest.param("git status", "git status", id="no shell"),
        pytest.param('bash -lc "echo \\"a\\" \\$HOME \\n"', 'echo "a" $HOME \\n', id="escapes"),
        pytest.param("sh -c 'it'\\''s'\" \"so", "it's so", id="several quotes"),
        pytest.param(f"sh -c '{'x' * 20_000}'", "x" * 20_000, id="huge"),
        pytest.param(f"sh -c {'x' * 20_000}'", f"sh -c {'x' * 20_000}'", id="huge, open quote"),
    ],
)
def test_codex_command_without_its_shell(item: str, seen: str) -> None:
    line = {"type": "item.started", "item": {"type": "command_execution", "command": item}}
    (event,) = Decoder("codex").feed("stdout", json.dumps(line).encode() + b"\n")
    assert (event.kind, event.text) == ("tool_call", seen)


def test_old_codex_command_without_its_shell() -> None:
    line = {"id": "1", "msg": {"type": "exec_command_begin", "command": ["bash", "-lc", "echo 'a b'"]}}
    (event,) = Decoder("codex").feed("stdout", json.dumps(line).encode() + b"\n")
    assert event.text == "echo 'a b'"
