"""What start and resume show: the running engine, then the summary; or one JSON object."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Any

from git_agent_extractors.model import Event, Source
from git_agent_runner.attempt import refused
from git_agent_runner.attempt.leaving import Left
from git_agent_runner.attempt.live import View
from git_agent_runner.attempt.plan import Plan
from git_agent_runner.attempt.run import Finished
from git_agent_runner.attempt.settle import Settled
from git_agent_runner.attempt.spending import of_event
from git_agent_runner.attempt.verdict import Ended, Exit, exit_status
from git_agent_runner.console.lines import Summary, hint, print_json, print_summary, say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.model import Record
from git_agent_runner.engines import arguments, load
from git_agent_runner.find.lookup import resume_line
from git_agent_runner.git import changes
from git_agent_runner.process.capture import Outlet
from git_agent_runner.process.lifetime import Outcome
from git_agent_runner.store.records import attempts

SCHEMA = 1


def view(*, raw: bool, as_json: bool, spent: float | None = 0.0) -> View:
    """On a terminal what the agent says and does; elsewhere, or raw, the engine's own bytes; with JSON nothing."""
    if as_json:
        return View(stall=_stall)
    if raw or not sys.stdout.isatty():
        out = _Through()
        return View(chunk=out.write, stall=_stall, watched=out.watched)
    from git_agent_runner.console.render import Renderer

    colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    renderer = Renderer(colour=colour, width=os.get_terminal_size(sys.stdout.fileno()).columns)
    out = _Through()

    def events(found: list[Event]) -> None:
        told = (event for event in found if event.kind != "end")  # the summary says how it ended
        text = "".join(renderer.text(of_event(event, spent)) for event in told)
        out.write("stdout", text.encode("utf-8", "replace"))

    def close() -> None:
        out.write("stdout", renderer.close().encode())

    return View(events=events, stall=_stall, watched=out.watched, close=close, error=lambda: renderer.error)


class _Through:
    """Bytes to our own streams, unbuffered. A reader that went away, or a full disk, does not end the engine; one that
    pauses (a pager) holds it up, but not its end: what was not read by then is left out.
    """

    def __init__(self) -> None:
        self._outlets: dict[Source, Outlet] = {
            "stdout": Outlet(sys.stdout.fileno()),
            "stderr": Outlet(sys.stderr.fileno()),
        }
        self._hurry: Callable[[], bool] = bool

    def watched(self, hurry: Callable[[], bool]) -> None:
        self._hurry = hurry

    def write(self, source: Source, data: bytes) -> None:
        outlet = self._outlets.get(source)
        try:
            whole = outlet is None or outlet.pour(data, self._hurry)
        except OSError as error:
            whole = False
            if error.errno != errno.EPIPE:  # a reader that went away has had what it wanted
                name = {"stdout": "output", "stderr": "error"}.get(source, source)
                warn(f"cannot write to standard {name}: {error.strerror}", ("the run directory has all of it",))
        if not whole:
            del self._outlets[source]


def _stall(seconds: float) -> None:
    say(f"stalled: nothing printed for {seconds:.0f} s; Ctrl-C ends the engine")


def finish(ctx: Context, plan: Plan, done: Finished, *, as_json: bool, lenient: bool) -> int:
    """Report the attempt's outcome; returns the exit status."""
    outcome = done.outcome
    ended = Ended(outcome.exit_status, outcome.timed_out, outcome.interrupted, outcome.stalled)
    ours = exit_status(done.settled.verdict, ended, lenient=lenient, signal=outcome.received)
    _warn(ctx, done)
    refused.say(ctx, done.settled)
    if as_json:
        print_json(_json(plan, done, ours) | _refused(ctx, done.settled))
    else:
        print_summary(_summary(_as_left(ctx, done.settled.left), done, ours))
    return ours.status


def _warn(ctx: Context, done: Finished) -> None:
    settled = done.settled
    record, verdict = settled.record, settled.verdict
    for text in settled.warnings:
        warn(text)
    if settled.left:
        say(_left(settled.left, record))
    if done.outcome.write_error:
        warn(f"the run's files are incomplete: {done.outcome.write_error}")
    for survivor in done.outcome.survivors:
        warn(f"still running after the engine ended: process {survivor}")
    if verdict.resumed == "as_new":
        warn(
            f"NOT resumed: {record.agent_name} began a new conversation, {verdict.reported},"
            f" instead of {record.session.value}",
            (f"the run keeps its recorded session: git agent show {record.handle}",),
        )
    if settled.attempt.candidates:
        hint(f"no session recorded; several started here during this attempt: {', '.join(settled.attempt.candidates)}")
    if verdict.status != "completed":
        ender = attempts.ender(ctx.layout, settled.attempt) if done.outcome.received else None
        said = None if settled.transcript.error == done.view.error() else settled.transcript.error
        reason = f"ended by {ender}" if ender else said
        warn(f"{record.agent_name}: {verdict.status}{f': {reason}' if reason else ''}", _remedy(done))


def _as_left(ctx: Context, left: Left | None) -> Context:
    """The context as the engine left it: the person may be on another branch now."""
    if left is None or left.top != ctx.repo.top:
        return ctx
    return ctx._replace(repo=ctx.repo._replace(branch=left.branch, head=left.commit))


