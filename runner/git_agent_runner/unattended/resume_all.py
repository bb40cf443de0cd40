"""`git agent resume --all`: continue every unfinished run of the repository, each in its own work tree.

Each run is resumed by its own process, the same as for one run, so that its locks, signals and records are the
same; here they are chosen, counted, and told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from git_agent_runner.attempt import work_tree
from git_agent_runner.attempt.dry_run import planned
from git_agent_runner.attempt.plan import Plan
from git_agent_runner.console.lines import pasteable, print_json, say, table, warn
from git_agent_runner.console.progress import counted
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.find.identity import Identities
from git_agent_runner.git import refs, settings
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records import listing as cache
from git_agent_runner.store.records.rows import Row, by_start
from git_agent_runner.unattended import pool
from git_agent_runner.unattended.worker import Task, foreseen, start

SCHEMA = 1
_UNFINISHED = (None, "interrupted")  # by status: these had no end at all


class ResumeAllRequest(NamedTuple):
    """What the person asked for, of all runs."""

    message: str | None
    strict: bool = False
    kill: bool = False
    jobs: int = pool.JOBS
    timeout: float | None = None
    dry_run: bool = False
    as_json: bool = False


class Skipped(NamedTuple):
    """A run that was not resumed. `facts` are as of those that were."""

    facts: dict[str, Any]
    reason: str


class Chosen(NamedTuple):
    row: Row
    task: Task


def resume_all(ctx: Context, wanted: ResumeAllRequest) -> int:
    """The exit status: 1 when a run that was to continue did not come to a good end."""
    listing = cache.work(ctx.layout, time.time(), warn=ctx.runs.warn)
    for problem in listing.problems:
        warn(problem.message, ("fix it by hand, or: git agent doctor --repair",))
    found = list(_choose(ctx, wanted, listing.rows))
    chosen = sorted((one for one in found if isinstance(one, Chosen)), key=lambda one: _order(one.row))
    skipped = [one for one in found if isinstance(one, Skipped)]
    chosen, nowhere = _placed(ctx, chosen)
    if wanted.message is None and any(one.row.session_value or _first(ctx, *one) for one in chosen):
        say(f'message: "{shown(ctx.settings.continue_message)}"')
    if wanted.dry_run:
        would, could_not = _foresee(ctx, chosen)
        _tell(wanted, would, [*could_not, *nowhere, *skipped])
        return 1 if could_not or nowhere else 0
    done = pool.run([_job(ctx, one) for one in chosen], wanted.jobs)
    failed = [Skipped(one.job.facts, one.reason) for one in done.failed]
    _tell(wanted, done.ran, [*failed, *nowhere, *skipped])
    return done.exit_status() or int(bool(nowhere))


def _placed(ctx: Context, chosen: list[Chosen]) -> tuple[list[Chosen], list[Skipped]]:
    """Those that have a work tree to continue in, and those whose branch is checked out nowhere."""
    checked_out = work_tree.checked_out(ctx.repo) if chosen else frozenset()
    away = {row.handle: row.branch for row, _ in chosen if row.branch and row.cwd and row.branch not in checked_out}
    heads = refs.heads(ctx.repo, {*away.values()})
    reasons = {handle: work_tree.unplaced(ctx.repo, heads, branch, handle) for handle, branch in away.items()}
    nowhere = [Skipped(_facts(row), reasons[row.handle]) for row, _ in chosen if row.handle in reasons]
    return [one for one in chosen if one.row.handle not in reasons], nowhere


def _job(ctx: Context, one: Chosen) -> pool.RunJob:
    row = one.row
    name = f"{row.handle} {row.branch or '(detached)'} ({row.agent_name})"
    return pool.RunJob(name, _facts(row), lambda: start(one.task, ctx))


def _choose(ctx: Context, wanted: ResumeAllRequest, rows: list[Row]) -> Iterator[Chosen | Skipped]:
    """Of each branch the run that it points to, or the newest; one without a session gives way to an older one."""
    by_handle = {row.handle: row for row in rows}
    identities = Identities(ctx.repo, settings.read(ctx.repo), time.time(), by_handle.get)
    rows = identities.current(rows, everywhere=True)
    having = {row.branch for row in rows if row.branch and row.session_value}
    taken: dict[str, str] = {}  # the branch, or the directory of a run without one -> who continues there
    passed: set[str] = set()
    sessions: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda row: (row.branch not in identities.holders(row.handle), by_start(row))):
        place = f"branch '{row.branch}'" if row.branch else f"'{row.cwd}'"
        live = cache.state(ctx.layout, row) in ("running", "waiting")
        if live and not wanted.kill:
            taken.setdefault(place, row.handle)
            yield Skipped(_facts(row), "it is still running; --kill ends it first")
        elif place in taken:
            if row.status != "completed":
                yield Skipped(_facts(row), f"run {taken[place]} is the current one of {place}")
        elif row.status == "completed" and not (live or place in passed):
            taken[place] = row.handle
        elif row.session_value is None and row.branch in having:
            passed.add(place)
            yield Skipped(_facts(row), "it has no session; an older run of its branch has one")
        elif (other := sessions.get((row.agent_name, row.session_value or row.handle))) is not None:
            yield Skipped(_facts(row), f"run {other} has the same session")
        else:
            taken[place] = sessions[row.agent_name, row.session_value or row.handle] = row.handle
            yield Chosen(row, _task(wanted, row, live=live))


def _foresee(ctx: Context, chosen: list[Chosen]) -> tuple[list[dict[str, Any]], list[Skipped]]:
    """What would become of each, and those that could not continue, as `resume --dry-run` finds it."""
    would, could_not = list[dict[str, Any]](), list[Skipped]()
    ctx = ctx._replace(repo=ctx.repo._replace(learned={}))
    for row, task in counted("runs", chosen):
        facts = _facts(row)
        if first := _first(ctx, row, task):
            would.append({**facts, "would": first})
            continue
        try:
            plan = foreseen(ctx, task)
        except UserError as error:
            could_not.append(Skipped(facts, error.message))
            continue
        told = {**planned(plan), "command": pasteable(plan.invocation), "would": _foretold(plan)}
        would.append({**facts, **told})
    return would, could_not


def _first(ctx: Context, row: Row, task: Task) -> str | None:
    """What comes first, and may change which session is the run's."""
    if task.then == "nudge":
        return "would be ended, then resumed"
    if row.session_value is None and attempts.standing(ctx.layout, row.handle, row.run_id) == "dead":
        return "would be settled, which looks for its session, then resumed"
    return None


