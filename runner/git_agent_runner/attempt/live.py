"""While an engine runs: store its process and its session as soon as they are known, and show its output."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from git_agent_extractors.model import Event, Session, Source
from git_agent_runner.attempt import evidence
from git_agent_runner.attempt.plan import Plan
from git_agent_runner.attempt.settle import record_spawned
from git_agent_runner.context import Context
from git_agent_runner.conversation.backup import keep
from git_agent_runner.core import checkpoints
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.engines import profile
from git_agent_runner.store.files.liveness import boot_id
from git_agent_runner.store.records import attempts

if TYPE_CHECKING:
    from git_agent_extractors.live import Decoder

LOOK = 2.0  # seconds between two looks into the store
SHARE = 50  # and that many times as long as the last one took


class View(NamedTuple):
    """What the person sees while the engine runs. `chunk` gets the engine's bytes, `events` what they mean; `close`
    comes after the last of them, and `error` then returns the engine's error, if that is the last thing shown.
    `watched` receives a function that a handler must poll while it waits for a slow reader: True once the engine must
    end.
    """

    chunk: Callable[[Source, bytes], None] | None = None
    events: Callable[[list[Event]], None] | None = None
    stall: Callable[[float], None] | None = None
    watched: Callable[[Callable[[], bool]], None] | None = None
    close: Callable[[], None] | None = None
    error: Callable[[], str] = str


class Live:
    """What is learned while the engine runs. One instance per attempt.

    `take` gets the session's lock; it raises UserError where another process has it.
    """

    def __init__(
        self, ctx: Context, plan: Plan, record: Record, attempt: Attempt, view: View, take: Callable[[str], None]
    ) -> None:
        self.ctx = ctx
        self.plan = plan
        self.record = record
        self.attempt = attempt
        self.view = view
        self._take = take
        self._known = plan.kind in ("resume", "continue")
        self._look_at = time.monotonic() + LOOK

    @cached_property
    def _decoder(self) -> Decoder:
        from git_agent_extractors.live import Decoder  # costs 20 ms, in which the engine is already at work

        return Decoder(profile(self.plan.engine.name, self.ctx.environ))

    def spawned(self, pid: int, created: float) -> None:
        checkpoints.at("engine-spawned")
        self.attempt = self.attempt._replace(pid=pid, process_started=created, boot_id=boot_id())
        record_spawned(self.ctx, self.attempt, self.record)
        _ = self._decoder  # a profile that was spoiled since is found here

    def chunk(self, source: Source, data: bytes) -> None:
        checkpoints.at("output-came")
        events = self._decoder.feed(source, data) if self.view.events or not self._known else []
        for event in events:
            if event.kind == "session" and not self._known:
                self._learn(event.data["value"])
        if self.view.chunk:
            self.view.chunk(source, data)
        if self.view.events:
            self.view.events(events)

    def drawn(self, _source: Source, _data: bytes) -> None:
        """Look into the store of a terminal interface now and then: it prints no id, and some engines delete a session
        that is left early, so it is backed up.
        """
        began = time.monotonic()
        if began < self._look_at:
            return
        with suppress(UserError, OSError):
            found = evidence.under_way(self.ctx, self.attempt)
            if len(found) == 1:
                keep(self.ctx, self.attempt._replace(session=Session(self.plan.engine.field, found[0])))
            if self.attempt.session.value is None and found not in ((), self.attempt.candidates):
                self.attempt = self.attempt._replace(candidates=found)
                attempts.save(self.ctx.layout, self.attempt)
        now = time.monotonic()
        self._look_at = now + max(LOOK, (now - began) * SHARE)

    def finish(self) -> None:
        if self.view.events:
            self.view.events(self._decoder.close())
        if self.view.close:
            self.view.close()

    def _learn(self, value: str) -> None:
        """Store the session as soon as the engine prints it, so that a crash of the machine does not lose it."""
        self._known = True
        if value != self.plan.session:
            with suppress(UserError):  # an id that is new to all of us is nobody else's
                self._take(value)
        checkpoints.at("session-printed")
        session = Session(self.plan.engine.field, value)
        self.attempt = self.attempt._replace(session=session)
        parent, store = self.attempt.parent_session, self.attempt.store

        def known(old: Record) -> Record:
            return old._replace(session=session, parent_session=parent, store=store)

        self.record = known(self.record)
        with suppress(UserError):  # not worth ending the engine for; it is written again when the attempt is settled
            attempts.save(self.ctx.layout, self.attempt)
            checkpoints.at("session-in-attempt")
            self.ctx.runs.update(self.record.handle, known)
            checkpoints.at("session-in-record")
