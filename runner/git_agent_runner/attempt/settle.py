"""From an attempt's files to a settled run: read, judge, and write attempt, record, note and pointer, in this order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from git_agent_extractors.model import NO_SESSION, Session, Transcript
from git_agent_runner.attempt import evidence, leaving
from git_agent_runner.attempt.leaving import Begun, Left
from git_agent_runner.attempt.spending import before, of_attempt, own
from git_agent_runner.attempt.verdict import Ended, Expectation, Verdict, judge
from git_agent_runner.context import Context, later, timestamp
from git_agent_runner.conversation.backup import keep
from git_agent_runner.core import checkpoints
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record, Repository
from git_agent_runner.engines import load, profile
from git_agent_runner.engines.redact import fit
from git_agent_runner.find import pointing, tie
from git_agent_runner.find.running import hold
from git_agent_runner.git import HEADS, changes, discover, refs, scrubbed
from git_agent_runner.process.lifetime import Outcome
from git_agent_runner.store.files.layout import handle_of
from git_agent_runner.store.notes import writing
from git_agent_runner.store.records import attempts

# By these the session is in the store that the attempt's engine used.
_THERE = ("yes", "forked", "unverified")


class Settled(NamedTuple):
    """One attempt, settled. `warnings` say what could not be written; the run stands anyway.

    `pointed`: the run's branch names it, so that a resume on that branch finds it. `left`: where the engine left HEAD,
    if it is elsewhere than before; `uncommitted`: how many entries it left so. `exists`: there is a session to resume.
    `again` is the run that the branch has once more, since no session came of this one.
    """

    record: Record
    attempt: Attempt
    verdict: Verdict
    transcript: Transcript
    warnings: tuple[str, ...]
    pointed: bool
    left: Left | None
    uncommitted: int
    exists: bool
    again: str | None


def record_spawned(ctx: Context, attempt: Attempt, record: Record) -> None:
    """Move the branch's pointer once the new engine process exists, so that a killed run is found again.

    A failure is not worth ending the engine for: all is written again, and told, when the attempt is settled.
    """
    with suppress(UserError):
        attempts.save(ctx.layout, attempt)
        checkpoints.at("process-saved")
        pointing.point(ctx, record, attempt)


def settle(
    ctx: Context, asked: Expectation, record: Record, attempt: Attempt, outcome: Outcome, before: Begun | None = None
) -> Settled:
    """Write the attempt's outcome. `before` is the state before it, if no other process has changed it.

    Raises UserError when the attempt or the record cannot be written: then nothing that stood before is lost.
    """
    transcript = read_attempt(ctx, attempt, outcome.exit_status)
    checkpoints.at("output-read")
    seen = evidence.gather(ctx, attempt, outcome, transcript)
    transcript = seen.transcript
    asked = asked._replace(opened=seen.opened, ended=seen.ended)
    attempt = attempt._replace(candidates=seen.begun if len(seen.begun) > 1 else ())
    if transcript.source is None and asked.kind in ("start", "fresh"):
        asked = asked._replace(session=seen.begun[0] if len(seen.begun) == 1 else None)
    ended = Ended(outcome.exit_status, outcome.timed_out, outcome.interrupted, outcome.stalled)
    verdict = judge(asked, transcript, ended)
    where = work_tree(ctx, attempt.cwd)
    mine = record.role == "work"  # no other run can be a branch's
    owner = pointing.owner(ctx, record) if mine else None
    begun = record
    record = record._replace(branch=owner or record.branch or _tied_meanwhile(ctx, record))
    left = before and leaving.left(leaving.now(where, ctx.environ), before, record)
    if left and left.made and mine:
        record = record._replace(branch=left.branch)
    uncommitted = _uncommitted(where)
    since = pointing.since(ctx, record.branch, begun)
    attempt = attempt._replace(
        branch=record.branch,
        ended_at=timestamp(datetime.fromtimestamp(outcome.ended, UTC)),
        exit_status=outcome.exit_status,
        status=verdict.status,
        resumed=verdict.resumed,
        session=verdict.session,
        session_from=seen.origin or _origin(verdict, transcript),
        reported_session=verdict.reported,
        parent_session=verdict.parent,
        head_after=tip(where, record.branch),
        dirty=None if uncommitted is None else uncommitted > 0,
        survivors=outcome.survivors,
        error=outcome.write_error or transcript.error,
    )
    attempts.save(ctx.layout, attempt)
    checkpoints.at("attempt-settled")
    record = _write_record(ctx, attempt, since)
    checkpoints.at("record-settled")
    removed = None if os.path.isdir(where.git_dir) else f"the engine has removed its work tree '{where.top}'"
    notable = attempt.head_after or not removed
    noted = _warning(writing.write, ctx.repo, attempt.head_after, fit(record)) if notable else None
    kept = _warning(keep, ctx, attempt)
    checkpoints.at("session-kept")
    exists = evidence.exists(ctx, attempt)
    again = None
    if left and left.made and mine:
        owner, pointed = record.branch, _warning(tie.repoint, ctx, record)
    else:
        again = pointing.give_back(ctx, record, attempt) if owner and not exists else None
        pointed = _warning(pointing.point_again, ctx, record, attempt) if owner and not again else None
    warnings = tuple(text for text in (removed, noted, pointed, kept) if text)
    named = owner is not None and pointed is None and again is None and removed is None
    return Settled(record, attempt, verdict, transcript, warnings, named, left, uncommitted or 0, exists, again)


def settle_unstarted(ctx: Context, before: Record, record: Record, attempt: Attempt, error: UserError) -> None:
    """Record an engine that could not be started: the run exists, its record shows why, and claims no session.

    `before` is the record as it stood before the attempt, `record` with what the engine was seen to begin.
    """
    kept = before if attempt.pid is None else record
    attempt = attempt._replace(
        ended_at=timestamp(),
        status="failed",
        error=error.message,
        session=kept.session,
        parent_session=kept.parent_session,
    )
    with suppress(UserError):  # the error at hand says more than one of writing it down
        attempts.save(ctx.layout, attempt)
        _write_record(ctx, attempt)


def close_dead(ctx: Context, record: Record) -> Record:
    """Settle the attempt that a killed git-agent left open, from what is on disk; returns the record.

    Raises UserError `run_live` when another process is at it.
    """
    with hold(ctx, record):
        record = ctx.runs.read(record.handle)
        attempt = attempts.latest(ctx.layout, record.run_id)
        if attempt is None or attempt.ended_at is not None:
            return record
        started = moment(attempt.started_at) or 0.0
        killed = Outcome(exit_status=None, started=started, ended=_last_sign(ctx, attempt, started), interrupted=True)
        settled = settle(ctx, _asked_then(record, attempt), record, attempt, killed)
        return settled.record


def _last_sign(ctx: Context, attempt: Attempt, started: float) -> float:
    """When the attempt was last seen running, in seconds since the epoch. If it counted as ending now, the run could go
    to a branch that got the name later.
    """
    signs = [started]
    for path in attempts.outputs(ctx.layout, attempt).values():
        with suppress(OSError):
            signs.append(path.stat().st_mtime)
    return min(max(signs), time.time())


def _asked_then(record: Record, attempt: Attempt) -> Expectation:
    """What an attempt was to do, from what it wrote when it began."""
    engine = load(attempt.agent_name)
    version = engine.parse_version(attempt.engine_version) or ()
    known = record.session
    if attempt.kind == "fresh" and attempt.session.value and attempt.session == known:  # its id was printed, and stored
        known = Session(engine.field, attempt.parent_session) if attempt.parent_session else NO_SESSION
    return Expectation(
        kind=attempt.kind,
        session=attempt.session.value if attempt.kind in ("start", "fresh") else attempt.requested_session,
        known=known,
        parent=record.parent_session,
        field=engine.field,
        forks=engine.forks(version, attempt.launch_args),
        interactive=attempt.interactive,
        adopts=attempt.requested_session is None,
    )


def read_attempt(ctx: Context, attempt: Attempt, exit_status: int | None) -> Transcript:
    """Read one attempt's files. Raises UserError if the engine's profile is not available."""
    files = attempts.outputs(ctx.layout, attempt)
    from git_agent_extractors.read import read  # not before the engine has ended

    found = read(profile(attempt.agent_name, ctx.environ), files, exit_status=exit_status)
    if not found.usage or "cost_usd" not in found.usage:
        return found
    return found._replace(usage=own(found.usage, before(ctx, of_attempt(attempt))))


def _tied_meanwhile(ctx: Context, record: Record) -> str | None:
    """A run without a branch that another command has tied to one while the engine ran."""
    with suppress(UserError):
        return ctx.runs.read(record.handle).branch
    return None


def work_tree(ctx: Context, cwd: str) -> Repository:
    """The work tree that a run's directory lies in, which need not be the one that the person is in."""
    if cwd in (ctx.cwd, ctx.repo.top):
        return ctx.repo
    try:
        return discover(cwd, scrubbed(ctx.environ))
    except UserError:
        return ctx.repo  # a directory of the person's choice (--cwd), or one that is gone by now