def _foretold(plan: Plan) -> str:
    why = f" ({plan.instead_of.message})" if plan.instead_of else ""
    if plan.kind == "resume":
        restore = plan.restore
        back = (
            f"; {restore.why(plan.engine.name, 'has')}: the run's backup would be {restore.where} first"
            if restore
            else ""
        )
        back += f"; first, {plan.carry.why('would be')}" if plan.carry else ""
        return f"would be resumed{back}"
    new = "begin a new session" if plan.kind == "fresh" else f"continue {plan.engine.name}'s newest session"
    return f"would {new}{why}"


def _order(row: Row) -> tuple[bool, tuple[float, str]]:
    """Those that had no end go first, then the newest."""
    return (row.status not in _UNFINISHED, by_start(row))


def _task(wanted: ResumeAllRequest, row: Row, *, live: bool) -> Task:
    then = "nudge" if live else "resume"
    return Task(row.handle, row.attempts, then, wanted.message, strict=wanted.strict, timeout=wanted.timeout)


def _facts(row: Row) -> dict[str, Any]:
    return {"handle": row.handle, "branch": row.branch, "engine": row.agent_name}


def _tell(wanted: ResumeAllRequest, resumed: list[dict[str, Any]], skipped: list[Skipped]) -> None:
    if wanted.as_json:
        names = [{"handle": one.facts["handle"], "reason": one.reason} for one in skipped]
        print_json({"schema": SCHEMA, "resumed": resumed, "skipped": names})
        return
    told = [(one, one.get("would") or pool.outcome(one)) for one in resumed]
    told += [(one.facts, f"skipped: {one.reason}") for one in skipped]
    rows = [(one["handle"], one["branch"] or "", one["engine"], outcome) for one, outcome in told]
    print(table(("HANDLE", "BRANCH", "ENGINE", "OUTCOME"), rows) if rows else "nothing to resume")
