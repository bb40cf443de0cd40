"""One attempt, from a plan to a settled record: spawn, store the session as soon as it is printed, judge, settle."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from git_agent_extractors.live import Decoder
from git_agent_extractors.model import SOURCES, Event, Session, Source, Transcript
from git_agent_extractors.read import read
from git_agent_runner import refs
from git_agent_runner.context import Context, timestamp
from git_agent_runner.engines.spec import Engine, StoreQuery
from git_agent_runner.errors import UserError
from git_agent_runner.git import scrubbed
from git_agent_runner.model import Attempt, Record
from git_agent_runner.plan import Plan
from git_agent_runner.settle import record_spawned, settle
from git_agent_runner.store import attempts
from git_agent_runner.store.layout import new_handle, new_run_id, run_directory
from git_agent_runner.store.locks import Lock, try_lock
from git_agent_runner.supervise.spawn import AttemptFiles, SpawnFailed, run_headless
from git_agent_runner.supervise.watch import Outcome
from git_agent_runner.verdict import Asked, Ended, Verdict, judge


class View(NamedTuple):
    """What the person sees while the engine runs. `chunk` gets the engine's bytes, `events` what they mean."""

    chunk: Callable[[Source, bytes], None] | None = None
    events: Callable[[list[Event]], None] | None = None
    stall: Callable[[float], None] | None = None


class Finished(NamedTuple):
    """One attempt, settled. `warnings` say what could not be written; the run stands all the same."""

    record: Record
    attempt: Attempt
    verdict: Verdict
    transcript: Transcript
    outcome: Outcome
    warnings: tuple[str, ...]


def run(ctx: Context, plan: Plan, view: View, timeout: float | None = None) -> Finished:
    """Run the plan. Raises UserError `run_live` when the run is held by another process; SpawnFailed is recorded."""
    record, lock = _open_run(ctx, plan)
    with lock:
        attempt = _attempt(ctx, plan, record)
        if plan.kind == "start":
            attempts.new_run(ctx.layout, record.run_id)
        attempts.begin(ctx.layout, attempt)
        _save_begun(ctx, plan, record)
        live = _Live(ctx, plan, record, attempt, view)
        try:
            outcome = _supervise(ctx, plan, live, timeout)
        except SpawnFailed as error:
            _never_spawned(ctx, live, error)
            raise
        return _settled(ctx, plan, live, outcome)


def _open_run(ctx: Context, plan: Plan) -> tuple[Record, Lock]:
    """The run's lock comes first, so that a new run is never taken for a dead one, nor its handle drawn twice."""
    if plan.record.handle:
        return plan.record, _held(ctx, plan.record.handle)
    choice = random.SystemRandom().choice
    while True:
        handle = new_handle(choice)
        if lock := try_lock(ctx.layout.run_lock(handle)):
            if not os.path.exists(ctx.layout.index_file(handle)):
                run_id = new_run_id(datetime.now(UTC), plan.engine.name, handle)
                record = plan.record._replace(handle=handle, run_id=run_id, run_directory=run_directory(run_id))
                return record._replace(session=_minted(plan)), lock
            lock.release()


def _held(ctx: Context, handle: str) -> Lock:
    lock = try_lock(ctx.layout.run_lock(handle))
    if lock is None:
        raise UserError(f"run {handle} is still running", code="run_live", hints=("wait for it to end",))
    return lock


def _minted(plan: Plan) -> Session:
    return Session(plan.engine.field, plan.session) if plan.session else Session(None, None)


def _attempt(ctx: Context, plan: Plan, record: Record) -> Attempt:
    now = timestamp()
    return Attempt(
        number=record.attempts,
        kind=plan.kind,
        run_id=record.run_id,
        agent_name=record.agent_name,
        branch=record.branch,
        worktree=record.worktree,
        cwd=plan.invocation.cwd,
        start_commit=record.start_commit,
        argv=plan.invocation.argv,
        launch_args=record.launch_args,
        message=plan.message,
        engine_version=record.engine_version,
        host=record.host,
        started_at=now,
        created_at=record.created_at,
        interactive=plan.interactive,
        session=record.session if plan.kind in ("resume", "continue") else _minted(plan),
        requested_session=plan.session if plan.kind in ("resume", "continue") else None,
        parent_session=record.parent_session,
        head_before=ctx.repo.head,
    )


def _save_begun(ctx: Context, plan: Plan, record: Record) -> None:
    """From here on the record knows of the attempt, and of the session where we minted its id."""
    if plan.kind == "start":
        ctx.runs.create(record)
    else:
        ctx.runs.update(record.handle, lambda _: record)


class _Live:
    """What is learned while the engine runs. It lives as long as one attempt's process."""

    def __init__(self, ctx: Context, plan: Plan, record: Record, attempt: Attempt, view: View) -> None:
        self.ctx = ctx
        self.plan = plan
        self.record = record
        self.attempt = attempt
        self.view = view
        self._decoder = Decoder(plan.engine.name)
        self._known = plan.kind in ("resume", "continue")

    def spawned(self, pid: int, created: float) -> None:
        self.attempt = self.attempt._replace(pid=pid, process_started=created)
        attempts.save(self.ctx.layout, self.attempt)
        record_spawned(self.ctx, self.record)

    def chunk(self, source: Source, data: bytes) -> None:
        if self.view.chunk:
            self.view.chunk(source, data)
        if self._known and not self.view.events:
            return
        events = self._decoder.feed(source, data)
        for event in events:
            if event.kind == "session" and not self._known:
                self._learn(event.data["value"])
        if self.view.events:
            self.view.events(events)

    def finish(self) -> None:
        if self.view.events:
            self.view.events(self._decoder.close())

    def _learn(self, value: str) -> None:
        """A killed machine must not cost the session: it is stored the moment the engine prints it."""
        self._known = True
        session = Session(self.plan.engine.field, value)
        parent = self.record.session.value if self.plan.kind == "fresh" else self.record.parent_session
        self.record = self.ctx.runs.update(
            self.record.handle, lambda old: old._replace(session=session, parent_session=parent)
        )


