"""Findings of `git agent doctor`: attempts that were never settled, that are half-written, or that left scraps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from git_agent_extractors.model import NO_SESSION, SOURCES
from git_agent_runner.adopt.write import attempt_of
from git_agent_runner.attempt.settle import close_dead
from git_agent_runner.console.progress import counted
from git_agent_runner.context import Context, timestamp
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note, Record
from git_agent_runner.core.text import quote
from git_agent_runner.engines import wording
from git_agent_runner.engines.files import names
from git_agent_runner.find.running import hold
from git_agent_runner.maintain.doctor.finding import REPAIR, SETTLED, Finding, RepositoryFacts, below, key_twice
from git_agent_runner.maintain.pruning import TRASH, throw_away
from git_agent_runner.store.files.layout import handle_of, run_directory
from git_agent_runner.store.files.locks import is_locked
from git_agent_runner.store.records import SCHEMA_KIND, attempts
from git_agent_runner.store.records.document import CorruptRecord
from git_agent_runner.store.session_locks import left_working

_SCRAP = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}\.tmp", re.ASCII)


def unsettled(known: RepositoryFacts) -> Iterator[Finding]:
    """A git-agent was killed before it could say what its engine came to, or an engine works on that nobody watches."""
    ctx = known.ctx
    for record in known.records.values():
        attempt = known.seen.latest(record.run_id) if record.handle in known.runs else None
        if attempt is None or (attempt.ended_at and not attempt.survivors):
            continue  # nothing of it can be at work
        state = known.seen.state(record.handle, record.run_id)
        if state == "dead":
            yield Finding(
                "attempt_interrupted",
                f"git-agent could not settle attempt {record.attempts} of run {record.handle}",
                f"continue it: {wording.resume(record)}",
                partial(close_dead, ctx, record),
            )
        elif state == "running" and not is_locked(ctx.layout.run_lock(record.handle)):
            yield Finding(
                "engine_unwatched",
                f"run {record.handle} is running without its git-agent: {left_working(attempt)}",
                f"wait for its end: {wording.resume(record, '--wait')}; or end it first: --kill",
            )


def half_written(known: RepositoryFacts) -> Iterator[Finding]:
    """Attempts whose attempt.yaml is missing or torn, and runs that have no attempt at all."""
    ctx = known.ctx
    for handle, run_id in counted("attempts", known.runs.items()):
        if known.seen.is_whole(run_id) or known.seen.state(handle, run_id) not in SETTLED:
            continue
        numbers = known.seen.numbers(run_id)
        if any(_printed(ctx, run_id, number) or _written(ctx, run_id, number) for number in numbers):
            for number in numbers:
                yield from _attempt(known, run_id, number)
        elif handle not in known.records:
            yield _empty(ctx, run_id)


def _empty(ctx: Context, run_id: str) -> Finding:
    """The record is written after the first attempt, so nothing was begun; what else lies there is not ours."""
    folder = ctx.layout.run(run_id)
    problem = f"run {run_id} has no attempt: git-agent was killed before its engine was started"
    if any(not _SCRAP.fullmatch(name) for _, _, files in os.walk(folder) for name in files):
        return Finding("run_empty", problem, f"check its contents, then: rm -r {quote(folder)}")
    return Finding("run_empty", problem, REPAIR, partial(_clear, ctx, run_id, folder))


def scraps(known: RepositoryFacts) -> Iterator[Finding]:
    """Temporary files of a git-agent that was killed while it wrote: never read by anybody."""
    runs = known.ctx.layout.runs_dir
    found = sorted(path for path in known.seen.temporary if _abandoned(path, known.now))
    found += [f"{runs}/{name}" for name in names(runs) if name.startswith(TRASH)]
    if found:
        problem = f"{len(found)} half-written or half-removed files of a killed git-agent, such as '{found[0]}'"
        yield Finding("scraps", problem, REPAIR, partial(_unlink, found))


def _attempt(known: RepositoryFacts, run_id: str, number: int) -> Iterator[Finding]:
    ctx = known.ctx
    problem = known.seen.attempt(run_id, number)
    if isinstance(problem, CorruptRecord):
        folder = ctx.layout.attempt(run_id, number)
        if not (_printed(ctx, run_id, number) or _written(ctx, run_id, number)):
            what = f"attempt {number} of run {run_id} is empty: git-agent was killed before its engine was started"
            yield Finding("attempt_empty", what, REPAIR, partial(_clear, ctx, run_id, folder))
        elif SCHEMA_KIND.expects in problem.reason:
            yield Finding("attempt_unreadable", problem.message, "use that git-agent here, too")
        else:
            yield Finding("attempt_unreadable", problem.message, REPAIR, partial(_remake, known, run_id, number))
    yield from map(key_twice, known.seen.doubled.get((run_id, number), ()))


def _printed(ctx: Context, run_id: str, number: int) -> bool:
    folder = ctx.layout.attempt(run_id, number)
    return any(os.path.lexists(f"{folder}/{name}") for name in SOURCES)


def _written(ctx: Context, run_id: str, number: int) -> bool:
    return os.path.lexists(f"{ctx.layout.attempt(run_id, number)}/{attempts.FILE}")


def _clear(ctx: Context, run_id: str, folder: str) -> None:
    """Remove directories and scraps; a file that is none stays, and so does what holds it."""
    attempts.refuse_links(ctx.layout, folder)
    with hold(ctx, _bare(ctx, run_id)):
        for place, _, files in below(folder):
            for name in filter(_SCRAP.fullmatch, files):
                os.unlink(f"{place}/{name}")
        for place, _, _ in os.walk(folder, topdown=False):
            with suppress(OSError):  # not empty
                os.rmdir(place)


def _remake(known: RepositoryFacts, run_id: str, number: int) -> None:
    """attempt.yaml from the record, or from what else is known; a torn one is kept beside it.

    The newest attempt is left open, for `unsettled` to settle from what the engine printed.
    """
    ctx = known.ctx
    folder = ctx.layout.attempt(run_id, number)
    record = known.records.get(handle_of(run_id)) or _guessed(known, run_id)
    with hold(ctx, record):
        if not os.path.isdir(folder):  # forgotten since we looked
            return
        began = _moment_of(folder)
        last = number == attempts.numbers(ctx.layout, run_id)[-1]
        made = attempt_of(record._replace(attempts=number), began)._replace(
            kind="start" if number == 1 else "resume", ended_at=None if last else began, status=None
        )
        _set_aside(f"{folder}/{attempts.FILE}")
        attempts.save(ctx.layout, made)


def _moment_of(path: str) -> str:
    """When it last changed, as records keep it; now for a time that no record can hold."""
    try:
        return timestamp(datetime.fromtimestamp(os.stat(path).st_mtime, UTC))
    except (ValueError, OverflowError):
        return timestamp()


def _guessed(known: RepositoryFacts, run_id: str) -> Record:
    """The record by the run's other attempts, else by its id, and by its note where there is one."""
    try:
        return attempts.rebuild(known.ctx.layout, run_id)
    except UserError:
        pass
    bare = _bare(known.ctx, run_id)
    noted = [note for runs in known.noted.by_commit.values() for note in runs if note.handle == bare.handle]
    return _as_noted(bare, noted[0]) if noted else bare


