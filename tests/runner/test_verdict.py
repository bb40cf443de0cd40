"""What is believed of an attempt: ids compared, statuses decided, exit statuses given."""

from __future__ import annotations

import pytest

from git_agent_extractors.model import NO_SESSION, Session, Status, Transcript
from git_agent_runner.attempt.verdict import Ended, Expectation, Verdict, exit_status, judge

OLD = Session("session_id", "old")


def transcript(status: Status, value: str | None) -> Transcript:
    session = Session("session_id", value) if value else NO_SESSION
    return Transcript("claude", session, "stdout" if value else None, status, None, None, None, {}, {}, (), None)


def asked(kind: str = "resume", **changes: object) -> Expectation:
    return Expectation(kind, "old", OLD, None, "session_id")._replace(**changes)  # type: ignore[arg-type]  # table values


@pytest.mark.parametrize(
    ("ask", "status", "printed", "want"),
    [
        pytest.param(asked(), "completed", "old", ("completed", "yes", "old", None), id="same id: resumed"),
        pytest.param(
            asked(), "completed", "new", ("completed", "as_new", "old", None), id="other id: as new, old kept"
        ),
        pytest.param(asked(forks=True), "completed", "new", ("completed", "forked", "new", "old"), id="known to fork"),
        pytest.param(
            asked("continue", adopts=True), "completed", "p", ("completed", "unverified", "p", "old"), id="picked"
        ),
        pytest.param(asked(), "completed", None, ("no_output", "unverified", "old", None), id="success without an id"),
        pytest.param(
            asked(), "no_output", None, ("no_output", "unverified", "old", None), id="exit 0, nothing printed"
        ),
        pytest.param(
            asked(), "session_missing", "rand", ("session_missing", None, "old", None), id="a failed resume's id"
        ),
        pytest.param(asked(), "session_missing", None, ("session_missing", None, "old", None), id="session gone"),
        pytest.param(
            asked(), "rate_limited", "old", ("rate_limited", "yes", "old", None), id="rate limit after resuming"
        ),
        pytest.param(
            asked(interactive=True, opened=True, ended=True),
            "completed",
            None,
            ("completed", "unverified", "old", None),
            id="terminal form",
        ),
        pytest.param(
            asked(interactive=True, opened=True),
            "completed",
            None,
            ("interrupted", "unverified", "old", None),
            id="terminal form, in the middle of a turn",
        ),
        pytest.param(
            asked("start", known=NO_SESSION), "completed", "x", ("completed", None, "x", None), id="start, printed id"
        ),
        pytest.param(
            asked("start", known=NO_SESSION),
            "interrupted",
            None,
            ("interrupted", None, "old", None),
            id="start, minted id",
        ),
        pytest.param(
            asked("start", known=NO_SESSION, session=None),
            "failed",
            None,
            ("failed", None, None, None),
            id="start, no id",
        ),
        pytest.param(asked("fresh", session=None), "completed", "n", ("completed", None, "n", "old"), id="fresh start"),
        pytest.param(
            asked("fresh", session=None), "failed", None, ("failed", None, "old", None), id="fresh, but never began"
        ),
        pytest.param(
            asked(session="given"), "completed", "given", ("completed", "yes", "given", "old"), id="another one, given"
        ),
        pytest.param(
            asked(session="given", known=NO_SESSION),
            "completed",
            "given",
            ("completed", "yes", "given", None),
            id="one given where none was known",
        ),
        pytest.param(
            asked(session="given"),
            "session_missing",
            "given",
            ("session_missing", None, "old", None),
            id="one given that is gone",
        ),
    ],
)
def test_judge(ask: Expectation, status: Status, printed: str | None, want: tuple[object, ...]) -> None:
    found = judge(ask, transcript(status, printed), Ended(0))
    assert (found.status, found.resumed, found.session.value, found.parent) == want


@pytest.mark.parametrize(
    ("printed", "ended", "want"),
    [
        pytest.param("interrupted", Ended(-15, timed_out=True), "timed_out", id="our time-out"),
        pytest.param("failed", Ended(0, interrupted=True), "interrupted", id="our signal, engine says 0"),
        pytest.param("failed", Ended(-2, timed_out=True, stalled=True), "stalled", id="our time-out, in silence"),
        pytest.param("failed", Ended(-2, interrupted=True, stalled=True), "stalled", id="Ctrl-C, in silence"),
        pytest.param("failed", Ended(1, stalled=True), "failed", id="silent, but ended by itself"),
        pytest.param("completed", Ended(-2, timed_out=True, stalled=True), "completed", id="silent after the turn"),
        pytest.param("completed", Ended(0, interrupted=True), "completed", id="signal after the end of the turn"),
        pytest.param("rate_limited", Ended(1), "rate_limited", id="the events decide"),
        pytest.param(
            "rate_limited", Ended(-2, interrupted=True), "rate_limited", id="Ctrl-C while it waited"
        ),  # faults G8
        pytest.param("overloaded", Ended(-2, timed_out=True), "overloaded", id="our time-out while it waited"),
        pytest.param("network", Ended(0, interrupted=True), "interrupted", id="a reply that Ctrl-C cut off"),
    ],
)
def test_status(printed: Status, ended: Ended, want: Status) -> None:
    assert judge(asked(), transcript(printed, "old"), ended).status == want


