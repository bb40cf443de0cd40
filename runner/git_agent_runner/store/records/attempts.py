"""Attempts: attempt.yaml of each engine process of a run, the run's state, and the record rebuilt from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from git_agent_extractors.model import NO_SESSION, SOURCES, Source
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Earlier, Record, Resumed, State
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import Layout, handle_of, run_directory
from git_agent_runner.store.files.liveness import at_work
from git_agent_runner.store.records import ROLE, RUN_ID, SCHEMA_KIND, STATUS, document
from git_agent_runner.store.records.document import (
    COUNT,
    FLAG,
    INTEGER,
    SECONDS,
    SESSION,
    STORE,
    TEXT,
    TEXTS,
    CorruptRecord,
    Field,
    Shape,
    ignore,
    one_of,
    optional,
    read_text,
)

if TYPE_CHECKING:
    from pathlib import Path

FILE = "attempt.yaml"
ENDER = "ended-by"

# `endedAt` is required and the last: see records.SHAPE.
SHAPE = Shape(
    Attempt,
    (
        Field("schema", "schema", SCHEMA_KIND),
        Field("number", "number", COUNT, required=True),
        Field("kind", "kind", one_of(("start", "resume", "continue", "fresh", "adopt", "fork")), required=True),
        Field("runId", "run_id", RUN_ID, required=True),
        Field("agentName", "agent_name", TEXT, required=True),
        Field("session", "session", SESSION, required=True),
        Field("sessionFrom", "session_from", optional(TEXT)),
        Field("candidates", "candidates", TEXTS),
        Field("requestedSession", "requested_session", optional(TEXT)),
        Field("reportedSession", "reported_session", optional(TEXT)),
        Field("parentSession", "parent_session", optional(TEXT)),
        Field("forkedFrom", "forked_from", optional(TEXT)),
        Field("resumed", "resumed", optional(one_of(get_args(Resumed)))),
        Field("branch", "branch", optional(TEXT), required=True),
        Field("replaces", "replaces", optional(TEXT)),
        Field("worktree", "worktree", TEXT, required=True),
        Field("worktreeId", "worktree_id", TEXT),
        Field("cwd", "cwd", TEXT, required=True),
        Field("commonDir", "common_dir", TEXT),
        Field("commonDirId", "common_dir_id", TEXT),
        Field("startCommit", "start_commit", optional(TEXT), required=True),
        Field("headBefore", "head_before", optional(TEXT)),
        Field("headAfter", "head_after", optional(TEXT)),
        Field("dirty", "dirty", optional(FLAG)),
        Field("argv", "argv", TEXTS, required=True),
        Field("launchArgs", "launch_args", TEXTS, required=True),
        Field("message", "message", optional(TEXT), required=True),
        Field("interactive", "interactive", FLAG),
        Field("engineVersion", "engine_version", TEXT, required=True),
        Field("host", "host", TEXT, required=True),
        Field("store", "store", STORE),
        Field("role", "role", ROLE),
        Field("pid", "pid", optional(COUNT)),
        Field("processStarted", "process_started", optional(SECONDS)),
        Field("bootId", "boot_id", optional(TEXT)),
        Field("exitStatus", "exit_status", optional(INTEGER)),
        Field("error", "error", optional(TEXT)),
        Field("status", "status", STATUS),
        Field("survivors", "survivors", TEXTS),
        Field("createdAt", "created_at", TEXT, required=True),
        Field("startedAt", "started_at", TEXT, required=True),
        Field("endedAt", "ended_at", optional(TEXT), required=True),
    ),
)


def new_run(layout: Layout, run_id: str) -> str:
    """Make the run directory, and nobody else the same one; its path. Raises FileExistsError when it exists."""
    atomic.make_dir(layout.runs_dir)
    path = layout.run(run_id)
    atomic.make_new_dir(path)
    return path


def begin(layout: Layout, attempt: Attempt) -> str:
    """Make the attempt's directory and its attempt.yaml; the directory. Raises FileExistsError when it exists."""
    path = layout.attempt(attempt.run_id, attempt.number)
    refuse_links(layout, os.path.dirname(path))
    atomic.make_dir(os.path.dirname(path))
    atomic.make_new_dir(path)
    save(layout, attempt)
    return path


def save(layout: Layout, attempt: Attempt) -> None:
    """Write attempt.yaml again: when the engine has a pid, when it names its session, when it has ended."""
    path = layout.attempt(attempt.run_id, attempt.number)
    refuse_links(layout, path)
    atomic.write(f"{path}/{FILE}", document.render(SHAPE, attempt).encode())


def name_ender(layout: Layout, record: Record, who: str) -> None:
    """Who is about to end the run's attempt, for the terminal that it is in. Not worth failing for."""
    with suppress(UserError, OSError):
        path = layout.attempt(record.run_id, record.attempts)
        refuse_links(layout, path)
        atomic.write(f"{path}/{ENDER}", who.encode())


def ender(layout: Layout, attempt: Attempt) -> str | None:
    try:
        return read_text(f"{layout.attempt(attempt.run_id, attempt.number)}/{ENDER}")
    except (CorruptRecord, OSError):
        return None


def refuse_links(layout: Layout, path: str) -> None:
    """Raises UserError `write_failed` where a link leads out of the run directory: an agent may have put it there."""
    place = layout.runs_dir
    for step in os.path.relpath(path, place).split("/"):
        place = f"{place}/{step}"
        if os.path.islink(place):
            hints = ("restore the directory that it points to",)
            raise UserError(f"'{place}' is a symbolic link; nothing is written there", code="write_failed", hints=hints)


