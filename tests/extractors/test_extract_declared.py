"""Engines read by data: what pi printed, and rules that hostile output is held against."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_agent_extractors.declared import Condition, DeclaredStatus, EventRule, Rules, SessionRule, profile
from git_agent_extractors.find import find_session, search
from git_agent_extractors.live import Decoder
from git_agent_extractors.model import SOURCES, Event, Source
from git_agent_extractors.profile import UUID, Profile
from git_agent_extractors.read import read
from git_agent_fixtures.recording import folder
from git_agent_fixtures.recording.model import Recording
from git_agent_fixtures.story import tell
from git_agent_runner.engines.added import profile_form

PI = Path(__file__).parents[2] / "docs/examples/pi.yaml"
RECORDED = {place.name: folder.read(place) for place in folder.folders(Path(__file__).parent / "declared")}
EACH = pytest.mark.parametrize("recording", [pytest.param(one, id=name) for name, one in RECORDED.items()])
GOOD = "0199a213-81c0-7800-8aa1-7ffac1586f13"
DECOY = "11111111-1111-4111-8111-111111111111"
OPEN = SessionRule("id", re.compile(UUID), event=("open",), path=("id",))
BLOCK = SessionRule(
    "session",
    re.compile(UUID),
    lines=(re.compile("-- my agent"), re.compile("session: (.{1,60})"), re.compile("--")),
    begins="-- my agent",
)


@pytest.fixture(scope="module")
def pi() -> Profile:
    return profile(profile_form.read(PI.read_text(), "pi").rules)


def made(session: SessionRule = OPEN, **events: EventRule) -> Profile:
    return profile(Rules("mine", session, {kind: (rule,) for kind, rule in events.items()}, {"noise": "says nothing"}))


def wrote(tmp_path: Path, printed: dict[Source, str]) -> dict[Source, Path]:
    files = {source: tmp_path / source for source in printed}
    for source, path in files.items():
        path.write_text(printed[source])
    return files


def told(own: Profile, *objects: object) -> list[Event]:
    decoder = Decoder(own)
    lines = "".join(f"{json.dumps(obj)}\n" for obj in objects)
    return decoder.feed("stdout", lines.encode()) + decoder.close()


@EACH
def test_the_profile_reads_what_pi_printed(pi: Profile, recording: Recording, tmp_path: Path) -> None:
    sources = folder.sources(recording, tmp_path)
    transcript = read(pi, sources, exit_status=recording.facts.exit_status)
    assert (transcript.session.value, transcript.status) == (recording.truth.session, recording.truth.status)
    assert transcript.unknown_events == {}
    for window in (512, 4096):
        assert search(pi, sources, window) == (transcript.session, transcript.source)


@EACH
@pytest.mark.parametrize("size", [1, 1000])
def test_chunks_give_the_events_of_the_whole(pi: Profile, recording: Recording, size: int) -> None:
    def decoded(step: int) -> list[Event]:
        decoder, events = Decoder(pi), list[Event]()
        for source in SOURCES:
            data = recording.files.get(source, b"")
            for start in range(0, len(data), step):
                events += decoder.feed(source, data[start : start + step])
        return events + decoder.close()

    assert decoded(size) == decoded(1 << 20)


def test_the_story_of_a_run(pi: Profile, tmp_path: Path) -> None:
    """The resumed turn of pi: it calls a tool, gets its result, and answers."""
    recording = RECORDED["resume-tool-call"]
    decoder = Decoder(pi)
    events = decoder.feed("stdout", recording.files["stdout"]) + decoder.close()
    assert [event.kind for event in events] == [
        "session",
        "usage",
        "tool_call",
        "tool_result",
        "message",
        "usage",
        "end",
    ]
    call, result = events[2], events[3]
    assert (call.name, call.text, result.name, result.text) == ("bash", "pwd", "bash", "/home/dev/work\n")
    transcript = read(pi, folder.sources(recording, tmp_path))
    assert transcript.final_message == "the tool said: /home/dev/work\n\nuser turns 2, markers MK1 MK2"
    assert transcript.usage == {"input_tokens": 20, "output_tokens": 10, "cost_usd": 0}
    assert transcript.model == "scripted-1"


@pytest.mark.parametrize("gone", ["message_end", "tool_execution_start", "auto_retry_start", "message_update"])
def test_a_rule_that_is_missing_shows(gone: str) -> None:
    """Without its row an event of pi's is unknown, and is counted."""
    rules = profile_form.read(PI.read_text(), "pi").rules
    events = {kind: rule for kind, rule in rules.events.items() if kind != gone}
    ignored = {kind: why for kind, why in rules.ignored.items() if kind != gone}
    poorer = profile(rules._replace(events=events, ignored=ignored))
    assert any(gone in tell(recording, poorer).transcript.unknown_events for recording in RECORDED.values())