def _supervise(ctx: Context, plan: Plan, live: _Live, timeout: float | None) -> Outcome:
    env = engine_environment(ctx, plan, live.record)
    folder = ctx.layout.attempt(live.record.run_id, live.attempt.number)
    if plan.interactive:
        from git_agent_runner.supervise.terminal import run_terminal  # a pseudo-terminal is a rare need

        return run_terminal(plan.invocation, env, f"{folder}/pty-output", on_spawn=live.spawned, timeout=timeout)
    outcome = run_headless(
        plan.invocation,
        env,
        AttemptFiles(f"{folder}/stdout", f"{folder}/stderr"),
        on_chunk=live.chunk,
        on_spawn=live.spawned,
        timeout=timeout,
        stall_after=ctx.settings.stall_after,
        on_stall=live.view.stall,
    )
    live.finish()
    return outcome


def engine_environment(ctx: Context, plan: Plan, record: Record) -> dict[str, str]:
    """The person's environment without git's variables, with the run's name, and what the engine needs."""
    env = scrubbed(ctx.environ)
    env["GIT_AGENT_HANDLE"] = record.handle
    env["GIT_AGENT_RUN_DIR"] = ctx.layout.run(record.run_id)
    for name, value in plan.invocation.env:
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def _settled(ctx: Context, plan: Plan, live: _Live, outcome: Outcome) -> Finished:
    record, attempt = live.record, live.attempt
    transcript = read_attempt(ctx, record, attempt.number, outcome.exit_status)
    ended = Ended(outcome.exit_status, outcome.timed_out, outcome.interrupted)
    verdict = judge(_asked(plan, record), transcript, ended)
    verdict, origin = _from_store(ctx, plan, verdict, transcript, outcome.started)
    attempt = attempt._replace(
        ended_at=timestamp(datetime.fromtimestamp(outcome.ended, UTC)),
        exit_status=outcome.exit_status,
        status=verdict.status,
        resumed=verdict.resumed,
        session=verdict.session,
        session_from=origin,
        reported_session=verdict.reported,
        parent_session=verdict.parent,
        head_after=refs.commit_of(ctx.repo, "HEAD"),
        dirty=refs.dirty(ctx.repo),
        survivors=outcome.survivors,
        error=outcome.write_error or transcript.error,
    )
    record, warnings = settle(ctx, record, attempt, verdict)
    return Finished(record, attempt, verdict, transcript, outcome, warnings)


def _asked(plan: Plan, record: Record) -> Asked:
    return Asked(
        kind=plan.kind,
        session=plan.session,
        known=plan.record.session,
        parent=record.parent_session,
        field=plan.engine.field,
        forks=plan.forks,
        interactive=plan.interactive,
        adopts=plan.adopts,
    )


def read_attempt(ctx: Context, record: Record, number: int, exit_status: int | None) -> Transcript:
    """What one attempt's files say."""
    from pathlib import Path

    folder = Path(ctx.layout.attempt(record.run_id, number))
    files: dict[Source, Path] = {source: folder / source for source in SOURCES if (folder / source).exists()}
    return read(record.agent_name, files, exit_status=exit_status)


def _from_store(
    ctx: Context, plan: Plan, verdict: Verdict, transcript: Transcript, started: float
) -> tuple[Verdict, str | None]:
    """(verdict, where the session comes from). Where no output had an id, the engine's store is asked."""
    if transcript.source:
        return verdict, transcript.source
    if verdict.session.value:
        return verdict, "minted" if plan.kind in ("start", "fresh") else "record"
    found = _created_since(ctx, plan.engine, plan, started)
    if len(found) != 1:
        return verdict, None
    return verdict._replace(session=Session(plan.engine.field, found[0])), "store"


def _created_since(ctx: Context, engine: Engine, plan: Plan, started: float) -> tuple[str, ...]:
    version = engine.parse_version(plan.record.engine_version) or ()
    return engine.created_since(StoreQuery(ctx.environ, plan.invocation.cwd, version, since=started))


def _never_spawned(ctx: Context, live: _Live, error: SpawnFailed) -> None:
    """Recorded too: the run exists, and its record says that its engine could not be started."""
    attempt = live.attempt._replace(ended_at=timestamp(), status="failed", error=error.message)
    attempts.save(ctx.layout, attempt)
    ctx.runs.update(live.record.handle, lambda old: old._replace(status="failed", updated_at=timestamp()))


def close_dead(ctx: Context, record: Record) -> Record:
    """Settle the attempt that a killed git-agent left open: interrupted, with the session that its output names."""
    attempt = attempts.latest(ctx.layout, record.run_id)
    if attempt is None or attempt.ended_at is not None:
        return record
    session = record.session
    if session.value is None:
        session = read_attempt(ctx, record, attempt.number, None).session
    attempts.save(
        ctx.layout,
        attempt._replace(ended_at=timestamp(), status="interrupted", session=session, error="git-agent was killed"),
    )
    return ctx.runs.update(
        record.handle, lambda old: old._replace(status="interrupted", session=session, updated_at=timestamp())
    )
