"""OpenCode's session store: SQLite from 1.2, one JSON file a session before. Only read; the engine is never started.

    $XDG_DATA_HOME/opencode/opencode.db, table session                      1.2 and later
    $XDG_DATA_HOME/opencode/storage/session/<project>/ses_….json            1.0 and 1.1

`OPENCODE_DB` names another database, absolute or below that folder (bundle of 1.18.33). 1.2 to 1.14 take over the JSON
files when they make the database; 1.18 does not (opencode/cross-version).
"""

from __future__ import annotations

import json
import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core.clock import milliseconds
from git_agent_runner.core.model import Store
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Piece, StoreQuery, Turn, Version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from sqlite3 import Connection

_SQLITE: Version = (1, 2)
_IMPORTS_UNTIL: Version = (1, 15)
_ALL = "SELECT id, directory, time_created, parent_id FROM session"
_PROMPT = (
    "SELECT json_extract(data, '$.model.providerID'), json_extract(data, '$.model.modelID') FROM message"
    " WHERE json_extract(data, '$.role') = 'user' ORDER BY time_created DESC LIMIT 1"
)
_CONFIG = ("opencode.jsonc", "opencode.json", "config.json")
_ONE = "SELECT id, directory, time_created, parent_id FROM session WHERE id = ?"


class _Row(NamedTuple):
    """`created` is in seconds since the epoch; a sub-agent's session has a `parent`."""

    session: str
    directory: object
    created: float
    parent: str | None
    path: str


class _UnreadableError(ValueError):
    """The store is there and cannot be read: neither present nor absent can be said."""


def locate(query: StoreQuery) -> Located:
    """`cwd` is the directory of the session, which every later version wants to be resumed in."""
    try:
        row = next((row for row in _rows(query, query.session or "") if row.session == query.session), None)
    except _UnreadableError as error:
        return Located("unknown", detail=f"opencode's session store cannot be read: {error}")
    if row is None:
        return Located("absent", detail="opencode has no such session")
    return Located("present", row.path, files.path(row.directory))


def store(query: StoreQuery) -> Store:
    if query.env.get("OPENCODE_DB"):
        return Store(os.path.realpath(os.path.join(query.cwd, root(query))), "OPENCODE_DB")
    return files.store(query, root(query), "XDG_DATA_HOME", ".local/share/opencode")


def created_since(query: StoreQuery) -> tuple[str, ...]:
    """opencode stores the directory as PWD named it."""
    here = {query.cwd, os.path.realpath(query.cwd)}
    since = files.floor(query.since)
    try:
        rows = [row for row in _rows(query) if row.directory in here and row.parent is None and row.created >= since]
    except _UnreadableError:
        return ()
    return tuple(row.session for row in sorted(rows, key=lambda row: row.created))


def export(query: StoreQuery) -> bytes | None:
    """The session as `opencode export` prints it; None before 1.2. Raises ValueError where it cannot be read."""
    database = _database(query)
    if not _is_sqlite(query, database) or not _is_there(database):
        return None
    import sqlite3

    from git_agent_runner.engines.opencode.export import document

    try:
        with closing(_connect(database)) as connection:
            return document(connection, query.session or "")
    except (sqlite3.Error, IndexError, TypeError, RecursionError) as error:
        raise ValueError(f"{database}: {error}") from error


def importable(query: StoreQuery, data: bytes) -> bool:
    """An import replaces what has the same id: nothing in the document may have that of another session's message."""
    from git_agent_runner.engines.opencode import export as opencode_export

    session = query.session or ""
    if not opencode_export.whole(data, session, query.cwd):
        return False
    database = _database(query)
    if not database.exists():
        return True
    import sqlite3

    try:
        with closing(_connect(database)) as connection:
            return not opencode_export.foreign(connection, data, session)
    except sqlite3.Error:
        return False


def turns(data: bytes) -> Iterator[Turn]:
    from git_agent_runner.engines.opencode import export as opencode_export

    return opencode_export.turns(data)