@pytest.mark.parametrize(
    ("status", "right"), [(0, "completed"), (1, "failed"), (2, "auth_failed"), (143, "completed"), (-15, "completed")]
)
def test_an_exit_status_that_says_more_than_the_end(tmp_path: Path, status: int, right: str) -> None:
    """faults E. A signal after the end takes nothing back."""
    rules = Rules("mine", OPEN, {"over": (EventRule("end", status="completed"),)}, {}, exits={2: "auth_failed"})
    printed = wrote(tmp_path, {"stdout": f'{{"type":"open","id":"{GOOD}"}}\n{{"type":"over"}}\n'})
    assert read(profile(rules._replace(nonzero_fails=True)), printed, exit_status=status).status == right
    assert read(profile(rules), printed, exit_status=status).status == "completed"


def test_a_hundred_unknown_events_are_counted_by_name(tmp_path: Path) -> None:
    """faults E: those that come after them are counted together."""
    lines = "".join(f'{{"type":"odd{number}"}}\n' for number in [*range(120), 0])
    unknown = read(made(), wrote(tmp_path, {"stdout": lines})).unknown_events
    assert (unknown["odd0"], unknown["others"], len(unknown)) == (2, 20, 101)


def test_any_of_several_events_names_the_session(tmp_path: Path) -> None:
    """faults E: with a wrong key the error is all that kilo 7.7.7 prints. Of other types the same key is none."""
    own = made(OPEN._replace(event=("open", "refused")), refused=EventRule("error", text=("why",)))
    noise = f'{{"type":"noise","id":"{DECOY}"}}\n' * 500
    named = f'{{"type":"refused","id":"{GOOD}","why":"401 Unauthorized"}}\n'
    files = wrote(tmp_path, {"stdout": noise + named + noise})
    transcript = read(own, files, exit_status=1)
    assert (transcript.session.value, transcript.status) == (GOOD, "auth_failed")
    assert search(own, files, 512)[0].value == find_session(own, files)[0].value == GOOD
    later = wrote(tmp_path, {"stdout": named.replace(GOOD, DECOY) + noise + f'{{"type":"open","id":"{GOOD}"}}\n'})
    assert search(own, later, 512)[0].value == read(own, later).session.value == GOOD