def read(layout: Layout, run_id: str, number: int, warn: Callable[[str], None] = ignore) -> Attempt:
    """Raises CorruptRecord, also when there is no attempt.yaml: git-agent was killed before it wrote one.

    `warn`: see Index.
    """
    path = f"{layout.attempt(run_id, number)}/{FILE}"
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise CorruptRecord(path, None, "there is no such file") from None
    return document.parse(SHAPE, text, path, warn)


def outputs(layout: Layout, attempt: Attempt) -> dict[Source, Path]:
    """The files with what the engine printed, of those that there are."""
    from pathlib import Path  # costs 5 ms

    folder = Path(layout.attempt(attempt.run_id, attempt.number))
    return {source: folder / source for source in SOURCES if (folder / source).is_file()}


def numbers(layout: Layout, run_id: str) -> list[int]:
    """The attempts that have a directory, in order."""
    try:
        names = os.listdir(f"{layout.run(run_id)}/attempts")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return numbered(names)


def numbered(names: Iterable[str]) -> list[int]:
    """Those of these names that are an attempt's, in order."""
    return sorted(int(name) for name in names if name.isascii() and name.isdecimal())


def readable(layout: Layout, run_id: str) -> tuple[list[Attempt], list[str]]:
    """The attempts that can be read, and what is wrong with these and the others."""
    found: list[Attempt] = []
    problems: list[str] = []
    for number in numbers(layout, run_id):
        try:
            found.append(read(layout, run_id, number, problems.append))
        except CorruptRecord as problem:
            problems.append(problem.message)
    return found, problems


def chosen(record: Record, found: list[Attempt], number: int | None) -> list[Attempt]:
    """All of them, or the one of that number. Raises UserError `unknown_attempt`."""
    told = [attempt for attempt in found if number in (None, attempt.number)]
    if told:
        return told
    which = "no attempt that can be read" if number is None else f"no attempt {number}"
    raise UserError(
        f"run {record.handle} has {which}",
        code="unknown_attempt",
        hints=(f"it has {record.attempts}: git agent show {record.handle}",),
    )


def latest(layout: Layout, run_id: str) -> Attempt | None:
    """The newest attempt that can be read: one that cannot must not hide the run's others."""
    for number in reversed(numbers(layout, run_id)):
        try:
            return read(layout, run_id, number)
        except CorruptRecord:
            continue
    return None


def rebuild(layout: Layout, run_id: str) -> Record:
    """The record, from what the run's attempts say. Raises UserError `not_rebuildable` when none can be read.

    The newest attempt tells most; the session is the newest that any attempt has, since one that failed keeps it.
    """
    found: list[Attempt] = []
    for number in numbers(layout, run_id):
        try:
            found.append(read(layout, run_id, number))
        except CorruptRecord:
            continue
    if not found:
        raise UserError(
            f"no attempt of the run in '{layout.run(run_id)}' can be read",
            code="not_rebuildable",
            hints=("the run's output may still be there: look into its attempts/",),
        )
    last = found[-1]
    return Record(
        handle=handle_of(run_id),
        run_id=run_id,
        run_directory=run_directory(run_id),
        agent_name=last.agent_name,
        role=last.role,
        session=next((attempt.session for attempt in reversed(found) if attempt.session.value), NO_SESSION),
        launch_args=last.launch_args,
        updated_at=last.ended_at or last.started_at,
        branch=last.branch,
        worktree=last.worktree,
        worktree_id=last.worktree_id,
        cwd=last.cwd,
        common_dir=last.common_dir,
        common_dir_id=last.common_dir_id,
        start_commit=last.start_commit,
        status=last.status,
        attempts=numbers(layout, run_id)[-1],
        created_at=last.created_at,
        host=last.host,
        engine_version=last.engine_version,
        parent_session=next((a.parent_session for a in reversed(found) if a.parent_session), None),
        store=next((a.store for a in reversed(found) if a.session.value and a.resumed != "as_new"), None),
        earlier=_earlier(found),
        forked_from=next((a.forked_from for a in found if a.forked_from), None),
    )


def _earlier(found: list[Attempt]) -> tuple[Earlier, ...]:
    """The last session that each engine had before the run was handed over to another."""
    pairs = pairwise(found)
    left = [before for before, after in pairs if before.agent_name != after.agent_name and before.session.value]
    return tuple(Earlier(one.agent_name, one.session, one.launch_args) for one in left)


def state(layout: Layout, handle: str, run_id: str, newest: Callable[[Layout, str], Attempt | None] = latest) -> State:
    """running: a process holds the run's lock, or the engine outlived its launcher or the git-agent that started it.

    waiting: nothing runs, and a `resume --wait` of it is queued. dead: its last attempt was never settled.
    `newest` reads that attempt.
    """
    now = standing(layout, handle, run_id, newest)
    return "waiting" if now != "running" and queued(layout, handle) else now


def standing(
    layout: Layout, handle: str, run_id: str, newest: Callable[[Layout, str], Attempt | None] = latest
) -> Literal["running", "dead", "finished"]:
    """The state but for what waits for it."""
    if locks.is_locked(layout.run_lock(handle)):
        return "running"
    attempt = newest(layout, run_id)
    if attempt is None or at_work(attempt):
        return "running" if attempt else "finished"
    return "dead" if attempt.ended_at is None else "finished"


def queued(layout: Layout, handle: str) -> bool:
    """Does a `resume --wait` wait for its turn? From its lock."""
    return locks.is_locked(layout.waiting_lock(handle))
