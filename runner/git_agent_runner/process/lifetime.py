"""From an engine's start to its last byte: time-outs, silence, signals to us, and what it leaves behind."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.process import tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from git_agent_runner.process.capture import Pump
    from git_agent_runner.process.signals import Inbox

# A daemon that the engine left behind may hold its output open for ever.
AFTERWARDS = 0.5


class Limits(NamedTuple):
    """When to end an engine. Seconds; `on_stall` is told the seconds of silence, once for each silence."""

    timeout: float | None = None
    stall_after: float | None = None
    on_stall: Callable[[float], None] | None = None
    cancel: Callable[[], bool] | None = None


class Outcome(NamedTuple):
    """How an engine process ended. Times are seconds since the epoch.

    `exit_status` is the engine's own, negative for a signal, None when it survived SIGKILL. `received` is the first
    signal that came to us. `interrupted`: we ended it, for a signal or because the caller cancelled. `signals` are
    what we sent, in order. `stalled`: it was silent when it ended. `survivors` are processes it left, as "pid name".
    `write_error` says why the run's files are incomplete.
    """

    exit_status: int | None
    started: float
    ended: float
    signals: tuple[str, ...] = ()
    received: int | None = None
    interrupted: bool = False
    timed_out: bool = False
    stalled: bool = False
    survivors: tuple[str, ...] = ()
    write_error: str | None = None


class Lifetime:
    """One engine process that runs. `poll` gives its exit status, None while it lives."""

    def __init__(
        self,
        poll: Callable[[], int | None],
        root: tree.Root,
        pump: Pump,
        inbox: Inbox,
        limits: Limits,
    ) -> None:
        self._poll = poll
        self._root = root
        self._pump = pump
        self._inbox = inbox
        self._limits = limits
        self._began = time.monotonic()
        self._started = time.time()
        self._left_at: float | None = None
        self._quiet_told = 0.0
        self._received: int | None = None
        self._cancelled = False
        self._timed_out = False
        self._must_end = False
        self._watching = True
        pump.watch(inbox.fd, inbox.collect)

    def run(self) -> Outcome:
        """Follow the process to its end; end its tree when a limit or a signal asks for it."""
        while not (self.must_end() or self._over()):
            self._pump.step(self._patience())
            self._notice_silence()
        stalled = self._silent()
        ended = self._end() if self._must_end else None
        self._pump.drain()
        self._watching = False
        return Outcome(
            exit_status=self._poll(),
            started=self._started,
            ended=time.time(),
            signals=ended.signals if ended else (),
            received=self._received,
            interrupted=self._received is not None or self._cancelled,
            timed_out=self._timed_out,
            stalled=stalled,
            survivors=ended.survivors if ended else self._left_behind(),
        )

    def _over(self) -> bool:
        """Has the process ended, and has its output ended too or been waited for?"""
        if self._poll() is None:
            return False
        self._left_at = self._left_at or time.monotonic()
        return not self._pump.reading or time.monotonic() >= self._left_at + AFTERWARDS

    def must_end(self) -> bool:
        """Has a limit been reached, or a signal come? What holds up the loop asks, too; once yes, always yes."""
        if self._must_end or not self._watching:
            return self._must_end
        self._inbox.collect()
        signals = self._inbox.take()
        self._received = self._received or (signals[0] if signals else None)
        if self._left_at is None and self._poll() is None:
            limits = self._limits
            self._timed_out |= limits.timeout is not None and time.monotonic() >= self._began + limits.timeout
            self._cancelled |= limits.cancel is not None and limits.cancel()
        self._must_end = self._received is not None or self._timed_out or self._cancelled
        return self._must_end

    def _end(self) -> tree.TreeEnd:
        quick = self._received in {signal.SIGTERM, signal.SIGHUP}
        ended = tree.end(self._root, tree.PROMPT if quick else tree.PATIENT, self._pass)
        # The last threads of a dead process may outlive it by a moment, and only then has it a status.
        until = time.monotonic() + AFTERWARDS
        while self._poll() is None and time.monotonic() < until:
            self._pass(tree.POLL)
        return ended

    def _pass(self, seconds: float) -> bool:
        """Let time pass without letting the pipes fill, which would keep the engine from ending.

        True when another signal came: somebody is in a hurry.
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._pump.step(left)
        self._poll()
        return bool(self._inbox.take())

    def _patience(self) -> float:
        """Seconds until something other than output or a signal needs a look."""
        now = time.monotonic()
        limits = self._limits
        looks = [now + (0.25 if limits.cancel else 1.0)]
        if self._left_at is not None:
            looks.append(self._left_at + AFTERWARDS)
        if limits.timeout is not None:
            looks.append(self._began + limits.timeout)
        if limits.stall_after is not None and not self._silent():
            looks.append(self._pump.last_output + limits.stall_after)
        return min(looks) - now

    def _silent(self) -> bool:
        after = self._limits.stall_after
        return after is not None and time.monotonic() >= self._pump.last_output + after

    def _notice_silence(self) -> None:
        last = self._pump.last_output
        if self._limits.on_stall and self._quiet_told != last and self._silent():
            self._quiet_told = last
            self._limits.on_stall(time.monotonic() - last)

    def _left_behind(self) -> tuple[str, ...]:
        """What the engine left running, once those that are just ending have had a moment."""
        until = time.monotonic() + AFTERWARDS
        while (left := tree.members(self._root)) and time.monotonic() < until:
            self._pass(tree.POLL)
        return tree.names(left)