@pytest.mark.parametrize(
    ("verdict", "ended", "lenient", "signal", "want"),
    [
        pytest.param(("completed", "yes"), Ended(0), False, None, (0, "verdict"), id="fine"),
        pytest.param(("completed", "as_new"), Ended(0), False, None, (1, "verdict"), id="as new is a failure"),
        pytest.param(("completed", "as_new"), Ended(0), True, None, (0, "verdict"), id="as new, lenient"),
        pytest.param(("rate_limited", "yes"), Ended(0), True, None, (1, "verdict"), id="0 is not believed"),
        pytest.param(("failed", None), Ended(42), False, None, (42, "engine"), id="the engine's status"),
        pytest.param(("interrupted", None), Ended(-9), False, None, (137, "engine"), id="the engine was killed"),
        pytest.param(("interrupted", None), Ended(0, interrupted=True), False, None, (130, "signal"), id="cancelled"),
        pytest.param(("interrupted", None), Ended(7, interrupted=True), False, 2, (130, "signal"), id="Ctrl-C"),
        pytest.param(("interrupted", None), Ended(-15, interrupted=True), False, 15, (143, "signal"), id="TERM"),
        pytest.param(("timed_out", None), Ended(-2, timed_out=True), False, None, (1, "timeout"), id="time-out"),
        pytest.param(("timed_out", None), Ended(5, timed_out=True), False, None, (1, "timeout"), id="its own status"),
        pytest.param(("stalled", None), Ended(0, timed_out=True), False, None, (1, "timeout"), id="in silence"),
        pytest.param(("failed", None), Ended(None), False, None, (1, "verdict"), id="never spawned"),
        pytest.param(("completed", "yes"), Ended(-2, interrupted=True), False, 2, (130, "signal"), id="after the turn"),
        pytest.param(
            ("completed", "yes"), Ended(-15, timed_out=True), False, None, (0, "verdict"), id="out of time then"
        ),
        pytest.param(
            ("completed", "as_new"), Ended(-15, timed_out=True), False, None, (1, "verdict"), id="as new then"
        ),
    ],
)
def test_exit_status(
    verdict: tuple[Status, None], ended: Ended, lenient: bool, signal: int | None, want: tuple[int, str]
) -> None:
    """Faults F8: our own signal or time-out comes first, then the engine's status, then the verdict's."""
    status, resumed = verdict
    found = exit_status(Verdict(status, resumed, OLD, None, None), ended, lenient=lenient, signal=signal)
    assert found == want


TEXT = transcript("completed", None)._replace(events={"message": 1})


@pytest.mark.parametrize("kind", ["start", "fresh", "resume", "continue"])
@pytest.mark.parametrize("interactive", [False, True])
def test_words_and_exit_0_are_no_completed_turn(kind: str, interactive: bool) -> None:
    """Faults B1: a version manager's shim that prints `no version is set` and exits 0."""
    ask = asked(kind, session=None, interactive=interactive, adopts=kind == "continue")
    assert judge(ask, TEXT, Ended(0)).status == "no_output"


def test_an_end_that_the_engine_printed_is_one() -> None:
    ended = TEXT._replace(events={"end": 1})
    assert judge(asked("start", session=None, known=NO_SESSION), ended, Ended(0)).status == "completed"


@pytest.mark.parametrize(
    ("ended", "want"),
    [
        pytest.param(Ended(0), "completed", id="left by the person"),
        pytest.param(Ended(0, timed_out=True), "timed_out", id="--timeout"),
        pytest.param(Ended(0, interrupted=True), "interrupted", id="closed, or --kill"),
    ],
)
def test_an_interface_that_we_ended_is_not_completed(ended: Ended, want: Status) -> None:
    """Faults G1: exit 0 and any output was taken for a completed turn, and that beat our own ending."""
    assert judge(asked(interactive=True, opened=True, ended=True), transcript("completed", "old"), ended).status == want
