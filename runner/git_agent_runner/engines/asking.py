"""Ask an engine's store of a session, where the launch args do not name another one, which nobody here can ask."""

from __future__ import annotations

from git_agent_runner.engines import arguments
from git_agent_runner.engines.spec import Engine, Located, StoreQuery
from git_agent_runner.model import Store


def locate(engine: Engine, query: StoreQuery, args: tuple[str, ...]) -> Located:
    """Reads the engine's files; never starts it."""
    for word in arguments.find(engine.options, args, "store"):
        return Located("unknown", detail=f"with {word.name} it is in a store that is not this one")
    return engine.locate(query)


def created_since(engine: Engine, query: StoreQuery, args: tuple[str, ...]) -> tuple[str, ...]:
    return () if arguments.find(engine.options, args, "store") else engine.created_since(query)


def store(engine: Engine, query: StoreQuery, args: tuple[str, ...]) -> Store | None:
    return None if arguments.find(engine.options, args, "store") else engine.store(query)
