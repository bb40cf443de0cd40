"""One session out of OpenCode's SQLite store, as `opencode export` prints it (1.2.27 to 1.18.33).

Read here and not asked of the engine: starting opencode takes seconds, and what its `export` writes into a pipe ends
after 128 KiB (1.18.33). `opencode import FILE` takes it back, under the same id, for the directory it is run in.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from git_agent_runner.core.clock import milliseconds
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Turn

_PARTS = "SELECT * FROM part WHERE session_id = ? ORDER BY message_id, id"
_OWNER = "SELECT session_id FROM {} WHERE id = ?"
_MESSAGES = "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id"


class _Key(NamedTuple):
    """A key of the document's `info`, the column it is made of, and how."""

    key: str
    column: str
    read: Callable[[Any], Any] = lambda value: value


_INFO = (
    _Key("id", "id"),
    _Key("slug", "slug"),
    _Key("projectID", "project_id"),
    _Key("workspaceID", "workspace_id"),
    _Key("directory", "directory"),
    _Key("path", "path"),
    _Key("parentID", "parent_id"),
    _Key("title", "title"),
    _Key("agent", "agent"),
    _Key("model", "model", json.loads),
    _Key("version", "version"),
    _Key("share", "share_url", lambda url: {"url": url}),
    _Key("metadata", "metadata", json.loads),
    _Key("revert", "revert", json.loads),
    _Key("permission", "permission", json.loads),
    _Key("cost", "cost"),
)
_GROUPS = {
    "summary": (
        _Key("additions", "summary_additions"),
        _Key("deletions", "summary_deletions"),
        _Key("files", "summary_files"),
        _Key("diffs", "summary_diffs", json.loads),
    ),
    "time": (
        _Key("created", "time_created"),
        _Key("updated", "time_updated"),
        _Key("compacting", "time_compacting"),
        _Key("archived", "time_archived"),
    ),
}
_TOKENS = (
    _Key("input", "tokens_input"),
    _Key("output", "tokens_output"),
    _Key("reasoning", "tokens_reasoning"),
)
_CACHE = (_Key("read", "tokens_cache_read"), _Key("write", "tokens_cache_write"))


def document(connection: sqlite3.Connection, session: str) -> bytes | None:
    """None where there is no such session. Raises sqlite3.Error, ValueError, IndexError, TypeError or
    RecursionError for a store of another form.
    """
    connection.row_factory = sqlite3.Row
    with closing(connection.execute("SELECT * FROM session WHERE id = ?", (session,))) as found:
        row = found.fetchone()
    if row is None:
        return None
    parts: dict[str, list[dict[str, Any]]] = {}
    for part in connection.execute(_PARTS, (session,)):
        own = {"id": part["id"], "sessionID": session, "messageID": part["message_id"]}
        parts.setdefault(part["message_id"], []).append({**json.loads(part["data"]), **own})
    messages = [
        {
            "info": {**json.loads(message["data"]), "id": message["id"], "sessionID": session},
            "parts": parts.get(message["id"], []),
        }
        for message in connection.execute(_MESSAGES, (session,))
    ]
    return json.dumps({"info": _info(dict(zip(row.keys(), row, strict=True))), "messages": messages}).encode()


def moved(document: bytes, old: str, new: str, cwd: str) -> bytes:
    """The document as one of another directory, and, where the ids differ, as another session: what belongs to it has
    new ids then, too, in the order of the old ones. Raises ValueError for a document of another form.
    """
    try:
        found = json.loads(document)
        if found["info"]["id"] != old:
            raise ValueError(f"it is the document of session {found['info']['id']!a}")
        found["info"]["directory"] = cwd
        if old != new:
            own = [name for message in found["messages"] for name in _names(message)]
            found = _replaced(found, {old: new, **{name: _beside(name, new) for name in own}})
        return json.dumps(found).encode()
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is not a document of opencode's") from error


def _names(message: dict[str, Any]) -> Iterator[str]:
    yield message["info"]["id"]
    yield from (part["id"] for part in message["parts"])


def _beside(name: str, session: str) -> str:
    """An id begins with its time, by which things are in order; what follows only keeps it apart from others."""
    from hashlib import sha256

    return name[:16] + sha256(f"{name} {session}".encode(errors="surrogateescape")).hexdigest()[:14]


def _replaced(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def turns(data: bytes) -> Iterator[Turn]:
    """The messages of a document."""
    for message in _messages(files.parsed(data)):
        info = message["info"]
        at = milliseconds(info["time"].get("created") if isinstance(info.get("time"), dict) else None)
        said = files.words([part for part in message["parts"] if not part.get("synthetic")])
        yield Turn(str(info.get("id")), info.get("role") == "user", at, said)


def ended(data: bytes) -> bool | None:
    """The last answer was finished, not cut off, and asked for no tool."""
    infos = [message["info"] for message in _messages(files.parsed(data))]
    if not infos:
        return None
    last = infos[-1]
    done = isinstance(last.get("time"), dict) and last["time"].get("completed")
    return bool(
        last.get("role") == "assistant" and done and not last.get("error") and last.get("finish") != "tool-calls"
    )


def whole(data: bytes, session: str, directory: str) -> bool:
    """Does everything in the document belong to this session, and the session to this directory?"""
    found = files.parsed(data)
    info, messages = found.get("info"), found.get("messages")
    if not isinstance(info, dict) or not isinstance(messages, list):
        return False
    ours = info.get("id") == session and not info.get("parentID") and files.same(info.get("directory"), directory)
    return ours and all(_belongs(message, session) for message in messages)


def foreign(connection: sqlite3.Connection, data: bytes, session: str) -> bool:
    """Does the store have any of the document's messages, or of their parts, as another session's?"""
    for message in _messages(files.parsed(data)):
        for table, found in (("message", [message["info"]]), ("part", message["parts"])):
            for one in found:
                row = connection.execute(_OWNER.format(table), (one.get("id"),)).fetchone()
                if row and row[0] != session:
                    return True
    return False


def _messages(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document.get("messages")
    return [one for one in found if _belongs(one, None)] if isinstance(found, list) else []


def _belongs(message: Any, session: str | None) -> bool:
    """Has it the form of a message, of this session where one is named?"""
    info, parts = (message.get("info"), message.get("parts")) if isinstance(message, dict) else (None, None)
    if not isinstance(info, dict) or not isinstance(parts, list) or not isinstance(info.get("id"), str):
        return False
    if not all(isinstance(part, dict) and isinstance(part.get("id"), str) for part in parts):
        return False
    named = {info.get("sessionID"), *(part.get("sessionID") for part in parts)}
    above = {part.get("messageID") for part in parts} - {info["id"]}
    return session is None or (named == {session} and not above)


def _info(row: dict[str, Any]) -> dict[str, Any]:
    info = _read(_INFO, row)
    for name, keys in _GROUPS.items():
        if group := _read(keys, row):
            info[name] = group
    if tokens := _read(_TOKENS, row):
        info["tokens"] = {**tokens, "cache": _read(_CACHE, row)}
    return info


def _read(keys: tuple[_Key, ...], row: dict[str, Any]) -> dict[str, Any]:
    """A column that this version lacks, or that is empty, has no key."""
    return {key.key: key.read(row[key.column]) for key in keys if row.get(key.column) is not None}
