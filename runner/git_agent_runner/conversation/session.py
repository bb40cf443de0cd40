"""Which session does a run continue, and does its engine still have it? Only reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.conversation.seat import query, seat
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record, Store
from git_agent_runner.core.text import command_line, shown
from git_agent_runner.engines import asking, wording
from git_agent_runner.engines.spec import Engine, Located, StoreQuery
from git_agent_runner.store import continued, session_copies, session_locks
from git_agent_runner.store.records import attempts

if TYPE_CHECKING:
    from git_agent_runner.conversation.restore import Restore


def session_value(ctx: Context, record: Record, engine: Engine, override: str | None) -> str:
    value = record.session.value or None if override is None else override
    if value is None:
        attempt = attempts.latest(ctx.layout, record.run_id)
        several = ", ".join(attempt.candidates) if attempt else ""
        named = f"several started here during the attempt: {several}" if several else "its store shows none"
        raise UserError(
            f"run {record.handle} has no session id: {engine.name} printed none, and {named}",
            code="session_unknown",
            hints=(
                f"if you know it: {wording.resume(record, '--session', 'VALUE')}",
                f'or start a new one in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
            ),
        )
    if not engine.id_pattern.fullmatch(value):
        raise UserError(
            f"'{shown(value)}' is not a session id of {engine.name}",
            code="session_malformed",
            hints=(
                f"given this id, {engine.name} might silently start a new conversation",
                f'a new session in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
            ),
        )
    refuse_held(ctx, record, engine, value)
    return value


def value_and_use(ctx: Context, record: Record, engine: Engine) -> tuple[str, bool]:
    """(its id, is somebody at work on it). Raises UserError as `session_value` does, but for that."""
    value = record.session.value or ""
    busy = attempts.standing(ctx.layout, record.handle, record.run_id) == "running"
    if not value or not engine.id_pattern.fullmatch(value):
        session_value(ctx, record, engine, None)  # says why
    try:
        refuse_held(ctx, record, engine, value)
    except UserError:
        busy = True
    return value, busy


def refuse_held(ctx: Context, record: Record, engine: Engine, value: str) -> None:
    """Raises UserError `session_held` if another process is using the session: a git-agent of any repository, or an
    engine that reports it.
    """
    where = seat(ctx, record, engine, value)
    session_locks.refuse_held(where)
    if who := engine.writer(query(ctx, record, engine, value)):
        raise session_locks.held(where, who)


class Sought(NamedTuple):
    """Which session is looked for, for which run. `named`: the person named it, so that it counts as the store has it;
    `into_store`: the person wants it in this store, whoever else reads that.
    """

    record: Record
    query: StoreQuery
    args: tuple[str, ...]
    named: bool = False
    into_store: bool = False


class Found(NamedTuple):
    """`restore` must be done first; `note` is a line to print."""

    located: Located
    restore: Restore | None = None
    note: str | None = None


def locate(ctx: Context, engine: Engine, sought: Sought) -> Found:
    """Look the session up in the engine's store, and compare its state with the run's backup.

    Raises UserError `session_missing`, `session_archived`, `session_parted`, `session_behind`, `store_elsewhere`;
    "unknown" continues and is verified afterwards.
    """
    if not sought.named and (newer := continued.read(ctx.layout, sought.record.handle)):
        raise continued.refused(sought.record, newer, f"to fetch it: {wording.resume(sought.record)}")
    located = asking.locate(engine, sought.query, sought.args)
    if located.state == "absent":
        return _lost(ctx, engine, sought, located)
    if located.state == "present" and not sought.named:
        return _compared(ctx, engine, sought, located)
    return Found(located)


def still_there(ctx: Context, engine: Engine, attempt: Attempt) -> bool:
    """Does the store have the session that this attempt's engine has just reported missing?"""
    version = engine.parse_version(attempt.engine_version) or ()
    query = StoreQuery(ctx.environ, attempt.cwd, version, attempt.requested_session)
    return asking.locate(engine, query, attempt.launch_args, attempt.store).state == "present"


