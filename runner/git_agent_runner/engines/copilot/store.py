"""GitHub Copilot CLI's sessions: `~/.copilot/session-state/<id>/events.jsonl`, found from any directory.

`COPILOT_HOME` stands for `~/.copilot`. Files are only read, and the engine is never started.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Store
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Piece, Stored, StoreQuery, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Begun(NamedTuple):
    """How a session began; `created` is in seconds since the epoch. `talk`: is there a turn to continue from?"""

    cwd: object
    created: float | None
    talk: bool


def locate(query: StoreQuery) -> Located:
    """Where the session is now is not told: `-C` moves it, and its first event says only where it began."""
    path = _events(query, query.session or "")
    try:
        begun = _begun(path) if os.path.isfile(path) else None
    except OSError as error:
        return Located("unknown", detail=f"copilot's session files cannot be read: {error}")
    if begun is None:
        return Located("absent", detail=f"copilot has no such session in {_sessions(query)}")
    if not begun.talk:
        return Located("absent", path, detail="its file holds no turn of the conversation")
    return Located("present", path)


def stored(query: StoreQuery, located: Located) -> Stored:
    return files.stored(_sessions(query), located)


def store(query: StoreQuery) -> Store:
    return files.store(query, root(query), "COPILOT_HOME", ".copilot")


def turns(data: bytes) -> Iterator[Turn]:
    return files.turns(data, _prompts)


def _prompts(record: dict[str, Any]) -> bool | None:
    """`agentId` is in the events of sub-agents only."""
    if record.get("type") not in ("user.message", "assistant.message") or record.get("agentId") is not None:
        return None
    return bool(record["type"] == "user.message")


def ended(data: bytes) -> bool | None:
    return files.ended(data, _ends)


def _ends(record: dict[str, Any]) -> bool | None:
    """A turn of the person's has several of copilot's; the last one asks for no tool. On leaving it writes `abort`
    whether there was something to abort or not (1.0.102).
    """
    kind, data = record.get("type"), record.get("data")
    if kind == "assistant.message" and isinstance(data, dict):
        return not data.get("toolRequests")
    return False if kind in ("user.message", "assistant.turn_start", "session.error") else None


def created_since(query: StoreQuery) -> tuple[str, ...]:
    """By the first event of each: one that cannot be read hides no other."""
    since = files.floor(query.since)
    made = []
    try:
        known = [name for name in files.names(_sessions(query)) if files.UUID.fullmatch(name)]
    except OSError:
        return ()
    for session in known:
        try:
            begun = _begun(_events(query, session))
        except OSError:
            continue
        if begun and begun.talk and begun.created is not None and begun.created >= since:
            made += [(begun.created, session)] if files.same(begun.cwd, query.cwd) else []
    return tuple(session for _, session in sorted(made))


def laid(query: StoreQuery, old: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Its events are enough (tried on 1.0.102)."""
    data = files.renamed(files.lone(pieces, rf"{old}/events\.jsonl").data, "sessionId", old, query.session or "")
    return (Piece(f"{query.session}/events.jsonl", data),)


def root(query: StoreQuery) -> str:
    return files.home(query.env, "COPILOT_HOME", ".copilot")


def writer(query: StoreQuery) -> str | None:
    """By `inuse.<pid>.hold`, on which copilot holds a lock as long as it has the session open (1.0.102)."""
    folder = os.path.join(_sessions(query), query.session or "")
    holds = [name for name in files.names(folder) if name.startswith("inuse.") and name.endswith(".hold")]
    held = next((name for name in holds if files.is_flocked(f"{folder}/{name}")), None)
    return f"copilot, process {held.split('.')[1]}," if held else None


def _sessions(query: StoreQuery) -> str:
    return os.path.join(root(query), "session-state")


def _events(query: StoreQuery, session: str) -> str:
    return os.path.join(_sessions(query), session, "events.jsonl")


def _begun(path: str) -> _Begun | None:
    """None for a file that does not begin as a session does. One with more in it than is read holds a turn, too."""
    events = files.records(path)
    first = next(events, {})
    data = first.get("data")
    if first.get("type") != "session.start" or not isinstance(data, dict):
        return None
    context = data.get("context")
    talk = any(event.get("type") == "user.message" for event in events) or os.stat(path).st_size > files.HEAD
    return _Begun(context.get("cwd") if isinstance(context, dict) else None, moment(data.get("startTime")), talk)
