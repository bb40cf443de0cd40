"""Hostile and damaged input: ids in the wrong place, torn bytes, terminals, and properties over anything."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_agent_extractors.find import find_session, search
from git_agent_extractors.lines import LINE_CAP, Lines
from git_agent_extractors.live import Decoder
from git_agent_extractors.model import SOURCES, Event, Source, Transcript
from git_agent_extractors.profiles import NAMES, profile_of
from git_agent_extractors.read import read, read_file, read_stream
from recordings.recorded import runs

GOOD = "0199a213-81c0-7800-8aa1-7ffac1586f13"
DECOY = "11111111-1111-4111-8111-111111111111"
SES, CHILD = "ses_154ab1ebdfferuLfjWKE1REEOy", "ses_0childchildchild0000000000"
INIT = f'{{"type":"system","subtype":"init","session_id":"{GOOD}"}}\n'
STARTED = f'{{"type":"thread.started","thread_id":"{GOOD}"}}\n'
BANNER = f"OpenAI Codex v0.171.0\n--------\nmodel: m\nsession id: {GOOD}\n--------\nuser\n"
PROPERTY = settings(max_examples=150)


def reading(tmp_path: Path, engine: str, exit_status: int | None = None, **printed: str | bytes) -> Transcript:
    """What `read` says of these sources; `pty` is the pty-output."""
    sources: dict[Source, Path] = {}
    for name, value in printed.items():
        source: Source = next(s for s in SOURCES if s.startswith(name))
        sources[source] = tmp_path / source
        sources[source].write_bytes(value.encode() if isinstance(value, str) else value)
    transcript = read(engine, sources, exit_status=exit_status)
    assert find_session(engine, sources) == (transcript.session, transcript.source)
    return transcript


@pytest.mark.parametrize(
    ("engine", "stdout", "right"),
    [
        pytest.param(
            "codex",
            STARTED + json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": STARTED}}),
            GOOD,
            id="codex: quoted in a message",
        ),
        pytest.param("codex", f'I saw {{"type":"thread.started","thread_id":"{DECOY}"}}\n', None, id="codex: prose"),
        pytest.param("codex", '{"type":"thread.started","thread_id":"0199a213"}\n', None, id="codex: short id"),
        pytest.param(
            "codex", '{"type":"thread.started","thread_id":["x"]}\n{"type":[]}\n', None, id="codex: wrong types"
        ),
        pytest.param("codex", f'{{"x":1}}\n{{"session_id":"{DECOY}"}}\n', None, id="codex: untyped, not first"),
        pytest.param(
            "claude",
            INIT + f'{{"type":"assistant","parent_tool_use_id":"t","session_id":"{DECOY}","message":{{}}}}\n',
            GOOD,
            id="claude: a sub-agent",
        ),
        pytest.param(
            "claude",
            INIT + f'{{"type":"system","subtype":"hook_response","session_id":"{DECOY}"}}\n',
            GOOD,
            id="claude: a hook",
        ),
        pytest.param("claude", INIT + f'{{"type":"future","session_id":"{DECOY}"}}\n', GOOD, id="claude: unknown type"),
        pytest.param(
            "claude",
            f'Here is what it prints:\n\n{{"type":"result","session_id":"{DECOY}"}}\n\nDone.\n',
            None,
            id="claude: result in a text answer",
        ),
        pytest.param(
            "claude",
            f"Resume this session with:\nclaude --resume {DECOY}\n",
            None,
            id="claude: hint in a piped answer",
        ),
        pytest.param(
            "gemini",
            f'Like this:\n{{\n  "session_id": "{DECOY}",\n  "response": "x",\n  "stats": {{}}\n}}\nGood luck.\n',
            None,
            id="gemini: object in a text answer",
        ),
        pytest.param(
            "gemini",
            f'{{\n  "session_id": "{GOOD}",\n  "response": "{{\\n}}",\n  "stats": {{}}\n}}\n',
            GOOD,
            id="gemini: braces in the response",
        ),
        pytest.param(
            "opencode",
            f'{{"type":"step_start","sessionID":"{SES}"}}\n{{"type":"text","sessionID":"{CHILD}","part":{{}}}}\n',
            SES,
            id="opencode: a child's event",
        ),
        pytest.param(
            "iflow",
            f'<Execution Info> {{"session-id":"session-{GOOD}"}}\n',
            f"session-{GOOD}",
            id="iflow: one line",
        ),
        pytest.param(
            "iflow",
            f'<Execution Info>\n{{"session-id":"session-{DECOY}"}}\n</Execution Info>\nThat was your log.\n',
            None,
            id="iflow: block in an answer",
        ),
    ],
)
def test_only_the_right_place_has_an_id(tmp_path: Path, engine: str, stdout: str, right: str | None) -> None:
    assert reading(tmp_path, engine, stdout=stdout).session.value == right


def test_answer_that_looks_like_events_is_text_where_a_banner_was(tmp_path: Path) -> None:
    decoy = STARTED.replace(GOOD, DECOY)
    transcript = reading(tmp_path, "codex", 0, stdout=decoy, stderr=BANNER)
    assert (transcript.session.value, transcript.source) == (GOOD, "stderr")
    assert (transcript.status, transcript.final_message) == ("completed", decoy.strip())


@pytest.mark.parametrize(
    ("after", "right"),
    [
        pytest.param(BANNER.replace(GOOD, DECOY), GOOD, id="a pasted banner"),
        pytest.param(f"session id: {DECOY}\n", GOOD, id="a pasted line"),
    ],
)
def test_only_the_first_banner_is_the_engines(tmp_path: Path, after: str, right: str) -> None:
    assert reading(tmp_path, "codex", stderr=BANNER + after).session.value == right


def test_directory_that_fakes_a_banner_line_leaves_no_id(tmp_path: Path) -> None:
    frame = BANNER.replace("model: m\n", f"workdir: /w\nsession id: {DECOY}\n")
    assert reading(tmp_path, "codex", stderr=frame).session.value is None


def test_first_source_with_an_id_wins(tmp_path: Path) -> None:
    other = STARTED.replace(GOOD, DECOY)
    transcript = reading(tmp_path, "codex", pty="nothing here\n", stdout=STARTED, stderr=other)
    assert (transcript.session.value, transcript.source) == (GOOD, "stdout")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"\xef\xbb\xbf%s\r\n", id="byte order mark"),
        pytest.param(b"\x00\x00%s\n", id="NUL before"),
        pytest.param(b"\x1b[?25l\x1b[2K\x1b[1G%s\x1b[0m\r\n", id="cursor movements"),
        pytest.param(b"\x1bP+q544e\x1b\\%s\n", id="DCS"),
        pytest.param(b"\x9b0m%s\n", id="bare C1"),
        pytest.param(b"50%%\r%s\n", id="overwritten progress"),
        pytest.param(b"%s", id="no newline"),
    ],
)
def test_noise_around_a_line(tmp_path: Path, line: bytes) -> None:
    started = STARTED.strip().encode()
    assert reading(tmp_path, "codex", stdout=line % started).session.value == GOOD


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"a\xe2\x80\xa8b", "a\u2028b", id="line separator"),
        pytest.param(b"a\xff\xfeb", "a\ufffd\ufffdb", id="invalid UTF-8"),
        pytest.param(rb"a\ud800b", "a\ufffdb", id="lone surrogate"),
    ],
)
def test_odd_text_in_a_message(tmp_path: Path, body: bytes, said: str) -> None:
    line = b'{"type":"item.completed","item":{"type":"agent_message","text":"' + body + b'"}}\n'
    transcript = reading(tmp_path, "codex", stdout=STARTED.encode() + line)
    assert (transcript.final_message, transcript.warnings) == (said, ())
    assert said.encode() == (transcript.final_message or "").encode()


def test_id_that_a_sequence_cuts_is_none(tmp_path: Path) -> None:
    cut = STARTED.replace("81c0", "81\x1b[0mc0")
    assert reading(tmp_path, "codex", stdout=cut).session.value is None


def test_deep_nesting_is_damage(tmp_path: Path) -> None:
    transcript = reading(tmp_path, "codex", stdout=STARTED + '{"a":' * 100_000 + "\n" + '{"type":"turn.started"}\n')
    assert (transcript.session.value, transcript.warnings) == (GOOD, ("stdout line 2: not valid JSON",))


def test_line_over_the_cap_is_skipped_and_named(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    with path.open("wb") as stream:
        stream.write(b'{"type":"item.completed","x":"')
        stream.seek(LINE_CAP + (8 << 20))  # a hole: NULs that take no space
        stream.write(b'"}\n' + STARTED.encode())
    transcript = read("codex", {"stdout": path})
    assert (transcript.session.value, transcript.warnings) == (GOOD, ("stdout line 1: longer than 16 MiB, skipped",))
    assert find_session("codex", {"stdout": path})[0].value == GOOD


def test_what_is_over_the_cap_is_not_kept() -> None:
    lines = Lines(cap=10)
    assert [lines.feed(b"x" * 8) for _ in range(5)] == [[]] * 5
    assert lines.feed(b"\nok\n" + b"y" * 11 + b"\n") == [None, b"ok", None]
    assert lines.feed(b"0123456789\n0123456789") == [b"0123456789"]
    assert lines.close() == [b"0123456789"]


def test_thousands_of_damaged_lines_are_counted(tmp_path: Path) -> None:
    warnings = reading(tmp_path, "codex", stdout=STARTED + "{broken\n" * 5000).warnings
    assert (warnings[0], warnings[-1]) == ("stdout line 2: not valid JSON", "4980 more lines like these")


def test_unknown_events_are_kept_and_counted(tmp_path: Path) -> None:
    future = '{"type":"turn.paused","why":"x"}\n'
    transcript = reading(tmp_path, "codex", stdout=STARTED + future * 2)
    assert (transcript.events["unknown"], transcript.unknown_events) == (2, {"turn.paused": 2})
    decoder = Decoder("codex")
    assert decoder.feed("stdout", future.encode()) == [
        Event("unknown", name="turn.paused", data={"type": "turn.paused", "why": "x"})
    ]


def test_json_in_a_text_answer_is_the_answer(tmp_path: Path) -> None:
    transcript = reading(tmp_path, "claude", 0, stdout='{"answer": 42}\n')
    assert (transcript.status, transcript.final_message) == ("completed", '{"answer": 42}')


@pytest.mark.parametrize(
    ("engine", "exit_status", "printed", "status"),
    [
        pytest.param("codex", 0, {}, "no_output", id="nothing, exit 0"),
        pytest.param("opencode", 0, {"stderr": "Performing one time database migration\n"}, "no_output", id="noise"),
        pytest.param("codex", -9, {}, "interrupted", id="nothing, killed"),
        pytest.param("claude", 1, {}, "failed", id="nothing, exit 1"),
        pytest.param("claude", 0, {"stdout": INIT}, "interrupted", id="no result, exit 0"),
        pytest.param("claude", 143, {"stdout": INIT}, "interrupted", id="no result, 128 + SIGTERM"),
        pytest.param("claude", 0, {"stdout": "Error: is what it said\n"}, "completed", id="an answer about errors"),
        pytest.param("gemini", 173, {"stderr": "noise\n"}, "rate_limited", id="gemini: 429 & 255"),
        pytest.param("codex", 1, {"stderr": "Error: stream disconnected before completion\n"}, "network", id="network"),
        pytest.param("opencode", 1, {"stderr": "error: Unable to connect.\n"}, "network", id="no connection"),
        pytest.param(
            "claude",
            1,
            {"stdout": INIT + '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 500 x"}\n'},
            "overloaded",
            id="claude: 500",
        ),
        pytest.param(
            "opencode",
            0,
            {
                "stdout": f'{{"type":"step_finish","sessionID":"{SES}","part":{{"reason":"stop"}}}}\n'
                f'{{"type":"step_start","sessionID":"{SES}"}}\n'
                f'{{"type":"tool_use","sessionID":"{SES}","part":{{"tool":"bash","state":{{}}}}}}\n'
            },
            "interrupted",
            id="opencode: work after the end",
        ),
    ],
)
def test_verdict(tmp_path: Path, engine: str, exit_status: int, printed: dict[str, str], status: str) -> None:
    assert reading(tmp_path, engine, exit_status, **printed).status == status


def test_missing_files_are_absent_sources(tmp_path: Path) -> None:
    transcript = read("codex", {"stdout": tmp_path / "stdout"}, exit_status=None)
    assert (transcript.session.value, transcript.status) == (None, "no_output")


def test_unknown_engine_is_a_key_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        read("nobody", {})


@pytest.mark.parametrize("where", ["head", "middle", "tail"])
@pytest.mark.parametrize(
    ("engine", "line", "filler"),
    [
        pytest.param("codex", STARTED, '{"type":"turn.started"}\n', id="codex"),
        pytest.param("claude", INIT, '{"type":"user","message":{}}\n', id="claude"),
        pytest.param("opencode", f'{{"type":"text","sessionID":"{SES}"}}\n', '{"type":"x"}\n', id="opencode"),
        pytest.param("gemini", f'{{"type":"init","session_id":"{GOOD}"}}\n', '{"type":"message"}\n', id="gemini"),
    ],
)
def test_large_files(tmp_path: Path, engine: str, line: str, filler: str, where: str) -> None:
    path = tmp_path / "stdout"
    part = filler * ((3 << 20) // len(filler))
    before, after = {"head": ("", part * 2), "middle": (part, part), "tail": (part * 2, "")}[where]
    path.write_text(before + line + after)
    assert find_session(engine, {"stdout": path})[0].value in {GOOD, SES}


def test_large_indented_document(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    document = {"session_id": GOOD, "response": "x" * (3 << 20), "stats": {}}
    path.write_text(json.dumps(document, indent=2) + "\n")
    assert find_session("gemini", {"stdout": path})[0].value == GOOD


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, Source, bytes]:
    """A recorded source, cut, overwritten or with other bytes put in."""
    recording = draw(st.sampled_from(runs()))
    source: Source = draw(st.sampled_from([source for source in SOURCES if source in recording.files] or ["stdout"]))
    data = recording.files.get(source, b"")
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        noise = st.binary(max_size=8) | st.sampled_from([b"\n", b"\r", b"\x1b[", b"{", b"}\n", STARTED.encode()])
        data = data[:start] + draw(noise) + data[end:]
    return recording.facts.engine, source, data


@PROPERTY
@given(damaged())
def test_an_id_always_stands_in_the_input(tmp_path: Path, case: tuple[str, Source, bytes]) -> None:
    engine, source, data = case
    path = tmp_path / source
    path.write_bytes(data)
    value = read_file(engine, path).session.value
    assert (
        value is None
        or value.encode() in re.sub(rb"\x1b\[[0-9;]*m", b"", data)
        or value.encode("utf-16-le") in data
        or value.encode("utf-16-be") in data
    )


@PROPERTY
@given(st.sampled_from(sorted(NAMES)), st.sampled_from(SOURCES), st.binary(max_size=300))
def test_no_bytes_crash_it(tmp_path: Path, engine: str, source: Source, data: bytes) -> None:
    transcript = reading(tmp_path, engine, None, **{source.partition("-")[0]: data})
    assert transcript.session.value is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["type", "subtype", "item", "msg", "message", "error", "errors", "result", "part", "usage", "stats", "models"]
KNOWN = sorted({kind for name in NAMES for kind in profile_of(name).kinds} | {"agent_message", "command_execution"})


@PROPERTY
@given(
    st.sampled_from(sorted(NAMES)),
    st.dictionaries(
        st.sampled_from(KEYS),
        st.sampled_from(KNOWN)
        | json_values
        | st.dictionaries(st.sampled_from(KEYS), st.sampled_from(KNOWN) | json_values),
        min_size=1,
    ),
)
def test_events_of_any_shape_are_read(engine: str, obj: dict[str, object]) -> None:
    line = json.dumps(obj).encode()
    transcript = read_stream(engine, io.BytesIO(line + b"\n" + line), "stdout")
    assert json.loads(json.dumps(transcript, allow_nan=False))[0] == engine


@PROPERTY
@given(damaged(), st.integers(1, 64))
def test_cuts_do_not_show(case: tuple[str, Source, bytes], size: int) -> None:
    engine, source, data = case
    whole, cut = Decoder(engine), Decoder(engine)
    expected = whole.feed(source, data) + whole.close()
    events = [e for i in range(0, len(data), size) for e in cut.feed(source, data[i : i + size])] + cut.close()
    assert json.dumps(events) == json.dumps(expected)


@PROPERTY
@given(damaged())
def test_found_is_what_is_read(tmp_path: Path, case: tuple[str, Source, bytes]) -> None:
    engine, source, data = case
    path = tmp_path / source
    path.write_bytes(data)
    transcript = read(engine, {source: path})
    assert find_session(engine, {source: path}) == (transcript.session, transcript.source)
    assert search(profile_of(engine), {source: path}, 1 << 16) == (transcript.session, transcript.source)
