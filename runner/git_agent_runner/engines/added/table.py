"""The sessions in a table of an engine's SQLite database, which is only read, and only so much."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from git_agent_runner.engines.added.sessions import Table

_STEPS = 50_000_000  # of SQLite's machine: a table may be a view that never ends
_LONGEST = 1 << 20  # bytes of one value


class UnreadableError(ValueError):
    """The database is there and cannot be read."""


def rows(path: str, table: Table, session: str | None = None) -> Iterator[tuple[object, object, object]]:
    """(session, directory, created) of all, or of the one of that id. Raises UnreadableError."""
    _refuse_odd(path)
    columns = ", ".join(f"[{name}]" if name else "NULL" for name in (table.session, table.directory, table.created))
    # Names in brackets, whose form was checked, are never texts, as names in quotes are where there is no such column.
    query = f"SELECT {columns} FROM [{table.name}]"  # noqa: S608  see above
    where, values = (f" WHERE [{table.session}] = ?", (session,)) if session is not None else ("", ())
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            connection.set_progress_handler(lambda: 1, _STEPS)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            yield from connection.execute(query + where, values)
    except sqlite3.Error as error:
        raise UnreadableError(str(error)) from error


def _refuse_odd(path: str) -> None:
    """SQLite opens whatever bears the names of a database and of its log, and would wait for a pipe's writer."""
    for name in (f"{path}{ending}" for ending in ("", "-wal", "-shm", "-journal")):
        if os.path.lexists(name) and not os.path.isfile(name):
            raise UnreadableError(f"{os.path.basename(name)} is not an ordinary file")
