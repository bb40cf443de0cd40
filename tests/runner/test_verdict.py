"""What is believed of an attempt: ids compared, statuses decided, exit statuses given."""

from __future__ import annotations

import pytest

from git_agent_extractors.model import NO_SESSION, Session, Status, Transcript
from git_agent_runner.verdict import Asked, Ended, Verdict, exit_status, judge

OLD = Session("session_id", "old")


def transcript(status: Status, value: str | None) -> Transcript:
    session = Session("session_id", value) if value else NO_SESSION
    return Transcript("claude", session, "stdout" if value else None, status, None, None, None, {}, {}, (), None)


def asked(kind: str = "resume", **changes: object) -> Asked:
    return Asked(kind, "old", OLD, None, "session_id")._replace(**changes)  # type: ignore[arg-type]  # table values


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
            asked(interactive=True), "completed", None, ("completed", "unverified", "old", None), id="terminal form"
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
def test_judge(ask: Asked, status: Status, printed: str | None, want: tuple[object, ...]) -> None:
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
    ],
)
def test_status(printed: Status, ended: Ended, want: Status) -> None:
    assert judge(asked(), transcript(printed, "old"), ended).status == want


@pytest.mark.parametrize(
    ("verdict", "ended", "lenient", "signal", "want"),
    [
        pytest.param(("completed", "yes"), Ended(0), False, None, 0, id="fine"),
        pytest.param(("completed", "as_new"), Ended(0), False, None, 1, id="as new is a failure"),
        pytest.param(("completed", "as_new"), Ended(0), True, None, 0, id="as new, lenient"),
        pytest.param(("rate_limited", "yes"), Ended(0), True, None, 1, id="0 is not believed"),
        pytest.param(("failed", None), Ended(42), False, None, 42, id="the engine's status"),
        pytest.param(("interrupted", None), Ended(-9), False, None, 137, id="the engine was killed"),
        pytest.param(("interrupted", None), Ended(0, interrupted=True), False, None, 130, id="Ctrl-C"),
        pytest.param(("interrupted", None), Ended(-15, interrupted=True), False, 15, 143, id="we were sent TERM"),
        pytest.param(("failed", None), Ended(None), False, None, 1, id="never spawned"),
        pytest.param(("completed", "yes"), Ended(-2, interrupted=True), False, 2, 130, id="Ctrl-C after the turn"),
        pytest.param(("completed", "yes"), Ended(-15, timed_out=True), False, None, 0, id="time-out after the turn"),
        pytest.param(("completed", "as_new"), Ended(-15, timed_out=True), False, None, 1, id="as new all the same"),
    ],
)
def test_exit_status(verdict: tuple[Status, None], ended: Ended, lenient: bool, signal: int | None, want: int) -> None:
    status, resumed = verdict
    found = exit_status(Verdict(status, resumed, OLD, None, None), ended, lenient=lenient, signal=signal)
    assert found == want
