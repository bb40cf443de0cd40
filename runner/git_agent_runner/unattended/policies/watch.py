"""Watching the runs of a repository: look at each, do what the policy says, until nothing is left to wait for.

All that must outlive a killed watch is on disk before anything is done: what was tried (taken.py), and the attempts
themselves. A worker holds its run's own lock as long as it lives, so that a second watch cannot act beside it.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from git_agent_runner.attempt import work_tree
from git_agent_runner.console.lines import say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.git import refs, settings
from git_agent_runner.process.signals import Inbox
from git_agent_runner.store import pointer
from git_agent_runner.store.files import locks
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records import listing as cache
from git_agent_runner.store.records.rows import Row
from git_agent_runner.unattended.policies import taken, trouble
from git_agent_runner.unattended.policies.ci import Ci, CiAnswer
from git_agent_runner.unattended.policies.decide import Decision, decide
from git_agent_runner.unattended.policies.model import Policy, Trigger, Trouble
from git_agent_runner.unattended.policies.notify import notify
from git_agent_runner.unattended.policies.taken import End, Kept
from git_agent_runner.unattended.policies.trouble import Nap
from git_agent_runner.unattended.worker import Task, Worker, at_length, start

POLL = 1.0  # seconds between two looks at all runs
EDITS = 30.0  # seconds between two looks for what a person has edited
_ENDS: dict[str, End] = {"done": "done", "fail": "failed", "escalate": "escalated"}
# What passes by itself, or is another's doing: the run is looked at again, and nothing is given up.
_AGAIN = frozenset({"run_live", "session_held", "locked"})


class RunReport(NamedTuple):
    """What became of one run, for the report at the end."""

    handle: str
    branch: str | None
    actions: int
    end: End | None
    reason: str


class _Busy(NamedTuple):
    worker: Worker
    lock: locks.Lock
    row: Row
    decision: Decision
    number: int
    trigger: Trigger | None


class Watch:
    """The state of one watch: which workers live, and what it did. What must outlive it is on disk."""

    def __init__(self, ctx: Context, policy: Policy, jobs: int, inbox: Inbox) -> None:
        self._ctx = ctx
        self._policy = policy
        self._jobs = jobs
        self._inbox = inbox
        self._busy: dict[str, _Busy] = {}
        self._said: dict[str, str] = {}  # handle, or the path of a record that cannot be read -> what was said last
        self._first: dict[tuple[str, float], float] = {}  # handle and when its trouble began -> when it was seen first
        self._left: dict[str, str] = {}  # handle -> when the record of a run that needs nothing was written
        self._naps: dict[str, Nap | None] = {}
        self._unfinished: list[Row] = []
        self._finished: list[Row] = []
        self._ci = Ci(ctx, policy.on_ci) if policy.on_ci else None
        self._folder = cache.UNKNOWN  # the index, and when it was listed
        self._looked = 0.0
        self.told: dict[str, RunReport] = {}

    def run(self, *, once: bool) -> int | None:
        """Watch until nothing is left to wait for. The number of the signal that ended it, or None."""
        first = True
        while True:
            left = self._round(act=first or not once, once=once)
            first = False
            if not self._busy and (once or not left):
                return None
            if number := self._pause():
                self._end_workers(number)
                return number

    def _round(self, *, act: bool, once: bool) -> bool:
        """One look at all runs. Is anything left that may still change?"""
        self._reap()
        rows = [row for row in self._rows() if row.handle not in self._busy]
        awake = [row for row in rows if not self._sleeps(row)]
        left = len(awake) < len(rows)
        pointed = self._pointed() if awake or self._ci else set[str]()
        for row in awake:
            left = self._guarded(row, pointed, act=act) or left
        if self._ci and act:
            left = self._ask_ci(self._ci, pointed, once=once) or left
        return left or bool(self._busy)

    def _ask_ci(self, ci: Ci, pointed: set[str], *, once: bool) -> bool:
        """Ask the CI for one run, or once for all. May a result still come?"""
        rows = [row for row in self._finished if row.handle in pointed and row.handle not in self._busy]
        while len(self._busy) < self._jobs and (answer := ci.ask(rows)):
            try:
                self._take(ci, answer)
            except UserError as error:  # the run was removed or damaged meanwhile
                self._say(answer.row, error.message)
            if not once:
                break
        return ci.waits()

    def _take(self, ci: Ci, answer: CiAnswer) -> None:
        """What the CI says, which counts once for each commit."""
        row, layout = answer.row, self._ctx.layout
        kept = taken.read(layout, row.run_id)
        if answer.why:
            self._say(row, answer.why)
        if answer.state != "failed" or (kept and kept.commit == answer.commit):
            return
        met = Trouble("on_ci", None, time.time(), has_session=row.session_value is not None)
        done = taken.in_a_row(layout, row.run_id, row.attempts)
        if (decision := decide(self._policy, met, done, random.random)) is None:
            return
        if decision.how not in _ENDS and (why := self._unplaced(row)):
            self._say(row, why)
            self._count(row, 0, "escalated", why)
            return
        if decision.how not in _ENDS:
            decision = decision._replace(message=ci.message(answer))
        times = done.times if done.trigger == "on_ci" else 0
        self._do(row, decision, Kept(row.attempts, "on_ci", times, decision.reason, commit=answer.commit), alive=False)

    def _pointed(self) -> set[str]:
        """The runs that a branch points to now."""
        pointers = pointer.every(self._ctx.repo, settings.read(self._ctx.repo)).values()
        return {handle for handles in pointers for handle in handles}

    def _rows(self) -> list[Row]:
        """The runs that may need something: those that did not need anything before are only looked at once changed."""
        self._look()
        return [row for row in self._unfinished if self._left.get(row.handle) != row.updated_at]

    def _look(self) -> None:
        """Ask for the list only after a write to the index, and now and then: a person may have edited a record."""
        folder = cache.folder_state(self._ctx.layout, time.time())
        if folder == self._folder != cache.UNKNOWN and time.monotonic() < self._looked + EDITS:
            return
        listing = cache.work(self._ctx.layout, time.time())
        self._folder, self._looked = folder, time.monotonic()
        self._unfinished = [row for row in listing.rows if row.status != "completed"]
        self._finished = [row for row in listing.rows if row.status == "completed"] if self._ci else []
        for problem in listing.problems:
            if problem.path not in self._said:
                self._said[problem.path] = problem.message
                warn(problem.message, ("fix it by hand, or: git agent doctor --repair",))

    def _guarded(self, row: Row, pointed: set[str], *, act: bool) -> bool:
        """As `_attend`; what is wrong with one run, removed or damaged meanwhile, does not end the watch of others."""
        try:
            return self._attend(row, pointed, act=act)
        except UserError as error:
            self._say(row, error.message)
            if error.code == "write_failed":
                return True  # nothing was done; the disk, or the system, may have room again
            self._count(row, 0, "escalated", error.message)
            with suppress(UserError):
                notify(self._ctx, row.handle, error.message, ())
            return self._may_change(row, at_work=False)

    def _sleeps(self, row: Row) -> bool:
        """Is a run at work that needed nothing as it was then?"""
        nap = self._naps.get(row.handle)
        with suppress(UserError):  # a lock that cannot be asked for is met again when the run is looked at
            return nap is not None and trouble.sleeps(self._ctx.layout, row, nap, time.time())
        return False

    def _attend(self, row: Row, pointed: set[str], *, act: bool) -> bool:
        """Look at one run and do what is due. May it still change?"""
        now = time.time()
        kept = taken.read(self._ctx.layout, row.run_id)
        seen = trouble.look(self._ctx, row, now, kept and kept.stopped)
        at_work = seen.state in ("running", "waiting")
        if not (at_work or seen.state == "dead" or kept or row.handle in pointed):
            return self._may_change(row, at_work)  # it ended before anybody watched, and its branch has another
        if kept and kept.end and kept.attempt == seen.attempt:
            return False
        if at_work and kept is None and seen.attempt:
            taken.write(self._ctx.layout, row.run_id, Kept(seen.attempt, None, 0))
        if seen.trouble is None:
            self._naps[row.handle] = seen.nap
            return self._may_change(row, at_work)
        done = taken.in_a_row(self._ctx.layout, row.run_id, seen.attempt)
        chance = random.Random(f"{row.run_id} {seen.attempt} {done.times}").random  # noqa: S311  the same after a restart
        decision = decide(self._policy, seen.trouble, done, chance)
        if decision is None:
            self._say(row, f"{seen.trouble.status or seen.trouble.trigger}: no policy")
            return self._may_change(row, at_work)
        if (wait := self._wait(row, seen.trouble.since, decision.due, now)) > 0:
            self._say(row, f"{decision.reason}: {decision.how} in {wait:.0f} s")
            return True
        if not seen.trouble.alive and decision.how not in _ENDS and (why := self._unplaced(row)):
            self._say(row, why)
            self._count(row, 0, "escalated", why)
            return self._may_change(row, at_work)  # nothing was tried: the next watch looks again
        times = done.times if done.trigger == seen.trouble.trigger else 0
        if act and len(self._busy) < self._jobs:
            kept = Kept(seen.attempt, seen.trouble.trigger, times, decision.reason)
            self._do(row, decision, kept, alive=seen.trouble.alive)
        return True

    def _unplaced(self, row: Row) -> str | None:
        if not row.branch or not row.cwd or row.branch in work_tree.checked_out(self._ctx.repo):
            return None
        return work_tree.unplaced(self._ctx.repo, refs.heads(self._ctx.repo, [row.branch]), row.branch, row.handle)

    def _wait(self, row: Row, since: float, due: float, now: float) -> float:
        """Seconds that are left, and never more than from when we saw it first: the clock may have been set back."""
        first = self._first.setdefault((row.handle, since), time.monotonic())
        return min(due - now, first + (due - since) - time.monotonic())

    def _may_change(self, row: Row, at_work: bool) -> bool:
        """Of a run that needs nothing now."""
        if not at_work:
            self._left[row.handle] = row.updated_at
        return at_work

    def _do(self, row: Row, decision: Decision, kept: Kept, *, alive: bool) -> None:
        lock = locks.try_lock(self._ctx.layout.lock(f"policy-{row.handle}"))
        if lock is None:  # a worker of a watch that was killed is still at it
            return
        said = self._ctx.settings.continue_message
        sent = f' with "{said}"' if decision.how in ("resume", "nudge") and decision.message is None else ""
        self._say(row, shown(f"{decision.reason}: {decision.how}{sent}"))
        with ExitStack() as held:
            held.enter_context(lock)
            if decision.how in _ENDS and not (alive and decision.how != "escalate"):
                self._close(row, decision, kept)
                return
            taken.write(self._ctx.layout, row.run_id, kept._replace(times=kept.times + 1))
            worker = self._start(row, decision, kept, lock)
            self._busy[row.handle] = _Busy(worker, lock, row, decision, kept.attempt, kept.trigger)
            held.pop_all()
        self._count(row, 1)

    def _start(self, row: Row, decision: Decision, kept: Kept, lock: locks.Lock) -> Worker:
        then = "end" if decision.how in _ENDS else decision.then
        task = Task(row.handle, kept.attempt, then, decision.message, decision.action.append, decision.action.run)
        try:
            return start(task, self._ctx, (lock.fd,))
        except OSError as error:
            taken.write(self._ctx.layout, row.run_id, kept)
            raise UserError(f"no process can be started: {error.strerror}", code="write_failed") from None

    def _close(self, row: Row, decision: Decision, kept: Kept) -> None:
        """Nothing more is done for this attempt. It is written down before anybody is told."""
        end = _ENDS[decision.how]
        taken.write(self._ctx.layout, row.run_id, kept._replace(end=end, reason=decision.reason))
        self._count(row, 0, end, decision.reason)
        if end == "escalated":
            notify(self._ctx, row.handle, decision.reason, decision.action.run)

    def _reap(self) -> None:
        for handle, busy in list(self._busy.items()):
            if busy.worker.process.poll() is None:
                continue
            del self._busy[handle]
            with busy.lock:
                try:
                    self._learn(busy, busy.worker.answer())
                except UserError as error:  # the run was removed meanwhile, or its record damaged
                    self._say(busy.row, error.message)

    def _learn(self, busy: _Busy, answer: dict[str, Any]) -> None:
        """What the attempt came to is read from its files in the next round; here is what kept it from being one."""
        row = busy.row
        error = answer.get("error")
        if "gate" in answer:
            reason = f"the gate failed (exit {answer['gate']})"
        elif isinstance(error, dict) and error.get("code") not in _AGAIN:
            reason = str(error.get("message", "it could not continue"))
        else:
            told = f"attempt {answer['attempt']}: {at_length(answer)}" if "status" in answer else "looking again"
            self._say(row, told)
            return
        kept = taken.read(self._ctx.layout, row.run_id) or Kept(busy.number, busy.trigger, 1)
        self._say(row, reason)
        action = busy.decision.action._replace(run=())  # a gate's command asks, it tells nobody
        self._close(row, busy.decision._replace(how="escalate", reason=reason, action=action), kept)

    def _pause(self) -> int | None:
        """Wait for the next round, or for the end of a worker. A signal to end, if one came."""
        import select

        ready, _, _ = select.select([self._inbox.fd], [], [], POLL)
        if ready:
            self._inbox.collect()
        return next(iter(self._inbox.take()), None)

    def _end_workers(self, number: int) -> None:
        """Each worker ends its engine and settles its attempt, as git-agent does on that signal."""
        self._reap()
        for busy in self._busy.values():
            busy.worker.process.send_signal(number)
        for busy in self._busy.values():
            busy.worker.process.wait()
            with busy.lock, suppress(UserError):  # the disk may be full; the others are waited for anyway
                self._stopped(busy)

    def _stopped(self, busy: _Busy) -> None:
        """What was begun and not finished does not count as tried: the next watch takes it up."""
        layout, run = self._ctx.layout, busy.row.run_id
        kept, attempt = taken.read(layout, run), attempts.latest(layout, run)
        begun = attempt is not None and attempt.number > busy.number
        if kept is None or attempt is None:
            return
        if attempt.status == "interrupted" or not begun:
            again = kept._replace(times=max(0, kept.times - 1), stopped=attempt.number if begun else kept.stopped)
            taken.write(layout, run, again)

    def _say(self, row: Row, text: str) -> None:
        if self._said.get(row.handle) != text.partition(" in ")[0]:
            self._said[row.handle] = text.partition(" in ")[0]
            say(f"{row.handle} {row.branch}: {text}")

    def _count(self, row: Row, more: int, end: End | None = None, reason: str = "") -> None:
        before = self.told.get(row.handle)
        self.told[row.handle] = RunReport(row.handle, row.branch, (before.actions if before else 0) + more, end, reason)