def tip(where: Repository, branch: str | None) -> str | None:
    """The commit that the run's work stands on: its branch's, and where it has none, HEAD's."""
    if branch and (oid := refs.commit_of(where, HEADS + branch)):
        return oid
    return refs.commit_of(where, "HEAD") if os.path.isdir(where.git_dir) else None


def _uncommitted(where: Repository) -> int | None:
    try:
        return changes.uncommitted(where)
    except UserError:
        return None  # the engine has removed the work tree


def _origin(verdict: Verdict, transcript: Transcript) -> str | None:
    """Where the run's session id comes from: a source of the output, or the record."""
    if verdict.session.value is None:
        return None
    return transcript.source if transcript.session.value == verdict.session.value else "record"


def _write_record(ctx: Context, attempt: Attempt, since: str = "") -> Record:
    return ctx.runs.update(
        handle_of(attempt.run_id),
        lambda old: old._replace(
            branch=attempt.branch,
            status=attempt.status,
            session=attempt.session,
            parent_session=attempt.parent_session,
            store=attempt.store if attempt.session != old.session or attempt.resumed in _THERE else old.store,
            attempts=attempt.number,
            updated_at=later(old.updated_at, since, than=moment(attempt.ended_at)),
        ),
    )


def _warning(write: Callable[..., object], *values: object) -> str | None:
    """Try a write that a run can do without; return why it failed."""
    try:
        write(*values)
    except UserError as error:
        return error.message
    return None
