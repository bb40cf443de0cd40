"""The sessions of an engine made of data: a file each, or all of them in one JSON document or SQLite database.

Only read, and only so much; the engine is never started.
"""

from __future__ import annotations

import glob
import json
import os
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core import model
from git_agent_runner.core.clock import moment
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Stored, StoreQuery, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from git_agent_extractors.declared import Path

SESSION = "{session}"
LARGEST = 16 << 20  # bytes of a document
_MILLISECONDS, _NEVER = 1e11, 1e15  # of times that are numbers: as seconds, three thousand years from now


class SessionKeys(NamedTuple):
    """Where an object says a session's id, its directory, and when it was made: an ISO 8601 time, or a number of
    seconds or milliseconds since the epoch. In a document of all sessions these objects are at `sessions`.
    """

    session: Path
    directory: Path = ()
    created: Path = ()
    sessions: Path = ()


class Table(NamedTuple):
    """The same of a table, by its columns."""

    name: str
    session: str
    directory: str = ""
    created: str = ""


class DeclaredStore(NamedTuple):
    """The engine's session files: `files` is a glob below the folder that the environment variable `variable` names,
    without it below `folder` in the person's home. A file with `{session}` in its name is one session; one without has
    all. What a file says is in its `first_line`, a JSON object, or it is a JSON `document`, or a database with a
    `table`.
    """

    folder: str
    files: str
    variable: str = ""
    first_line: SessionKeys | None = None
    document: SessionKeys | None = None
    table: Table | None = None


class _Row(NamedTuple):
    session: object
    directory: object
    created: object
    path: str


class _UnreadableError(ValueError):
    """The store is there and cannot be read: neither present nor absent can be said."""


def in_lines(store: DeclaredStore) -> bool:
    """Is a session its own file that grows by lines? Of nothing else a copy can be compared, or restored."""
    return store.document is None and store.table is None


def locate(name: str, store: DeclaredStore | None, query: StoreQuery) -> Located:
    if store is None or not query.session or "/" in query.session:
        return Located("unknown")
    folder = root(store, query)
    if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
        return Located("unknown", detail=f"{folder} cannot be read")
    try:
        row = next(_of(store, folder, query.session), None)
    except _UnreadableError as error:
        return Located("unknown", detail=f"{name}'s session store cannot be read: {error}")
    if row is None:
        return Located("absent", detail=f"{name} has no such session below {folder}")
    named = files.path(row.directory)
    return Located("present", row.path, named if named and os.path.isabs(named) else None)


def stored(store: DeclaredStore, query: StoreQuery, located: Located) -> Stored:
    return files.stored(root(store, query), located)


def place(store: DeclaredStore | None, query: StoreQuery) -> model.Store | None:
    return files.store(query, root(store, query), store.variable, store.folder) if store else None


def owns(store: DeclaredStore, query: StoreQuery, name: str) -> bool:
    """What the profile's glob finds for this session."""
    from fnmatch import fnmatchcase

    wanted = store.files.replace(SESSION, glob.escape(query.session or "")).split("/")
    steps = name.split("/")
    return len(steps) == len(wanted) and all(map(fnmatchcase, steps, wanted))


def turns(data: bytes) -> Iterator[Turn]:
    """What a line is, is not known: each counts."""
    return files.turns(data, lambda record: True if record else None)


def created_since(store: DeclaredStore | None, shape: re.Pattern[str], query: StoreQuery) -> tuple[str, ...]:
    """Nothing where the profile does not say how a session tells its directory and its time."""
    if store is None:
        return ()
    found = []
    folder = root(store, query)
    for path in _files(store, folder):
        try:
            _refuse_outside(folder, path)
            for row in _rows(store, path):
                made = _time(row.created)
                here = made and made >= files.floor(query.since) and files.same(row.directory, query.cwd)
                if here and isinstance(row.session, str) and shape.fullmatch(row.session):
                    found.append((made, row.session))
        except _UnreadableError:
            continue  # one that cannot be read hides no other
    return tuple(session for _, session in sorted(found))


def root(store: DeclaredStore, query: StoreQuery) -> str:
    return files.home(query.env, store.variable, store.folder)


def _of(store: DeclaredStore, folder: str, session: str) -> Iterator[_Row]:
    """What the store says of one session."""
    own = SESSION in store.files
    for path in _files(store, folder, session):
        _refuse_outside(folder, path)
        if own:
            yield next(chain(_rows(store, path), [_Row(session, None, None, path)]))._replace(session=session)
        else:
            yield from (row for row in _rows(store, path, session) if row.session == session)


def _files(store: DeclaredStore, root: str, session: str | None = None) -> Iterator[str]:
    name = "*" if session is None else glob.escape(session)
    return iter(sorted(glob.glob(os.path.join(glob.escape(root), store.files.replace(SESSION, name)))))


def _refuse_outside(folder: str, path: str) -> None:
    """The folder may be a link; what is below it leads nowhere else. Raises _UnreadableError."""
    real = os.path.realpath(folder)
    if os.path.commonpath((real, os.path.realpath(path))) != real:
        raise _UnreadableError(f"{path} leads out of {folder}")


def _rows(store: DeclaredStore, path: str, session: str | None = None) -> Iterator[_Row]:
    """Raises _UnreadableError; a first line that cannot be read says nothing."""
    if store.table:
        from git_agent_runner.engines.added import table as declared_table

        try:
            yield from (_Row(*row, path) for row in declared_table.rows(path, store.table, session))
        except declared_table.UnreadableError as error:
            raise _UnreadableError(f"{path}: {error}") from error
    elif place := store.document or store.first_line:
        objects = _document(path, place) if store.document else _first_line(path)
        for found in objects:
            told = (_value(found, at) for at in (place.session, place.directory, place.created))
            yield _Row._make((*told, path))


def _first_line(path: str) -> Iterable[object]:
    try:
        return [next(files.records(path), {})]
    except OSError:
        return []


def _document(path: str, place: SessionKeys) -> Iterable[object]:
    from git_agent_extractors.declared import values

    try:
        document = json.loads(ordinary.whole(path, LARGEST))
    except OSError as error:
        raise _UnreadableError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _UnreadableError(f"{path}: no JSON document") from error
    return values(document, place.sessions)


def _value(found: Any, path: Path) -> object:
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if path else None


def _time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return moment(value)
    if not 0 <= value < _NEVER:
        return None
    return value / 1000 if value > _MILLISECONDS else value