def ended(data: bytes) -> bool | None:
    from git_agent_runner.engines.opencode import export as opencode_export

    return opencode_export.ended(data)


def model(query: StoreQuery) -> str | None:
    """The model that opencode would use here, as `provider/model`: of its settings, else of the newest message."""
    folder = os.path.join(files.home(query.env, "XDG_CONFIG_HOME", ".config"), "opencode")
    for path in (query.env.get("OPENCODE_CONFIG"), *(os.path.join(folder, name) for name in _CONFIG)):
        with suppress(OSError):
            named = files.parsed(ordinary.whole(path, 1 << 20)).get("model") if path else None
            if isinstance(named, str) and "/" in named:
                return named
    return _used(_database(query))


def _used(database: Path) -> str | None:
    import sqlite3

    try:
        if not _is_there(database):
            return None
        with closing(_connect(database)) as connection:
            provider, name = connection.execute(_PROMPT).fetchone() or (None, None)
    except (sqlite3.Error, _UnreadableError):
        return None
    return f"{provider}/{name}" if isinstance(provider, str) and isinstance(name, str) else None


def _rows(query: StoreQuery, session: str | None = None) -> Iterator[_Row]:
    """All sessions, or the one of that id."""
    database = _database(query)
    if _is_sqlite(query, database):
        return _sqlite_rows(database, session)
    return _json_rows(_data(query) / "storage" / "session", session)


def laid(query: StoreQuery, old: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The ids of messages and parts are keys of the database: another session's are all others."""
    from git_agent_runner.engines.opencode.export import moved

    return (Piece("", moved(files.lone(pieces, ".*").data, old, query.session or "", query.cwd)),)


def root(query: StoreQuery) -> str:
    """With another database (`OPENCODE_DB`), that is the store."""
    return str(_database(query) if query.env.get("OPENCODE_DB") else _data(query))


def _data(query: StoreQuery) -> Path:
    from pathlib import Path

    return Path(files.home(query.env, "XDG_DATA_HOME", ".local/share"), "opencode")


def _database(query: StoreQuery) -> Path:
    return _data(query) / (query.env.get("OPENCODE_DB") or "opencode.db")


def _is_sqlite(query: StoreQuery, database: Path) -> bool:
    return query.version >= _SQLITE and (query.version >= _IMPORTS_UNTIL or _is_there(database))


def _is_there(database: Path) -> bool:
    """SQLite opens whatever bears the names of a database and of its log, and would wait for a pipe's writer.

    Raises _UnreadableError.
    """
    for path in (f"{database}{ending}" for ending in ("", "-wal", "-shm", "-journal")):
        if os.path.lexists(path) and not os.path.isfile(path):
            raise _UnreadableError(f"{path}: not an ordinary file")
    return database.exists()


def _sqlite_rows(database: Path, session: str | None) -> Iterator[_Row]:
    if not _is_there(database):
        return
    import sqlite3

    try:
        with closing(_connect(database)) as connection:
            rows = connection.execute(_ONE, (session,)) if session is not None else connection.execute(_ALL)
            for found, directory, created, parent in rows:
                yield _Row(found, directory, milliseconds(created) or 0.0, parent, str(database))
    except sqlite3.Error as error:
        raise _UnreadableError(f"{database}: {error}") from error


def _connect(database: Path) -> Connection:
    """Read-only and without `immutable`, so that sessions still in the write-ahead log are seen."""
    import sqlite3
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)


def _json_rows(folder: Path, session: str | None) -> Iterator[_Row]:
    try:
        for path in folder.glob(f"*/{session or 'ses_*'}.json"):
            row = _json_row(path)
            if row:
                yield row
    except OSError as error:
        raise _UnreadableError(str(error)) from error


def _json_row(path: Path) -> _Row | None:
    try:
        info: Any = json.loads(ordinary.whole(path, 1 << 20))
        created = milliseconds(info["time"]["created"]) or 0.0
        return _Row(str(info["id"]), info["directory"], created, info.get("parentID"), str(path))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None  # torn or of another format: 1.0 and 1.1 cannot read it either
