"""One run, with its attempts and what would happen on a resume."""

from __future__ import annotations

import os
import time
from typing import Any

from git_agent_extractors.model import SOURCES, Transcript
from git_agent_runner.console.lines import print_json, warn
from git_agent_runner.context import Context
from git_agent_runner.core.clock import age, told
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Earlier, Record
from git_agent_runner.core.text import command_line, shown
from git_agent_runner.engines import load
from git_agent_runner.find.lookup import resume_line
from git_agent_runner.git import changes
from git_agent_runner.git.refs import commit_summary
from git_agent_runner.maintain.doctor.sessions import expiring
from git_agent_runner.store.files.liveness import living
from git_agent_runner.store.records import attempts
from git_agent_runner.unattended.policies import taken
from git_agent_runner.unattended.policies.taken import Kept

SCHEMA = 1


def show(ctx: Context, record: Record, *, as_json: bool, attempts_too: bool) -> int:
    story, problems = attempts.readable(ctx.layout, record.run_id)
    reason = why_not(ctx, record)
    soon = expiring(ctx, record, time.time())
    for problem in problems:
        warn(problem)
    if soon:
        warn(soon, ("a resume creates it again",))
    if as_json:
        print_json(_object(ctx, record, story, reason) | {"warnings": [*problems, *([soon] if soon else [])]})
        return 0
    for name, text in _rows(ctx, record, story, reason):
        print(f"{name:<9} {shown(text)}")
    if attempts_too:
        for attempt in story:
            print(f"\nattempt {attempt.number}  {shown(_ending(ctx, record, attempt))}")
            for name, text in _attempt_rows(ctx, record, attempt):
                print(f"  {name:<9} {shown(text)}")
    return 0


def why_not(ctx: Context, record: Record) -> UserError | None:
    """Why a resume would be refused just now, or None. The same checks, nothing started."""
    from git_agent_runner.attempt.plan import plan_resume

    try:
        headless = load(record.agent_name).headless
        message = ctx.settings.continue_message if headless else None
        plan_resume(ctx, record, (), message, interactive=not headless)
    except UserError as error:
        return error
    return None


def state_text(ctx: Context, record: Record) -> str:
    """Of the last attempt: how it goes, or what it came to."""
    state = attempts.state(ctx.layout, record.handle, record.run_id)
    if state == "running":
        silent = _silence(ctx, record)
        stalled = f", stalled: nothing printed for {silent:.0f} s" if silent > ctx.settings.stall_after else ""
        return state + stalled + (", another resume waits for it" if attempts.queued(ctx.layout, record.handle) else "")
    if state == "waiting":
        return "waiting: a resume is queued until its session is free"
    return "dead (git-agent could not settle it)" if state == "dead" else record.status or "unknown"


def _silence(ctx: Context, record: Record) -> float:
    """Seconds since the running attempt's files last changed."""
    folder = ctx.layout.attempt(record.run_id, record.attempts)
    changed = [os.stat(path).st_mtime for path in (f"{folder}/{name}" for name in SOURCES) if os.path.isfile(path)]
    return time.time() - max(changed, default=time.time())


def _rows(ctx: Context, record: Record, story: list[Attempt], reason: UserError | None) -> list[tuple[str, str]]:
    session = f"{record.session.field} {record.session.value}" if record.session.value else _unnamed(story)
    kept = _given_up(ctx, record)
    rows = [
        ("handle", f"{record.handle}   {record.agent_name} {record.engine_version} · {session}"),
        ("branch", f"{record.branch or '(detached)'} from {_commit(ctx, record)}"),
        ("cwd", record.cwd),
        ("run", f"{ctx.layout.run(record.run_id)}  {record.attempts} attempt{'s' * (record.attempts != 1)}"),
        ("status", f"{state_text(ctx, record)}, {age(record.updated_at, time.time())}"),
        ("flags", command_line(record.launch_args)),
        ("parent", record.parent_session or ""),
        ("earlier", ", ".join(f"{one.agent_name} {one.session.value}" for one in record.earlier)),
        ("fork of", record.forked_from or ""),
        ("policy", f"{kept.end}: {kept.reason}" if kept else ""),
        ("survivors", ", ".join(living(story[-1])) if story else ""),
        ("resume", f"no: {reason.message}" if reason else resume_line(ctx, record)),
    ]
    return [(name, text) for name, text in rows if text]


def _unnamed(story: list[Attempt]) -> str:
    begun = story[-1].candidates if story else ()
    return f"no session id; started meanwhile: {', '.join(begun)}" if begun else "no session id"


