"""Ask an engine's store of a session, unless that is in another one: by the launch args, or by what was recorded."""

from __future__ import annotations

import os

from git_agent_runner.core.model import Store
from git_agent_runner.engines import arguments, files
from git_agent_runner.engines.spec import Engine, Located, StoreQuery


def locate(engine: Engine, query: StoreQuery, args: tuple[str, ...], recorded: Store | None = None) -> Located:
    """Reads the engine's files; never starts it. `recorded` is the store that the session was in."""
    here = files.once(query, (engine.name, query.cwd), lambda: engine.store(query)) if recorded else None
    if recorded and here and here.root != files.once(query, recorded, lambda: os.path.realpath(recorded.root)):
        return Located("unknown", detail=f"it is in '{recorded.root}', and {engine.name} now looks in '{here.root}'")
    for word in files.once(query, (engine.name, args), lambda: arguments.find(engine.options, args, "store")):
        return Located("unknown", detail=f"with {word.name} it is in a store that is not this one")
    return engine.locate(query)


def created_since(engine: Engine, query: StoreQuery, args: tuple[str, ...]) -> tuple[str, ...]:
    return () if arguments.find(engine.options, args, "store") else engine.created_since(query)


def store(engine: Engine, query: StoreQuery, args: tuple[str, ...]) -> Store | None:
    return None if arguments.find(engine.options, args, "store") else engine.store(query)
