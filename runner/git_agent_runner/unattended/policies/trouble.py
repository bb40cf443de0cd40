"""What is the matter with a run: from its state, its last attempt, and how long that has printed nothing."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from git_agent_extractors.model import Event
from git_agent_extractors.read import events
from git_agent_runner.attempt.settle import read_attempt
from git_agent_runner.context import Context
from git_agent_runner.core.clock import duration, moment
from git_agent_runner.core.model import Attempt, State
from git_agent_runner.engines import profile
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.rows import Row
from git_agent_runner.unattended.policies.form import ERRORS
from git_agent_runner.unattended.policies.model import Trouble

# An engine that the system ended: killed for its memory, or crashed. Whoever presses Ctrl-C wants it to be over.
_CRASHES = {-number for number in (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL)}
# "try again in 12.5s", "retry after 2 minutes": the words of the providers behind the engines.
_LATER = re.compile(
    r"(?:try again|retry|reset\w*) (?:in|after) ([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(ms|s|m|h)?", re.IGNORECASE
)
LONGEST = 24 * 3600.0  # seconds; an engine's output must not put a run off for ever


class Nap(NamedTuple):
    """Of a run at work with which nothing is the matter: nor will anything be before `until`, in seconds since the
    epoch, while it stays in this state and `files` are the same.
    """

    state: State
    attempt: Attempt
    files: tuple[object, ...]
    until: float


class Look(NamedTuple):
    """One run as it is now. `attempt` is 0 where none can be read."""

    state: State
    attempt: int
    trouble: Trouble | None
    nap: Nap | None = None


def look(ctx: Context, row: Row, now: float, stopped: int | None = None) -> Look:
    """`stopped` is the attempt that a watch ended with itself: it is as dead as one whose git-agent was killed.

    Raises UserError where the engine's profile is not to be had.
    """
    files = _files(ctx.layout, row)
    state = attempts.state(ctx.layout, row.handle, row.run_id)
    attempt = attempts.latest(ctx.layout, row.run_id)
    if attempt is None:
        return Look(state, 0, None)
    found = attempt.session.value or row.session_value
    ours = state == "finished" and attempt.number == stopped and attempt.status == "interrupted"
    trouble = _trouble(ctx, attempt, "dead" if ours else state, now)
    if trouble:
        return Look(state, attempt.number, trouble._replace(has_session=found is not None))
    sleeps = state in ("running", "waiting") and attempt.number == row.attempts
    return Look(state, attempt.number, None, Nap(state, attempt, files, _patience(ctx, attempt)) if sleeps else None)


def sleeps(layout: Layout, row: Row, nap: Nap, now: float) -> bool:
    """Is all as it was when the run was looked at? Nothing is read for that."""
    if now >= nap.until or _files(layout, row) != nap.files:
        return False
    return attempts.state(layout, row.handle, row.run_id, lambda *_: nap.attempt) == nap.state


def _files(layout: Layout, row: Row) -> tuple[object, ...]:
    """What tells that an attempt was begun, or rewritten."""
    last = layout.attempt(row.run_id, row.attempts)
    return tuple(_stamp(path) for path in (os.path.dirname(last), f"{last}/{attempts.FILE}"))


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _trouble(ctx: Context, attempt: Attempt, state: State, now: float) -> Trouble | None:
    last = _last_output(ctx, attempt)
    if state in ("running", "waiting"):
        if now < _patience(ctx, attempt):
            return None
        met = read_attempt(ctx, attempt, None).status
        return Trouble("on_idle", met if met in ERRORS and _failed(ctx, attempt) else None, last, alive=True)
    if state == "dead":
        return Trouble("on_dead", None, last)
    return _settled(ctx, attempt)


def _settled(ctx: Context, attempt: Attempt) -> Trouble | None:
    status, ended = attempt.status, _seconds(attempt.ended_at or attempt.started_at)
    if status is None or status == "completed":
        return None
    if status == "interrupted":
        return Trouble("on_dead", None, ended) if attempt.exit_status in _CRASHES else None
    if status == "stalled":
        return Trouble("on_idle", None, ended)
    return Trouble("on_error", status, ended, retry_after=retry_after(ctx, attempt))


def retry_after(ctx: Context, attempt: Attempt) -> float | None:
    """Seconds that the engine's last error asks to wait: its own figure, or the words of its text."""
    found = None
    for event in _events(ctx, attempt):
        if event.kind == "error":
            told = event.data.get("retry_after")
            found = float(told) if isinstance(told, (int, float)) else _from_text(event.text)
    return None if found is None else min(max(found, 0.0), LONGEST)


def _from_text(text: str) -> float | None:
    found = _LATER.search(text)
    return duration(f"{found[1]}{(found[2] or '').lower()}") if found else None


def _failed(ctx: Context, attempt: Attempt) -> bool:
    """Is an error the last thing that the engine told, so that it is silent because of it?"""
    last = None
    for event in _events(ctx, attempt):
        last = event
    return last is not None and last.kind == "error"


def _events(ctx: Context, attempt: Attempt) -> Iterator[Event]:
    return events(profile(attempt.agent_name, ctx.environ), attempts.outputs(ctx.layout, attempt))


def _patience(ctx: Context, attempt: Attempt) -> float:
    """Until when it is in order that an attempt at work prints nothing."""
    if attempt.interactive or attempt.ended_at is not None:
        return inf
    return _last_output(ctx, attempt) + ctx.settings.stall_after


def _last_output(ctx: Context, attempt: Attempt) -> float:
    """When the attempt printed last, in seconds since the epoch; when it began, if never."""
    times = [os.stat(path).st_mtime for path in attempts.outputs(ctx.layout, attempt).values()]
    return max([_seconds(attempt.started_at), *times])


def _seconds(time: str) -> float:
    """Long ago, where an agent has written what is no time into its attempt."""
    return moment(time) or 0.0
