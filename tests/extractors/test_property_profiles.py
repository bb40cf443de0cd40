"""Properties of every profile, shipped or declared: no bytes crash it, and an id has its own place or is none."""

from __future__ import annotations

import io
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_agent_extractors.declared import Rules, SessionRule, profile
from git_agent_extractors.live import Decoder
from git_agent_extractors.model import SOURCES, Event, Source
from git_agent_extractors.profile import UUID, Profile
from git_agent_extractors.profiles import NAMES, profile_of
from git_agent_extractors.read import read_stream
from git_agent_runner.engines.added import profile_form

GOOD = "0199a213-81c0-7800-8aa1-7ffac1586f13"
DECOY = "11111111-1111-4111-8111-111111111111"
# What an engine prints when it begins, with the place of its id.
OPENINGS = {
    "claude": ('{"type":"system","subtype":"init","session_id":"%s"}\n', GOOD, DECOY),
    "codex": ('{"type":"thread.started","thread_id":"%s"}\n', GOOD, DECOY),
    "copilot": ('{"type":"result","sessionId":"%s","exitCode":0}\n', GOOD, DECOY),
    "gemini": ('{"type":"init","session_id":"%s"}\n', GOOD, DECOY),
    "iflow": ('<Execution Info> {"session-id":"%s"}\n', f"session-{GOOD}", f"session-{DECOY}"),
    "opencode": (
        '{"type":"step_start","sessionID":"%s"}\n',
        "ses_154ab1ebdfferuLfjWKE1REEOy",
        "ses_0childchildchild0000000000",
    ),
    "qwen": ('{"type":"system","subtype":"init","session_id":"%s"}\n', GOOD, DECOY),
    "declared: an event": ('{"type":"session","id":"%s"}\n', GOOD, DECOY),
    "declared: a block": ("-- my agent\nsession: %s\n--\n", GOOD, DECOY),
}
PI = Path(__file__).parents[2] / "docs" / "examples" / "pi.yaml"
BLOCK = SessionRule(
    "session",
    re.compile(UUID),
    lines=(re.compile("-- my agent"), re.compile("session: (.{1,60})"), re.compile("--")),
    begins="-- my agent",
)
READERS: dict[str, Profile] = {
    **{name: profile_of(name) for name in NAMES},
    "declared: an event": profile(profile_form.read(PI.read_text(), "pi").rules),
    "declared: a block": profile(Rules("mine", BLOCK, {}, {})),
}
# Of two such tests one runs for each reader.
SOUP, WHOLE = (
    pytest.mark.parametrize(
        "engine", [pytest.param(name, marks=pytest.mark.one_of(f"{kind} {name}")) for name in sorted(READERS)]
    )
    for kind in ("soup", "whole")
)
PROPERTY = settings(derandomize=True, database=None, max_examples=100)
KEYS = st.sampled_from(["text", "message", "content", "result", "response", "output", "item", "part", "error", "x"])


def found(engine: str, data: bytes, source: Source | None = None) -> str | None:
    return read_stream(READERS[engine], io.BytesIO(data), source or believed(engine)).session.value


def believed(engine: str) -> Source:
    """Where this engine may name its session."""
    return "stderr" if engine == "declared: a block" else "stdout"


def quoting(engine: str, decoy: str) -> st.SearchStrategy[bytes]:
    """A line of one of the engine's own events that has the decoy within its strings, at any depth."""
    inner = st.recursive(
        st.text(max_size=8).map(lambda around: f"{around}\n{decoy}{around}"),
        lambda value: st.lists(value, min_size=1, max_size=2) | st.dictionaries(KEYS, value, min_size=1, max_size=2),
        max_leaves=4,
    )
    kinds = st.sampled_from(sorted(READERS[engine].kinds) or ["message"])
    made = st.tuples(kinds, st.dictionaries(KEYS, inner, min_size=1, max_size=3))
    return made.map(lambda pair: json.dumps({"type": pair[0], **pair[1]}).encode() + b"\n")


def test_every_profile_has_an_opening() -> None:
    for engine in READERS:
        opening, good, _ = OPENINGS[engine]
        assert found(engine, (opening % good).encode()) == good


@SOUP
def test_soup_around_an_opening_changes_no_id(engine: str) -> None:
    opening, good, _ = OPENINGS[engine]

    @PROPERTY
    @given(st.binary(max_size=80), st.binary(max_size=80), st.sampled_from(SOURCES))
    def holds(before: bytes, after: bytes, source: Source) -> None:
        assert found(engine, before + b"\n" + (opening % good).encode() + after, source) in {None, good}

    holds()


@WHOLE
def test_string_values_have_no_ids(engine: str) -> None:
    opening, good, decoy = OPENINGS[engine]
    quoted = st.lists(quoting(engine, opening % decoy), min_size=1, max_size=4).map(b"".join)

    @PROPERTY
    @given(quoted)
    def holds(lines: bytes) -> None:
        assert found(engine, lines) is None
        assert found(engine, (opening % good).encode() + lines) in {None, good}

    holds()


@SOUP
def test_torn_output_has_its_id_or_none(engine: str) -> None:
    opening, good, decoy = OPENINGS[engine]
    quoted = quoting(engine, opening % decoy)

    @PROPERTY
    @given(quoted, st.integers(0, 400))
    def holds(line: bytes, kept: int) -> None:
        assert found(engine, ((opening % good).encode() + line)[:kept]) in {None, good}

    holds()


@WHOLE
def test_chunks_of_any_sizes_give_the_events_of_the_whole(engine: str) -> None:
    opening, good, decoy = OPENINGS[engine]

    @PROPERTY
    @given(quoting(engine, opening % decoy), st.binary(max_size=30), st.sets(st.integers(0, 400), max_size=8))
    def holds(line: bytes, soup: bytes, cuts: set[int]) -> None:
        data = soup + (opening % good).encode() + line
        places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
        pieces = [data[start:stop] for start, stop in pairwise(places)]
        assert json.dumps(events(engine, pieces)) == json.dumps(events(engine, [data]))

    holds()


def events(engine: str, pieces: list[bytes]) -> list[Event]:
    decoder = Decoder(READERS[engine])
    return [event for piece in pieces for event in decoder.feed(believed(engine), piece)] + decoder.close()
