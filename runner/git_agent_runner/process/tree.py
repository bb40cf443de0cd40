"""Ending an engine means ending its tree: launchers spawn native children, tools sit in sessions of their own.

Killing the launcher alone leaves the native codex running its turn to the end (codex/0.171.0, all versions tried);
gemini's parent ignores signals and its child runs on (gemini/signal-children); tools survive `kill -9 -PGID`.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from git_agent_runner.core.clock import began

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import psutil

Fact = TypeVar("Fact")

MARKER = ("GIT_AGENT_HANDLE", "GIT_AGENT_RUN_DIR")
POLL = 0.05

# The signals in turn, each with the seconds it is given. SIGINT comes first: codex cleans its tools up on SIGINT but
# not on SIGTERM (codex/0.171.0). Whoever sends SIGTERM or SIGHUP to us often follows with SIGKILL: be quick then.
Ladder = tuple[tuple[signal.Signals, float], ...]
PATIENT: Ladder = ((signal.SIGINT, 5.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 2.0))
PROMPT: Ladder = ((signal.SIGINT, 1.5), (signal.SIGTERM, 1.5), (signal.SIGKILL, 1.0))
AT_ONCE: Ladder = ((signal.SIGKILL, 2.0),)


class Root(NamedTuple):
    """An engine process that was started as the leader of its own session, and what its descendants inherit.

    `created` is its start in seconds since the epoch. `marker` are environment variables that only it and its
    descendants carry; empty when there are none.
    """

    pid: int
    created: float
    marker: tuple[tuple[str, str], ...] = ()


class TreeEnd(NamedTuple):
    """The signals that were sent, in order, and what is still alive, as "pid name"."""

    signals: tuple[str, ...]
    survivors: tuple[str, ...]


def root_of(pid: int, env: Mapping[str, str]) -> Root:
    """The root for a child of ours that is not reaped yet. `env` is the environment it was given."""
    marker = tuple((name, env[name]) for name in MARKER if name in env)
    return Root(pid, began(pid), marker if len(marker) == len(MARKER) else ())


def members(root: Root) -> list[psutil.Process]:
    """What lives of the tree: the engine, its session, its descendants, and whoever carries its marker.

    The session and the marker find processes whose parent is gone. Never ourselves nor a parent of ours.
    """
    import psutil

    spared = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    young = [process for process in psutil.process_iter() if _younger(process, root)]
    alive = [process for process in young if process.pid not in spared]
    leader = -1 if _reused(root, young) else root.pid
    found = {process.pid: process for process in alive if _belongs(process, leader, root.marker)}
    while more := {p.pid: p for p in alive if p.pid not in found and _parent(p) in found}:
        found |= more
    return list(found.values())


def end(root: Root, ladder: Ladder = PATIENT, wait: Callable[[float], bool] | None = None) -> TreeEnd:
    """Send each signal of the ladder to the whole tree until nothing of it lives.

    `wait` passes that many seconds; it returns True to go on to the next signal at once.
    """
    wait = wait or _sleep
    known: dict[int, psutil.Process] = {}
    sent: list[str] = []
    for number, grace in ladder:
        if not _refresh(known, root):
            break
        sent.append(number.name)
        _insist(known, root, number, time.monotonic() + grace, wait)
    return TreeEnd(tuple(sent), names(_refresh(known, root)))


def names(processes: list[psutil.Process]) -> tuple[str, ...]:
    """Processes as a person knows them: "4711 node"."""
    return tuple(sorted(f"{process.pid} {_name(process)}" for process in processes))


def _insist(
    known: dict[int, psutil.Process],
    root: Root,
    number: signal.Signals,
    deadline: float,
    wait: Callable[[float], bool],
) -> None:
    """One signal to each process of the tree, also to those that appear while we wait."""
    told: set[psutil.Process] = set()
    while alive := _refresh(known, root):
        for process in alive:
            if process not in told:
                told.add(process)
                _send(process, number)
        if time.monotonic() >= deadline or wait(POLL):
            return


def _refresh(known: dict[int, psutil.Process], root: Root) -> list[psutil.Process]:
    """Those known before stay known when they lose parent, session and marker; dead ones are dropped."""
    merged = known | {process.pid: process for process in members(root)}
    known.clear()
    known.update((pid, process) for pid, process in merged.items() if _alive(process))
    return list(known.values())


def _younger(process: psutil.Process, root: Root) -> bool:
    """Only what started after the engine can be its descendant; this keeps the scan cheap, too."""
    # Start times are computed from the boot time, whose clock may be adjusted between two readings.
    return _read(process.create_time, 0.0) >= root.created - 1.0 and _alive(process)


def _belongs(process: psutil.Process, leader: int, marker: tuple[tuple[str, str], ...]) -> bool:
    if leader in (process.pid, _session(process.pid)):
        return True
    environ: dict[str, str] = _read(process.environ, {}) if marker else {}
    return bool(environ) and all(environ.get(name) == value for name, value in marker)


def _reused(root: Root, young: list[psutil.Process]) -> bool:
    """Is the engine's pid another process's by now? Then that process's session is not the engine's, either."""
    starts = [_read(process.create_time, root.created) for process in young if process.pid == root.pid]
    return any(abs(start - root.created) > 1.0 for start in starts)


def _session(pid: int) -> int:
    return _read(lambda: os.getsid(pid), 0)


def _parent(process: psutil.Process) -> int:
    return _read(process.ppid, -1)


def _name(process: psutil.Process) -> str:
    return _read(process.name, "?")


def _alive(process: psutil.Process) -> bool:
    return process.is_running() and _read(process.status, "zombie") != "zombie"


def _send(process: psutil.Process, number: signal.Signals) -> None:
    """psutil compares the start time first, so that a reused pid is not signalled."""
    import psutil

    try:
        process.send_signal(number)
    except psutil.Error:
        return  # gone meanwhile, or another user's; what survives is named at the end


def _read(get: Callable[[], Fact], otherwise: Fact) -> Fact:
    """A fact about a process that may be gone, or another user's."""
    import psutil

    try:
        return get()
    except (psutil.Error, OSError):
        return otherwise


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False