def _as_noted(bare: Record, note: Note) -> Record:
    """What names the run, not what it may do: a note may be anybody's."""
    return bare._replace(branch=note.branch, session=note.session if note.agent_name == bare.agent_name else NO_SESSION)


def _bare(ctx: Context, run_id: str) -> Record:
    """What a run's id says: `<UTC time>-<engine>-<handle>`."""
    began = timestamp(datetime.fromtimestamp(moment(run_id[:16]) or 0.0, UTC))
    return Record(
        handle=handle_of(run_id),
        run_id=run_id,
        run_directory=run_directory(run_id),
        agent_name=run_id[17:-9],
        updated_at=began,
        worktree=ctx.repo.top,
        cwd=ctx.repo.top,
        created_at=began,
    )


def _set_aside(path: str) -> None:
    number = 1
    while os.path.lexists(kept := f"{path}.corrupt-{number}"):
        number += 1
    with suppress(FileNotFoundError):
        os.rename(path, kept)


def _abandoned(path: str, now: float) -> bool:
    """Is it one that is there still, and its writer is gone? Where that number was given to another process, an hour is
    enough.
    """
    found = _SCRAP.fullmatch(os.path.basename(path))
    try:
        if found:
            os.kill(int(found[1]), 0)
    except (ProcessLookupError, OverflowError):
        return os.path.lexists(path)
    except PermissionError:
        pass
    with suppress(FileNotFoundError):
        return found is not None and now - os.lstat(path).st_mtime > 3600
    return False


def _unlink(paths: list[str]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            if os.path.basename(path).startswith(TRASH):
                throw_away(path)
            else:
                os.unlink(path)
