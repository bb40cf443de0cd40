"""What events amount to does not depend on how many of them come at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_agent_extractors.model import Event, Transcript
from git_agent_extractors.profile import DELTA, end, failure
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.summary import EventSummary

WHOLE, PIECE, OTHER = Event("message", "whole"), Event("message", "pie", data=DELTA), Event("message", "ce", data=DELTA)
CALL, RESULT = Event("tool_call", "ls", "shell"), Event("tool_result", "a", "shell")
EVENTS = st.sampled_from(
    [WHOLE, PIECE, OTHER, CALL, RESULT, Event("reasoning", "hm"), end("completed"), end("failed", "no"), failure("429")]
)


def summed(*parts: list[Event]) -> Transcript:
    summary = EventSummary(profile_of("gemini"))
    for part in parts:
        summary.add(part)
    return summary.transcript({}, None)


@settings(deadline=None)
@given(st.lists(st.lists(EVENTS, max_size=5), max_size=5))
def test_parts_do_not_show(parts: list[list[Event]]) -> None:
    events = [event for part in parts for event in part]
    assert summed(*parts) == summed(*([event] for event in events)) == summed(events)


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        pytest.param([PIECE, OTHER], "piece", id="pieces of one message"),
        pytest.param([WHOLE, PIECE, OTHER], "piece", id="a message after another"),
        pytest.param([PIECE, WHOLE, RESULT], "whole", id="the last whole one"),
        pytest.param([PIECE, CALL, RESULT, OTHER], "ce", id="a tool between pieces ends the message"),
        pytest.param([WHOLE, CALL, RESULT], "whole", id="tools after a whole message"),
        pytest.param([WHOLE, PIECE, CALL], None, id="pieces before a tool are no answer"),
        pytest.param([CALL, RESULT], None, id="nothing said"),
    ],
)
def test_answer(events: list[Event], answer: str | None) -> None:
    assert summed([*events, end("completed")]).final_message == answer


@pytest.mark.parametrize(
    ("after", "status"),
    [
        pytest.param([end("completed")], "interrupted", id="an end that knows nothing of it"),
        pytest.param([PIECE, end("completed")], "completed", id="another turn"),
        pytest.param([RESULT, end("failed", "no")], "failed", id="a failure"),
    ],
)
def test_an_interruption_is_no_success(after: list[Event], status: str) -> None:
    """After a Ctrl-C copilot 1.0.102 says `abort`, and then that it ends with 0."""
    assert summed([WHOLE, end("interrupted"), *after]).status == status