@pytest.mark.parametrize(
    ("session", "printed", "right"),
    [
        pytest.param(OPEN, {"stdout": f'{{"type":"open","id":"{GOOD}"}}\n'}, GOOD, id="an event"),
        pytest.param(OPEN, {"stdout": f'{{"type":"open","id":"{GOOD.upper()}"}}\n'}, None, id="another shape"),
        pytest.param(OPEN, {"stdout": f'{{"type":"noise","id":"{DECOY}"}}\n'}, None, id="another event"),
        pytest.param(OPEN, {"stdout": f'{{"type":"noise","x":{{"type":"open","id":"{DECOY}"}}}}\n'}, None, id="nested"),
        pytest.param(
            OPEN,
            {"stdout": f'{{"type":"noise","x":"{{\\"type\\":\\"open\\",\\"id\\":\\"{DECOY}\\"}}"}}\n'},
            None,
            id="in a text",
        ),
        pytest.param(
            OPEN, {"stdout": '{"type":"open","id":["x"]}\n{"type":"open"}\n{"type":[]}\n'}, None, id="wrong types"
        ),
        pytest.param(
            OPEN,
            {"stdout": f'{{"type":"open","id":"{DECOY}"}}\n{{"type":"open","id":"{GOOD}"}}\n'},
            GOOD,
            id="the last one",
        ),
        pytest.param(
            OPEN._replace(first=True),
            {"stdout": f'{{"type":"open","id":"{GOOD}"}}\n{{"type":"open","id":"{DECOY}"}}\n'},
            GOOD,
            id="the first one",
        ),
        pytest.param(
            OPEN._replace(field="session", path=("run", "session", "id")),
            {"stdout": f'{{"type":"noise"}}\n{{"type":"open","run":{{"session":{{"id":"{GOOD}"}}}}}}\n'},
            GOOD,
            id="deep in an event",
        ),
        pytest.param(
            BLOCK, {"stderr": f"hi\n-- my agent\nsession: {GOOD}\n--\n", "stdout": "an answer\n"}, GOOD, id="a block"
        ),
        pytest.param(BLOCK, {"stderr": f"-- my agent\r\nsession: {GOOD}\r\n--\r\n"}, GOOD, id="a block with CR"),
        pytest.param(BLOCK, {"stderr": f"-- my agent\nsession: {GOOD}\n"}, None, id="an open block"),
        pytest.param(
            BLOCK, {"stderr": f"-- my agent\n-- my agent\nsession: {GOOD}\n--\n"}, GOOD, id="a block begun twice"
        ),
        pytest.param(BLOCK, {"stderr": f"-- my agent\nother\nsession: {GOOD}\n--\n"}, None, id="a broken block"),
        pytest.param(BLOCK, {"stderr": "-- my agent\nsession: last\n--\n"}, None, id="a block without an id"),
        pytest.param(BLOCK, {"stdout": f"-- my agent\nsession: {DECOY}\n--\n"}, None, id="a block in an answer"),
        pytest.param(BLOCK, {"pty-output": f"-- my agent\nsession: {DECOY}\n--\n"}, None, id="a block on a terminal"),
        pytest.param(
            BLOCK,
            {"stderr": f"-- my agent\nsession: {DECOY}\n--\n-- my agent\nsession: {GOOD}\n--\n"},
            GOOD,
            id="the last block",
        ),
        pytest.param(
            BLOCK._replace(first=True),
            {"stderr": f"-- my agent\nsession: {GOOD}\n--\n-- my agent\nsession: {DECOY}\n--\n"},
            GOOD,
            id="the first block",
        ),
    ],
)
def test_sessions(tmp_path: Path, session: SessionRule, printed: dict[Source, str], right: str | None) -> None:
    own, files = made(session), wrote(tmp_path, printed)
    transcript = read(own, files)
    assert transcript.session.value == right
    assert find_session(own, files) == (transcript.session, transcript.source)
    assert search(own, files, 64)[0] == transcript.session


ITEM = {"type": "x", "role": "me", "list": [{"kind": "a", "text": "one"}, {"kind": "b", "text": "two"}, "three", 4]}