def _left(left: Left, record: Record) -> str:
    """Where HEAD is now, to which branch the run belongs, and what would be lost."""
    at = f"branch '{left.branch}'" if left.branch else f"no branch, at {(left.commit or 'unborn')[:7]}"
    stray = f"; {left.stray} commit{'s' * (left.stray != 1)} on no branch" if left.stray else ""
    if left.made:
        return f"the engine created {at} and left the work tree on it; run {record.handle} now belongs to it{stray}"
    own = f"branch '{record.branch}'" if record.branch else "this work tree"
    rescue = f": git branch NAME {left.commit}" if left.stray and not left.branch else ""
    return f"the engine left the work tree on {at}; run {record.handle} still belongs to {own}{stray}{rescue}"


def _remedy(done: Finished) -> tuple[str, ...]:
    """How to trust a directory, which we never do for the person, or to log in."""
    record, attempt = done.settled.record, done.settled.attempt
    engine = load(record.agent_name)
    if attempt.status == "auth_failed" and engine.login:
        return (f"to log in: {engine.login}",)
    flag = engine.trust if attempt.status == "untrusted" else None
    words = 'start "<prompt>"' if attempt.kind == "start" else 'resume "<message>"'
    return (f"if you trust '{attempt.cwd}': git agent {words} -- {flag}",) if flag else ()


def _summary(ctx: Context, done: Finished, ours: Exit) -> Summary:
    record, attempt = done.settled.record, done.settled.attempt
    commit = attempt.head_after or attempt.head_before or "unborn"
    facts = f"attempt {attempt.number}, {seconds(done.outcome)} s, {_exit(done.outcome, ours)}"
    verdict = "" if attempt.status == "completed" else f", {attempt.status}"
    return Summary(
        handle=record.handle,
        engine=record.agent_name,
        session=session_text(record),
        branch=f"{record.branch or '(detached)'} @ {commit[:7]}",
        changes=changes.words(
            changes.between(ctx.repo, attempt.head_before, attempt.head_after), done.settled.uncommitted
        ),
        run=f"{os.path.relpath(ctx.layout.run(record.run_id), ctx.cwd)}  {facts}{verdict}",
        resume=_resume(ctx, done.settled),
    )


def _resume(ctx: Context, settled: Settled) -> str:
    """The command that resumes the run, if it has a session."""
    record = settled.record
    for word in arguments.find(load(record.agent_name).options, record.launch_args, "no_session"):
        return f"no: with {word.name} {record.agent_name} saves no session"
    if settled.exists or settled.attempt.candidates:
        return resume_line(ctx, record, pointed=settled.pointed)
    back = f"; this branch continues with run {settled.again}" if settled.again else ""
    return f"no: {record.agent_name} has no session for it{back}"


def session_text(record: Record) -> str:
    return f"{record.session.field} {record.session.value}" if record.session.value else "no session id"


def seconds(outcome: Outcome) -> int:
    return round(outcome.ended - outcome.started)


def _exit(outcome: Outcome, ours: Exit) -> str:
    """Our exit status, and the engine's own if it differs."""
    own = outcome.exit_status
    if own == ours.status:
        return f"exit {own}"
    unseen = "still alive" if outcome.survivors else "unknown"
    engine = unseen if own is None else f"exit {own}" if own >= 0 else f"signal {-own}"
    return f"exit {ours.status} ({_SAYS[ours.source]}engine: {engine})"


_SAYS = {"signal": "signal to git-agent; ", "timeout": "--timeout; ", "engine": "", "verdict": "verdict; "}


def _refused(ctx: Context, settled: Settled) -> dict[str, Any]:
    found = refused.refused(ctx, settled)
    return {
        "refused": [refusal._asdict() for refusal in found],
        "allow": [list(allowance.flags) for allowance in refused.allowing(ctx, settled.attempt, found)],
    }


def _json(plan: Plan, done: Finished, ours: Exit) -> dict[str, Any]:
    """Schema 1 of `start --json` and `resume --json`; docs/json.md describes it."""
    record, attempt, transcript = done.settled.record, done.settled.attempt, done.settled.transcript
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
        "strategy": plan.strategy,
        "fallbackCode": plan.instead_of.code if plan.instead_of else None,
        "fallbackReason": plan.instead_of.message if plan.instead_of else None,
        "restored": plan.restored,
        "status": attempt.status,
        "resumed": attempt.resumed,
        "session": record.session._asdict(),
        "reportedSession": attempt.reported_session,
        "parentSession": record.parent_session,
        "model": transcript.model,
        "finalMessage": transcript.final_message,
        "usage": transcript.usage,
        "engineError": attempt.error,
        "engineExit": done.outcome.exit_status,
        "exit": ours.status,
        "exitFrom": ours.source,
        "survivors": list(done.outcome.survivors),
        "head": _head(done.settled.left),
        "warnings": list(done.settled.warnings),
    }


def _head(left: Left | None) -> dict[str, Any] | None:
    return left and {"branch": left.branch, "commit": left.commit, "made": left.made, "onNoBranch": left.stray}
