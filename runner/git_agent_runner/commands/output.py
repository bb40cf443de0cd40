"""What start and resume show: the engine at work, then the handle summary; or one JSON object."""

from __future__ import annotations

import os
import sys
from typing import Any

from git_agent_extractors.model import Event, Source
from git_agent_runner.context import Context
from git_agent_runner.drive import Finished, View
from git_agent_runner.model import Record
from git_agent_runner.present import Summary, hint, print_json, print_summary, say, shown, warn
from git_agent_runner.supervise.watch import Outcome
from git_agent_runner.verdict import Ended, exit_status

SCHEMA = 1


def view(*, raw: bool, as_json: bool) -> View:
    """On a terminal what the agent says and does; elsewhere, or raw, the engine's own bytes; with JSON nothing."""
    if as_json:
        return View(stall=_stall)
    if raw or not sys.stdout.isatty():
        return View(chunk=_Through().chunk, stall=_stall)
    from git_agent_runner.supervise.render import render

    colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    width = os.get_terminal_size(sys.stdout.fileno()).columns

    def events(found: list[Event]) -> None:
        for event in found:
            if text := render(event, colour=colour, width=width):
                print(text, flush=True)

    return View(events=events, stall=_stall)


class _Through:
    """The engine's bytes, unchanged, to our own streams. A reader that went away does not end the engine."""

    def __init__(self) -> None:
        self._fds: dict[Source, int] = {"stdout": sys.stdout.fileno(), "stderr": sys.stderr.fileno()}

    def chunk(self, source: Source, data: bytes) -> None:
        fd = self._fds.get(source)
        if fd is None:
            return
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(fd, left) :]
        except BrokenPipeError:
            del self._fds[source]


def _stall(seconds: float) -> None:
    say(f"stalled: nothing printed for {seconds:.0f} s; Ctrl-C ends the engine")


def finish(ctx: Context, done: Finished, *, as_json: bool, lenient: bool = False) -> int:
    """Tell what the attempt came to; the exit status."""
    outcome = done.outcome
    ended = Ended(outcome.exit_status, outcome.timed_out, outcome.interrupted)
    status = exit_status(done.verdict, ended, lenient=lenient, signal=outcome.received)
    _warn(done)
    if as_json:
        print_json(_json(done, status))
    else:
        print_summary(_summary(ctx, done))
    return status


def _warn(done: Finished) -> None:
    for text in done.warnings:
        warn(text)
    if done.outcome.write_error:
        warn(f"the run's files are incomplete: {done.outcome.write_error}")
    for survivor in done.outcome.survivors:
        warn(f"still running after the engine ended: {survivor}")
    if done.verdict.resumed == "as_new":
        warn(
            f"NOT resumed: {done.record.agent_name} began a new conversation, {done.verdict.reported},"
            f" instead of {done.record.session.value}",
            ("the recorded session is kept; look at it: git agent show " + done.record.handle,),
        )
    if done.verdict.session.value is None:
        hint("no session id was found: this run cannot be resumed by id (git agent show tells more)")
    if done.verdict.status != "completed" and done.transcript.error:
        warn(f"{done.record.agent_name}: {done.verdict.status}: {done.transcript.error}")


def _summary(ctx: Context, done: Finished) -> Summary:
    record = done.record
    attempt = f"attempt {record.attempts}, {seconds(done.outcome)} s, {ending(done.outcome)}"
    verdict = "" if done.verdict.status == "completed" else f", {done.verdict.status}"
    return Summary(
        handle=record.handle,
        engine=record.agent_name,
        session=session_text(record),
        branch=f"{record.branch or '(detached)'} @ {(ctx.repo.head or 'unborn')[:7]}",
        run=f"{os.path.relpath(ctx.layout.run(record.run_id), ctx.cwd)}  {attempt}{verdict}",
        resume='git agent resume "<message>"',
    )


def session_text(record: Record) -> str:
    return f"{record.session.field} {record.session.value}" if record.session.value else "no session id"


def seconds(outcome: Outcome) -> int:
    return round(outcome.ended - outcome.started)


def ending(outcome: Outcome) -> str:
    if outcome.exit_status is None:
        return "still alive"
    return f"exit {outcome.exit_status}" if outcome.exit_status >= 0 else f"signal {-outcome.exit_status}"


def _json(done: Finished, status: int) -> dict[str, Any]:
    """Schema 1 of `start --json` and `resume --json`; docs/json.md describes it."""
    record, attempt = done.record, done.attempt
    return {
        "schema": SCHEMA,
        "handle": record.handle,
        "runId": record.run_id,
        "engine": record.agent_name,
        "engineVersion": record.engine_version,
        "branch": record.branch,
        "cwd": attempt.cwd,
        "attempt": attempt.number,
        "kind": attempt.kind,
        "status": done.verdict.status,
        "resumed": done.verdict.resumed,
        "session": record.session._asdict(),
        "reportedSession": done.verdict.reported,
        "parentSession": record.parent_session,
        "model": done.transcript.model,
        "finalMessage": done.transcript.final_message,
        "usage": done.transcript.usage,
        "error": attempt.error,
        "engineExit": done.outcome.exit_status,
        "exit": status,
        "survivors": list(done.outcome.survivors),
        "warnings": [shown(text) for text in done.warnings],
    }
