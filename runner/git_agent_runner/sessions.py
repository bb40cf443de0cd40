"""Which session does a run go on with, and does its engine still have it? Looks; starts and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_agent_runner.context import Context
from git_agent_runner.engines.spec import Engine, Located, StoreQuery, Version
from git_agent_runner.errors import UserError
from git_agent_runner.model import Record
from git_agent_runner.present import shown
from git_agent_runner.store import attempts, holding

if TYPE_CHECKING:
    from git_agent_runner.store.copies import Copy


def session_value(ctx: Context, record: Record, engine: Engine, override: str | None) -> str:
    value = record.session.value or None if override is None else override
    if value is None:
        attempt = attempts.latest(ctx.layout, record.run_id)
        several = ", ".join(attempt.candidates) if attempt else ""
        named = f"several began here meanwhile: {several}" if several else "its store names none"
        raise UserError(
            f"run {record.handle} has no session id: {engine.name} printed none, and {named}",
            code="session_unknown",
            hints=(
                f'if you know it: git agent resume {record.handle} --session VALUE "<message>"',
                f'or start anew in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
            ),
        )
    if not engine.id_pattern.fullmatch(value):
        raise UserError(
            f"'{shown(value)}' is not a session id of {engine.name}",
            code="session_malformed",
            hints=(
                f"asked for it, {engine.name} might start a new conversation in silence",
                f'a new session in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
            ),
        )
    refuse_held(ctx, record, engine, value)
    return value


def refuse_held(ctx: Context, record: Record, engine: Engine, value: str) -> None:
    """Raises UserError `session_held` where somebody is at work on the session: a git-agent, whatever repository it is
    of, or an engine that says so by itself.
    """
    where = seat(ctx, record, engine, value)
    holding.refuse_held(where)
    if who := engine.writer(_query(ctx, record, engine, value)):
        raise holding.held(where, who)


def seat(ctx: Context, record: Record, engine: Engine, value: str) -> holding.Seat:
    root = engine.root(_query(ctx, record, engine, value))
    path = holding.session_lock(ctx.layout, ctx.environ, (engine.name, root), value)
    return holding.Seat(path, value, record.handle, ctx.layout.common_dir)


def _query(ctx: Context, record: Record, engine: Engine, value: str) -> StoreQuery:
    version = engine.parse_version(record.engine_version) or ()
    return StoreQuery(ctx.environ, record.cwd or ctx.cwd, version, value)


def locate(
    ctx: Context, engine: Engine, version: Version, record: Record, cwd: str, value: str
) -> tuple[Located, Copy | None]:
    """Ask the engine's store; where that has lost the session, the copy of it that can be put back.

    Raises UserError `session_missing`; "unknown" goes on and is verified afterwards.
    """
    query = StoreQuery(ctx.environ, cwd, version, value)
    located = engine.locate(query)
    if located.state == "absent":
        from git_agent_runner.conversation import restore  # a rare need

        copy = None if located.archived else restore.find(ctx, engine, query, record.run_id)
        if copy:
            return Located("unknown", cwd=copy.session_cwd), copy
        lost = engine.first_reply_lost(version) if record.attempts <= 1 and record.status != "completed" else None
        detail = located.detail or f"{engine.name} has no such session for {cwd}"
        raise UserError(
            f"session {value} cannot be resumed: {detail}",
            code="session_missing",
            hints=(
                *([lost] if lost else []),
                *restore.in_the_way(ctx, query, located, record.run_id),
                f'start anew in the same run: git agent resume {record.handle} --fallback fresh "<message>"',
                "other runs: git agent list",
            ),
        )
    return located, None