@pytest.mark.parametrize(
    ("rule", "obj", "events"),
    [
        pytest.param(EventRule("message", text=("text",)), {"text": "hi"}, [Event("message", "hi")], id="a message"),
        pytest.param(EventRule("message", text=("text",)), {"text": 7}, [], id="a message that is none"),
        pytest.param(
            EventRule("message", text=("text",), delta=True),
            {"text": "hi"},
            [Event("message", "hi", data={"delta": True})],
            id="a piece of a message",
        ),
        pytest.param(
            EventRule("message", text=("list", "*", "text")), ITEM, [Event("message", "one\ntwo")], id="texts of a list"
        ),
        pytest.param(
            EventRule("message", each=("list",), where=(Condition(("kind",), ("b",)),), text=("text",)),
            ITEM,
            [Event("message", "two")],
            id="items of a list",
        ),
        pytest.param(
            EventRule("message", when=(Condition(("role",), ("you",)),), text=("role",)), ITEM, [], id="another role"
        ),
        pytest.param(
            EventRule("message", when=(Condition(("role",), ("you", "me")),), text=("role",)),
            ITEM,
            [Event("message", "me")],
            id="one of two roles",
        ),
        pytest.param(
            EventRule("message", when=(Condition(("n",), (1,)),), text=("text",)),
            {"n": True, "text": "hi"},
            [],
            id="true is not 1",
        ),
        pytest.param(
            EventRule("tool_call", name=("tool",), text=("args",)),
            {"tool": "bash", "args": {"n": 1, "command": "pwd"}},
            [Event("tool_call", "pwd", "bash")],
            id="a tool call",
        ),
        pytest.param(
            EventRule("tool_call", name=("tool",), text=("args",)),
            {"tool": "wait", "args": {"seconds": 5}},
            [Event("tool_call", '{"seconds":5}', "wait")],
            id="a tool call without a text",
        ),
        pytest.param(
            EventRule("tool_result", text=("out",), failed=(Condition(("ok",), (False,)),)),
            {"out": "no", "ok": False},
            [Event("tool_result", "no", data={"failed": True})],
            id="a tool that failed",
        ),
        pytest.param(
            EventRule("usage", numbers={"input_tokens": ("u", "in"), "output_tokens": ("u", "no")}, model=("m",)),
            {"u": {"in": 3, "no": "x"}, "m": "m-5"},
            [Event("usage", data={"input_tokens": 3, "model": "m-5"})],
            id="usage",
        ),
        pytest.param(EventRule("usage", numbers={"input_tokens": ("u", "in")}), {"u": [1]}, [], id="no usage"),
        pytest.param(
            EventRule("error", text=("why",)),
            {"why": "429 rate limit"},
            [Event("error", "429 rate limit", data={"status": "rate_limited"})],
            id="an error told by its words",
        ),
        pytest.param(
            EventRule("error", text=("why",), status=DeclaredStatus(("why",), {"cut": "network"}), fatal=False),
            {"why": "cut"},
            [Event("error", "cut", data={"status": "network", "fatal": False})],
            id="an error that is listed",
        ),
        pytest.param(
            EventRule("end", status=DeclaredStatus(("stop",), {"stop": "completed"})),
            {"stop": "stop"},
            [Event("end", data={"status": "completed"})],
            id="an end",
        ),
        pytest.param(
            EventRule("end", status=DeclaredStatus(("stop",), {"stop": "completed"})),
            {"stop": ["stop"]},
            [],
            id="no end",
        ),
        pytest.param(
            EventRule("end", status="failed", text=("why",)),
            {"why": "401 unauthorized"},
            [Event("end", "401 unauthorized", data={"status": "auth_failed"})],
            id="a bad end told by its words",
        ),
    ],
)
def test_events(rule: EventRule, obj: dict[str, object], events: list[Event]) -> None:
    assert told(made(x=rule), {**obj, "type": "x"}) == events


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["assistant", "error", "text", GOOD, "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["message", "content", "role", "type", "text", "id", "stopReason", "usage"]), inner
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(kind=st.sampled_from(["session", "message_end", "tool_execution_end", "auto_retry_start"]), inner=JSON)
def test_anything_under_any_key_is_read(pi: Profile, kind: str, inner: object) -> None:
    """No exception, and no id but one that stands where the rule says."""
    obj = {"message": inner, "id": inner, "result": inner, "toolName": inner, "type": kind}
    ids = [event.text for event in told(pi, obj) if event.kind == "session"]
    assert ids == ([GOOD] if kind == "session" and inner == GOOD else [])
