"""Where a session has its lock: by its engine, its store and its id, whatever run and repository it is in."""

from __future__ import annotations

from git_agent_runner.context import Context
from git_agent_runner.core.model import Record
from git_agent_runner.engines import wording
from git_agent_runner.engines.spec import Engine, StoreQuery
from git_agent_runner.store import session_locks


def seat(ctx: Context, record: Record, engine: Engine, value: str) -> session_locks.Seat:
    root = engine.root(query(ctx, record, engine, value))
    path = session_locks.session_lock(ctx.layout, ctx.environ, (engine.name, root), value)
    return session_locks.Seat(path, value, record.handle, wording.message(engine.name), ctx.layout.common_dir)


def query(ctx: Context, record: Record, engine: Engine, value: str) -> StoreQuery:
    version = engine.parse_version(record.engine_version) or ()
    return StoreQuery(ctx.environ, record.cwd or ctx.cwd, version, value, learned=ctx.repo.learned)