def _compared(ctx: Context, engine: Engine, sought: Sought, located: Located) -> Found:
    query, record = sought.query, sought.record
    copy = session_copies.read(ctx.layout, record.run_id, query.session or "")
    if copy is None:
        return Found(located)
    from git_agent_runner.conversation import restore, states  # what a run's first resume on this machine needs not

    folder = session_copies.place(ctx.layout, record.run_id, copy.session)
    behind = states.behind(engine, query, located, copy, folder)
    if behind is None:
        return Found(located)
    if behind.older and restore.fits(engine, query, copy):
        left = _left(engine, sought)
        if left and not _may_enter(engine, sought, left):
            raise _elsewhere(engine, sought, left, copied=True)
        return Found(located, restore.Restore(copy, query, behind, left))
    both = f"({behind.state}; the run's: {behind.copy})"
    words = f"session {query.session} has diverged between {engine.name}'s store and this run's backup {both}"
    if behind.has_last:
        return Found(located, note=f"{words}; the store's has the run's last message")
    away = f"or with the run's: move '{located.path}' away, and the backup in '{folder}' is put there"
    raise UserError(
        words,
        code="session_parted",
        hints=(
            f"to continue with the store's: {wording.resume(record, '--session', query.session or '')}",
            away if not copy.exported else f"the run's backup is in '{folder}'",
        ),
    )


def _lost(ctx: Context, engine: Engine, sought: Sought, located: Located) -> Found:
    from git_agent_runner.conversation import restore  # a rare need

    query, record = sought.query, sought.record
    if located.archived:
        raise UserError(
            f"session {query.session} cannot be resumed: {located.detail}",
            code="session_archived",
            hints=(
                f'or start a new one in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
            ),
        )
    copy, left = restore.find(ctx, engine, query, record.run_id), _left(engine, sought)
    if copy and (left is None or _may_enter(engine, sought, left)):
        return Found(Located("unknown", cwd=copy.session_cwd), restore.Restore(copy, query, left=left))
    if left:
        raise _elsewhere(engine, sought, left, copied=copy is not None)
    lost = engine.first_reply_lost(query.version) if record.attempts <= 1 and record.status != "completed" else None
    detail = located.detail or f"{engine.name} has no such session for {query.cwd}"
    raise UserError(
        f"session {query.session} cannot be resumed: {detail}",
        code="session_missing",
        hints=(
            *([lost] if lost else []),
            *restore.in_the_way(ctx, query, located, record.run_id),
            f'start a new session in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
            "other runs: git agent list",
        ),
    )


def _left(engine: Engine, sought: Sought) -> Store | None:
    """The store that the record names for the run's session, if it is not this one."""
    here, there = engine.store(sought.query), sought.record.store
    if here is None or there is None or sought.record.session.value != sought.query.session:
        return None
    return None if os.path.realpath(there.root) == here.root else there


def refuse_entering(engine: Engine, sought: Sought) -> None:
    """Raises UserError `store_elsewhere` if the session may not be copied from its store into this one."""
    left = _left(engine, sought)
    if left and not _may_enter(engine, sought, left):
        raise _elsewhere(engine, sought, left, copied=True)


def _may_enter(engine: Engine, sought: Sought, left: Store) -> bool:
    """May the session go into this store? From one home to another, yes; a store that a variable names may be
    another account's."""
    here = engine.store(sought.query)
    return sought.into_store or (left.variable is None and here is not None and here.variable is None)


def _elsewhere(engine: Engine, sought: Sought, left: Store, *, copied: bool) -> UserError:
    record, here = sought.record, engine.store(sought.query)
    place = f"'{here.root}'{_by(here)}" if here else "another place"
    way = _way(engine, sought.query, left, here)
    fresh = f'git agent resume {record.handle} --fallback fresh "<message>"'
    return UserError(
        f"session {sought.query.session} is in '{left.root}'{_by(left)}, but {engine.name} now looks in {place}",
        code="store_elsewhere",
        hints=(
            *([f"to continue there: {way} {wording.resume(record)}"] if way else []),
            f"to copy the conversation here, where another account may read it: {wording.resume(record, '--store')}"
            if copied
            else f"to start a new session here, in the same run: {fresh}",
        ),
    )


def _by(store: Store) -> str:
    return f" ({store.variable})" if store.variable else ""


def _way(engine: Engine, query: StoreQuery, left: Store, here: Store | None) -> str | None:
    """The environment setting that makes the engine look in that store again."""
    if left.variable:
        for value in (left.root, os.path.dirname(left.root), os.path.dirname(os.path.dirname(left.root))):
            if _store_with(engine, query, {left.variable: value}) == left.root:
                return command_line((f"{left.variable}={value}",))
    if here and here.variable and _store_with(engine, query, {here.variable: ""}) == left.root:
        return f"env -u {here.variable}"
    return None


def _store_with(engine: Engine, query: StoreQuery, env: dict[str, str]) -> str | None:
    found = engine.store(query._replace(env={**query.env, **env}))
    return found and found.root
