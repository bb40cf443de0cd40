"""Every recording: the session its store knows, the verdict, and the whole transcript."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from extractors.recorded import RECORDINGS, Recording
from git_agent_extractors.find import find_session, search
from git_agent_extractors.live import Decoder
from git_agent_extractors.model import Event
from git_agent_extractors.profiles import PROFILES
from git_agent_extractors.read import events, read

EACH = pytest.mark.parametrize("recording", [pytest.param(r, id=r.name) for r in RECORDINGS])


@EACH
def test_session_is_the_stores(recording: Recording) -> None:
    value = read(recording.engine, recording.sources).session.value
    if recording.session is None:
        assert value is None
    else:
        assert value is not None
        assert value.startswith(recording.session)


@EACH
def test_status_is_what_happened(recording: Recording) -> None:
    assert read(recording.engine, recording.sources, exit_status=recording.exit_status).status == recording.status


@EACH
def test_transcript(recording: Recording, snapshot: SnapshotAssertion) -> None:
    transcript = read(recording.engine, recording.sources, exit_status=recording.exit_status)
    assert transcript._asdict() == snapshot
    assert transcript.unknown_events == {}


@EACH
@pytest.mark.parametrize("window", [512, 4096])
def test_windows_find_what_reading_finds(recording: Recording, window: int) -> None:
    transcript = read(recording.engine, recording.sources)
    expected = (transcript.session, transcript.source)
    assert search(PROFILES[recording.engine], recording.sources, window) == expected
    assert find_session(recording.engine, recording.sources) == expected


@EACH
def test_events_are_those_that_are_counted(recording: Recording) -> None:
    counted = read(recording.engine, recording.sources).events
    assert Counter(event.kind for event in events(recording.engine, recording.sources)) == counted


@EACH
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_give_the_events_of_the_whole(recording: Recording, size: int) -> None:
    assert decoded(recording, size) == decoded(recording, 1 << 20)


def decoded(recording: Recording, size: int) -> list[Event]:
    decoder = Decoder(recording.engine)
    found: list[Event] = []
    for source, path in recording.sources.items():
        data = path.read_bytes()
        for start in range(0, len(data), size):
            found += decoder.feed(source, data[start : start + size])
    return found + decoder.close()


def test_session_comes_as_soon_as_its_line_is_printed(tmp_path: Path) -> None:
    recording = next(r for r in RECORDINGS if r.name == "codex-0.171.0-17-kill-SIGTERM")
    first = recording.sources["stdout"].read_bytes().split(b"\n")[0]
    decoder = Decoder("codex")
    assert decoder.feed("stdout", first) == []
    (event,) = decoder.feed("stdout", b"\n")
    assert (event.kind, event.data) == ("session", {"value": recording.session})


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
