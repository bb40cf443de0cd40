"""`git agent resume --all`: go on with every unfinished run of the repository, each in its own work tree.

Each run is resumed by a process of its own, the same as for one run, so that its locks, signals and records are the
same; here they are chosen, counted, and told.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from git_agent_runner import settings
from git_agent_runner.commands.progress import Progress, progress
from git_agent_runner.context import Context
from git_agent_runner.present import print_json, table, warn
from git_agent_runner.store import attempts, cache, pointer
from git_agent_runner.store.cache import Row
from git_agent_runner.supervise.signals import ENDING, Inbox, caught
from git_agent_runner.worker import Task, Worker, start

SCHEMA = 1
JOBS = 4
_UNFINISHED = (None, "interrupted")  # by status: these had no end at all


class Wanted(NamedTuple):
    """What the person asked for, of all runs."""

    message: str | None
    strict: bool = False
    kill: bool = False
    jobs: int = JOBS
    timeout: float | None = None
    dry_run: bool = False
    as_json: bool = False


class Skipped(NamedTuple):
    """A run that was not resumed; `failed` when it should have been."""

    handle: str
    reason: str
    failed: bool = False


class Chosen(NamedTuple):
    row: Row
    task: Task


def resume_all(ctx: Context, wanted: Wanted) -> int:
    """The exit status: 1 when a run that was to go on did not come to a good end."""
    listing = cache.listing(ctx.layout, time.time())
    for problem in listing.problems:
        warn(problem.message, ("mend it by hand, or: git agent doctor --repair",))
    found = list(_choose(ctx, wanted, listing.rows))
    chosen = sorted((one for one in found if isinstance(one, Chosen)), key=lambda one: _order(one.row))
    skipped = [one for one in found if isinstance(one, Skipped)]
    if wanted.dry_run:
        _tell(wanted, [{**_facts(one.row), "status": None} for one in chosen], skipped)
        return 0
    resumed: list[dict[str, Any]] = []
    with caught(ENDING) as inbox, progress(len(chosen)) as shown:
        number = _Pool(ctx, wanted.jobs, inbox, shown).run(chosen, resumed, skipped)
    _tell(wanted, resumed, skipped)
    if number:
        return 128 + number
    return 1 if any(one["exit"] for one in resumed) or any(one.failed for one in skipped) else 0


def _choose(ctx: Context, wanted: Wanted, rows: list[Row]) -> Iterator[Chosen | Skipped]:
    """Of each branch the run that it points to, or the newest; one without a session gives way to an older one."""
    pointed = pointer.read(ctx.repo, settings.read(ctx.repo))
    having = {row.branch for row in rows if row.branch and row.session_value}
    taken: dict[str, str] = {}  # the branch, or the directory of a run without one -> who goes on there
    passed: set[str] = set()
    sessions: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda row: (row.branch is None or pointed.get(row.branch) != row.handle, _age(row))):
        place = f"branch '{row.branch}'" if row.branch else f"'{row.cwd}'"
        live = attempts.state(ctx.layout, row.handle, row.run_id) in ("running", "waiting")
        if live and not wanted.kill:
            taken.setdefault(place, row.handle)
            yield Skipped(row.handle, "it is still running; --kill ends it first")
        elif place in taken:
            if row.status != "completed":
                yield Skipped(row.handle, f"run {taken[place]} is the one of {place}")
        elif row.status == "completed" and not (live or place in passed):
            taken[place] = row.handle
        elif row.session_value is None and row.branch in having:
            passed.add(place)
            yield Skipped(row.handle, "it has no session; an older run of its branch has one")
        elif (other := sessions.get((row.agent_name, row.session_value or row.handle))) is not None:
            yield Skipped(row.handle, f"run {other} has the same session")
        else:
            taken[place] = sessions[row.agent_name, row.session_value or row.handle] = row.handle
            yield Chosen(row, _task(wanted, row, live=live))


def _order(row: Row) -> tuple[bool, tuple[float, str]]:
    """Those that had no end go first, then the newest."""
    return (row.status not in _UNFINISHED, _age(row))


def _age(row: Row) -> tuple[float, str]:
    """Newest first; a start time that cannot be read is taken from the run's id, which begins with it."""
    try:
        started = datetime.fromisoformat(row.created_at)
    except ValueError:
        started = datetime.strptime(row.run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return (-started.timestamp(), row.run_id)


def _task(wanted: Wanted, row: Row, *, live: bool) -> Task:
    """Without a session a new one begins, with the run's own prompt where no message is given."""
    then = "nudge" if live else "resume" if row.session_value or wanted.strict else "fresh"
    return Task(row.handle, row.attempts, then, wanted.message, strict=wanted.strict, timeout=wanted.timeout)


class _Pool:
    """So many workers at once, and what became of each."""

    def __init__(self, ctx: Context, jobs: int, inbox: Inbox, shown: Progress) -> None:
        self._ctx = ctx
        self._jobs = jobs
        self._inbox = inbox
        self._shown = shown
        self._busy: list[tuple[Chosen, Worker]] = []

    def run(self, chosen: list[Chosen], resumed: list[dict[str, Any]], skipped: list[Skipped]) -> int | None:
        """Fill the two lists. The number of the signal that ended it, or None."""
        left = list(chosen)
        number = None
        while left or self._busy:
            while left and len(self._busy) < self._jobs:
                one = left.pop(0)
                self._shown.began(one.row)
                self._busy.append((one, start(one.task, self._ctx)))
            if number := number or self._wait():
                skipped += [Skipped(one.row.handle, "not begun: we were told to end", failed=True) for one in left]
                left.clear()
                for _, worker in self._busy:
                    worker.process.send_signal(number)
                for _, worker in self._busy:
                    worker.process.wait()
            self._reap(resumed, skipped)
        return number

    def _wait(self) -> int | None:
        """A signal to end, if one came; the end of a worker wakes us too."""
        ready, _, _ = select.select([self._inbox.fd], [], [], 1.0)
        if ready:
            self._inbox.collect()
        return next(iter(self._inbox.take()), None)

    def _reap(self, resumed: list[dict[str, Any]], skipped: list[Skipped]) -> None:
        for busy in list(self._busy):
            one, worker = busy
            if worker.process.poll() is None:
                continue
            self._busy.remove(busy)
            answer = worker.answer()
            if "status" in answer:
                found = {name: answer[name] for name in ("attempt", "kind", "status", "resumed", "exit")}
                resumed.append({**_facts(one.row), **found})
                self._shown.ended(one.row, str(answer["status"]))
            else:
                error = answer.get("error") or {}
                reason = str(error.get("message") or f"git-agent ended with {worker.process.returncode}")
                skipped.append(Skipped(one.row.handle, reason, failed=True))
                self._shown.ended(one.row, "not resumed")


def _facts(row: Row) -> dict[str, Any]:
    return {"handle": row.handle, "branch": row.branch, "engine": row.agent_name}


def _tell(wanted: Wanted, resumed: list[dict[str, Any]], skipped: list[Skipped]) -> None:
    if wanted.as_json:
        names = [{"handle": one.handle, "reason": one.reason} for one in skipped]
        print_json({"schema": SCHEMA, "resumed": resumed, "skipped": names})
        return
    would = "would be resumed" if wanted.dry_run else None
    rows = [(one["handle"], one["branch"] or "", one["engine"], would or _outcome(one)) for one in resumed]
    rows += [(one.handle, "", "", f"skipped: {one.reason}") for one in skipped]
    print(table(("HANDLE", "BRANCH", "ENGINE", "OUTCOME"), rows) if rows else "no run is waiting to go on")


def _outcome(one: dict[str, Any]) -> str:
    """A fresh session, or one that began anew in silence, is not the same as the old one gone on."""
    how = {"fresh": ", in a new session"}.get(one["kind"], ", NOT resumed" if one["resumed"] == "as_new" else "")
    return f"{one['status']}{how}, attempt {one['attempt']}"
