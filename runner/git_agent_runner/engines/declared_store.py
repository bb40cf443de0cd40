"""The session files of an engine made of data: one file a session, found by a glob. Files are only read."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_runner import model
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Stored, StoreQuery, Turn
from git_agent_runner.times import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from git_agent_extractors.declared import Path

SESSION = "{session}"


class Head(NamedTuple):
    """What the first line of a session file, a JSON object, says; `created` is an ISO 8601 time."""

    session: Path
    directory: Path
    created: Path


class Store(NamedTuple):
    """The engine's session files: `files` is a glob with one `{session}`, below the folder that the environment
    variable `variable` names, without it below `folder` in the person's home."""

    folder: str
    files: str
    variable: str = ""
    head: Head | None = None


def locate(name: str, store: Store | None, query: StoreQuery) -> Located:
    if store is None or not query.session or "/" in query.session:
        return Located("unknown")
    folder = root(store, query)
    if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
        return Located("unknown", detail=f"{folder} cannot be read")
    path = next(_files(store, folder, query.session), None)
    if path is None:
        return Located("absent", detail=f"{name} has no such session below {folder}")
    directory = _text(_head(path), store.head.directory) if store.head else None
    return Located("present", path, directory if directory and os.path.isabs(directory) else None)


def stored(store: Store, query: StoreQuery, located: Located) -> Stored:
    return files.stored(root(store, query), located)


def place(store: Store | None, query: StoreQuery) -> model.Store | None:
    return files.store(query, root(store, query), store.variable, store.folder) if store else None


def owns(store: Store, query: StoreQuery, name: str) -> bool:
    """What the profile's glob finds for this session."""
    from fnmatch import fnmatchcase

    wanted = store.files.replace(SESSION, glob.escape(query.session or "")).split("/")
    steps = name.split("/")
    return len(steps) == len(wanted) and all(map(fnmatchcase, steps, wanted))


def turns(data: bytes) -> Iterator[Turn]:
    """What a line is, is not known: each counts."""
    return files.turns(data, lambda record: True if record else None)


def created_since(store: Store | None, shape: re.Pattern[str], query: StoreQuery) -> tuple[str, ...]:
    """Nothing where the profile does not say how a session file tells its directory and its time."""
    if store is None or store.head is None:
        return ()
    found = []
    for path in _files(store, root(store, query)):
        head = _head(path)
        made = moment(_text(head, store.head.created))
        session = _text(head, store.head.session)
        here = files.same(_text(head, store.head.directory), query.cwd)
        if here and session and shape.fullmatch(session) and made and made >= files.floor(query.since):
            found.append((made, session))
    return tuple(session for _, session in sorted(found))


def root(store: Store, query: StoreQuery) -> str:
    return files.home(query.env, store.variable, store.folder)


def _files(store: Store, root: str, session: str | None = None) -> Iterator[str]:
    name = "*" if session is None else glob.escape(session)
    return iter(sorted(glob.glob(os.path.join(glob.escape(root), store.files.replace(SESSION, name)))))


def _head(path: str) -> dict[str, Any]:
    """The first JSON object of the file; an empty one where there is none."""
    try:
        return next(files.records(path), {})
    except OSError:
        return {}


def _text(value: object, path: Path) -> str | None:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
