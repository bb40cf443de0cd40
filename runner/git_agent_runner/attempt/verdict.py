"""Was it really resumed, and did it work? Pure: what was asked, what the engine printed, how its process ended."""

from __future__ import annotations

from typing import Literal, NamedTuple

from git_agent_extractors.model import NO_SESSION, Session, Status, Transcript
from git_agent_runner.core.errors import INTERRUPTED
from git_agent_runner.core.model import Resumed

Kind = Literal["start", "resume", "continue", "fresh", "adopt", "fork"]


class Expectation(NamedTuple):
    """What the attempt was to do. `session` is the id asked for (resume), or that of a new session, if known by other
    means than its output; `known` is the record's, from before.

    `forks`: this engine version, with these flags, gives a resumed conversation a new id by design.
    `interactive`: the terminal form, which may end without ever printing an id; `opened`, there was more of it than an
    exit status; `ended`, its session does not stop in the middle of a turn. `adopts`: the person picked the session, or
    none was known, so whatever is reported becomes the run's.
    """

    kind: Kind
    session: str | None
    known: Session
    parent: str | None
    field: str
    forks: bool = False
    interactive: bool = False
    adopts: bool = False
    opened: bool = False
    ended: bool = False


class Ended(NamedTuple):
    """How the process ended: its exit status (negative for a signal), and what we did to it.

    `stalled`: it had printed nothing for `agent.stallAfter` when it ended.
    """

    exit_status: int | None
    timed_out: bool = False
    interrupted: bool = False
    stalled: bool = False

    @property
    def by_us(self) -> bool:
        return self.timed_out or self.interrupted


class Verdict(NamedTuple):
    """`session` and `parent` are the record's from here on; `reported` is what the engine printed, if anything."""

    status: Status
    resumed: Resumed | None
    session: Session
    parent: str | None
    reported: str | None


def judge(asked: Expectation, transcript: Transcript, ended: Ended) -> Verdict:
    """The one place where an attempt's outcome is decided. Exit status alone is never believed."""
    status = _status(asked, transcript, ended)
    reported = transcript.session.value
    if asked.kind in ("start", "fresh"):
        return _judge_new(asked, status, transcript.session)
    kept = Verdict(status, None, asked.known, asked.parent, reported)
    if reported is None:
        return _judge_silent(asked, kept)
    if status in ("session_missing", "no_output"):
        return kept
    if reported == asked.session:
        # The id asked for is another than the record's when the person gave it (--session).
        parent = asked.parent if asked.known.value in (None, reported) else asked.known.value
        return kept._replace(resumed="yes", session=Session(asked.field, reported), parent=parent)
    if asked.adopts:
        session = Session(asked.field, reported)
        return kept._replace(resumed="unverified", session=session, parent=asked.known.value or asked.parent)
    if asked.forks:
        return kept._replace(resumed="forked", session=Session(asked.field, reported), parent=asked.session)
    return kept._replace(resumed="as_new")


def _judge_new(asked: Expectation, status: Status, printed: Session) -> Verdict:
    """A fresh session that never began does not replace the run's recorded one."""
    session = printed if printed.value else Session(asked.field, asked.session) if asked.session else NO_SESSION
    if asked.kind == "start":
        return Verdict(status, None, session, asked.parent, printed.value)
    if session.value is None:
        return Verdict(status, None, asked.known, asked.parent, None)
    return Verdict(status, None, session, asked.known.value, printed.value)


def _judge_silent(asked: Expectation, kept: Verdict) -> Verdict:
    """No id at all: a finished headless engine always prints one, so silence is a failure."""
    if asked.interactive:
        return kept._replace(resumed="unverified")
    if kept.status == "completed":
        return kept._replace(status="no_output", resumed="unverified")
    return kept._replace(resumed=None if kept.status == "session_missing" else "unverified")


def _status(asked: Expectation, transcript: Transcript, ended: Ended) -> Status:
    """A finished turn is finished, whatever signal came after; of an interface this is unknown.

    One that we had to end in the middle of its silence was stalled: opencode and gemini retry a 429 without a word.
    Where an engine says that it waits for its model's server, that is what went wrong, whoever lost patience.
    """
    printed = transcript.status
    if printed == "completed" and not (asked.opened if asked.interactive else _speaks(transcript)):
        printed = "no_output"
    if printed == "completed" and asked.interactive and not asked.ended:
        printed = "interrupted"
    if printed == "completed" and not (asked.interactive and ended.by_us):
        return printed
    if ended.by_us and ended.stalled:
        return "stalled"
    if printed in ("rate_limited", "overloaded"):
        return printed
    if ended.timed_out:
        return "timed_out"
    return "interrupted" if ended.interrupted else printed


def _speaks(transcript: Transcript) -> bool:
    """Did the engine print this? A wrapper's output with exit 0 is not a turn."""
    return transcript.session.value is not None or bool(transcript.events.get("end"))


class Exit(NamedTuple):
    """What git-agent exits with, and who says so: our own `signal` or `timeout`, the `engine`, or the `verdict`."""

    status: int
    source: Literal["signal", "timeout", "engine", "verdict"]


def exit_status(verdict: Verdict, ended: Ended, *, lenient: bool, signal: int | None = None) -> Exit:
    """The first of these that applies: our own signal or time-out, the engine, the verdict.

    A signal that we were sent is the shell's 128 + signal (130 for Ctrl-C, 143 for SIGTERM), whatever came of the work:
    an engine may end its turn because our signal ended its tool. What our signal made of a turn that was completed
    before, says nothing.
    """
    completed = verdict.status == "completed"
    if signal is not None:
        return Exit(128 + signal, "signal")
    if ended.by_us and not completed:
        return Exit(INTERRUPTED, "signal") if ended.interrupted else Exit(1, "timeout")
    if ended.exit_status and not ended.by_us:
        return Exit(ended.exit_status if ended.exit_status > 0 else 128 - ended.exit_status, "engine")
    wrong = not completed or (ended.exit_status is None and not ended.by_us)
    return Exit(int(wrong or (verdict.resumed == "as_new" and not lenient)), "verdict")