def _given_up(ctx: Context, record: Record) -> Kept | None:
    """What `watch` wrote down when it left the last attempt alone."""
    kept = taken.read(ctx.layout, record.run_id)
    return kept if kept and kept.end and kept.attempt == record.attempts else None


def _commit(ctx: Context, record: Record) -> str:
    if record.start_commit is None:
        return "an unborn branch"
    found = commit_summary(ctx.repo, record.start_commit)
    return f"{record.start_commit[:7]} {found.subject}" if found else f"{record.start_commit[:7]}, commit missing"


def _ending(ctx: Context, record: Record, attempt: Attempt) -> str:
    if attempt.kind in ("adopt", "fork"):
        return f"{'adopted' if attempt.kind == 'adopt' else 'forked'}: nothing was run"
    if attempt.ended_at is None:
        return f"{attempt.kind}, {state_text(ctx, record)}"
    unseen = "not started" if attempt.pid is None else "its end was not seen"
    exit_text = unseen if attempt.exit_status is None else f"exit {attempt.exit_status}"
    resumed = f", resumed: {attempt.resumed}" if attempt.resumed else ""
    return f"{attempt.kind}, {attempt.status}, {exit_text}{resumed}"


def _attempt_rows(ctx: Context, record: Record, attempt: Attempt) -> list[tuple[str, str]]:
    found = _found(ctx, attempt)
    rows = [
        ("started", attempt.started_at),
        ("command", command_line(attempt.argv)),
        ("message", _short(attempt.message)),
        *(("commits" if not at else "", text) for at, text in enumerate(_commits(ctx, attempt))),
        ("said", _short(found.final_message if found else None)),
        ("unread", ", ".join(found.warnings) if found else ""),
        ("error", attempt.error or ""),
        ("reported", attempt.reported_session or ""),
        ("files", os.path.relpath(ctx.layout.attempt(record.run_id, attempt.number), ctx.cwd)),
    ]
    return [(name, text) for name, text in rows if text]


def _commits(ctx: Context, attempt: Attempt) -> list[str]:
    """What it has committed, newest first, and in numbers."""
    found = changes.words(changes.between(ctx.repo, attempt.head_before, attempt.head_after), 0)
    return [found, *changes.subjects(ctx.repo, attempt.head_before, attempt.head_after)] if found else []


def _found(ctx: Context, attempt: Attempt) -> Transcript | None:
    from git_agent_runner.attempt.settle import read_attempt

    try:
        return read_attempt(ctx, attempt, attempt.exit_status)
    except UserError:  # the engine's profile is not to be had, which the line on resuming tells
        return None


def _short(text: str | None, width: int = 400) -> str:
    text = text or ""
    return text if len(text) <= width else f"{text[:width]}… ({len(text)} characters)"


def _object(ctx: Context, record: Record, story: list[Attempt], reason: UserError | None) -> dict[str, Any]:
    """Schema 1 of `show --json` and `status --json`; docs/json.md describes it."""
    return {
        "schema": SCHEMA,
        "handle": record.handle,
        "runId": record.run_id,
        "runDirectory": ctx.layout.run(record.run_id),
        "engine": record.agent_name,
        "engineVersion": record.engine_version or None,
        "session": record.session._asdict(),
        "parentSession": record.parent_session,
        "earlierSessions": [_earlier_object(one) for one in record.earlier],
        "forkedFrom": record.forked_from,
        "launch": {"args": list(record.launch_args)},
        "branch": record.branch,
        "startCommit": record.start_commit,
        "worktree": record.worktree or None,
        "cwd": record.cwd or None,
        "host": record.host or None,
        "state": attempts.state(ctx.layout, record.handle, record.run_id),
        "status": record.status,
        "createdAt": told(record.created_at),
        "updatedAt": told(record.updated_at),
        "policy": {"end": kept.end, "reason": kept.reason} if (kept := _given_up(ctx, record)) else None,
        "resumable": reason is None,
        "reason": None if reason is None else {"code": reason.code, "message": reason.message, "hints": reason.hints},
        "attempts": [_attempt_object(attempt) for attempt in story],
    }


def _earlier_object(earlier: Earlier) -> dict[str, Any]:
    return {
        "engine": earlier.agent_name,
        "session": earlier.session._asdict(),
        "launch": {"args": list(earlier.launch_args)},
    }


def _attempt_object(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "kind": attempt.kind,
        "startedAt": told(attempt.started_at),
        "endedAt": told(attempt.ended_at),
        "exitStatus": attempt.exit_status,
        "status": attempt.status,
        "resumed": attempt.resumed,
        "reportedSession": attempt.reported_session,
        "argv": list(attempt.argv),
        "message": attempt.message,
        "engineError": attempt.error,
        "survivors": list(attempt.survivors),
    }
