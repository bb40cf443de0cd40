"""Gemini CLI's session files: `~/.gemini/tmp/<bucket>/chats/session-<UTC minute>-<first 8 of the id>.json[l]`.

The bucket of a directory is the SHA-256 of its path to 0.24.5, from 0.29.0 a name that `projects.json` holds.
Files are only read, never written, and the engine is never started.
"""

from __future__ import annotations

import json
import os
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Store
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Piece, Stored, StoreQuery, Turn, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_NAMED_BUCKETS: Version = (0, 25)  # 0.24.5 has none, 0.29.0 has; from here both are looked at
_FILE = re.compile(r"session-(\d{4}-\d\d-\d\dT\d\d-\d\d)-(.+)\.jsonl?")
_MARKER = ".project_root"
_LARGEST = 64 << 20  # bytes of a file that is one JSON document


class _Chat(NamedTuple):
    """What one session file says; `created` is in seconds since the epoch.

    `talk`: holds it a message that a resume would carry on from?
    """

    session: str
    created: float | None
    talk: bool


def locate(query: StoreQuery) -> Located:
    """Look for the session in the bucket of exactly this directory, as gemini does.

    A resume in a later minute leaves a second file with metadata only, and retention may then delete the first
    (gemini/0.61.0/session-loss): metadata alone is no session, gemini exits 42 on it.
    """
    session = query.session or ""
    emptied = None
    try:
        for path in _chats(query, session[:8]):
            chat = _read(path)
            if chat is None or chat.session != session:
                continue
            if chat.talk:
                return Located("present", str(path), os.path.realpath(query.cwd))
            emptied = str(path)
    except OSError as error:
        return Located("unknown", detail=f"gemini's session files cannot be read: {error}")
    if emptied:
        return Located(
            "absent", emptied, detail="gemini saved only the metadata of this session; its messages are missing"
        )
    return Located("absent", detail=f"gemini has no such session for {query.cwd}")


def stored(query: StoreQuery, located: Located) -> Stored:
    """All files of the session: a resume in a later minute begins another one."""
    bucket = _bucket_of(query)
    if located.state != "present":
        return Stored(str(bucket), ())
    session = query.session or ""
    chats = [path for path in _chats(query, session[:8]) if (chat := _read(path)) and chat.session == session]
    return Stored(str(bucket), tuple(f"chats/{path.name}" for path in chats))


def laid(query: StoreQuery, old: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """A header may continue naming another directory's hash, and a bucket needs no entry in the registry: gemini fills
    a named one from the hashed one (tried on 0.36.0 and 0.61.0).
    """
    new = query.session or ""
    return tuple(_laid(piece, old, new) for piece in pieces)


def _laid(piece: Piece, old: str, new: str) -> Piece:
    folder, _, name = piece.name.rpartition("/")
    found = _FILE.fullmatch(name)
    if folder != "chats" or not found or not found[2].startswith(old[:8]) or "/" in found[2]:
        raise ValueError(f"'{piece.name}' is not a file of session {old}")
    ending = name.rpartition(".")[2]
    return Piece(f"chats/session-{found[1]}-{new[:8]}.{ending}", files.renamed(piece.data, "sessionId", old, new))


def store(query: StoreQuery) -> Store:
    return files.store(query, root(query), "GEMINI_CLI_HOME", ".gemini")


def turns(data: bytes) -> Iterator[Turn]:
    """All that was ever said, rewound or not."""
    for key, message in _said(data).items():
        prompt = message.get("type") == "user" and _carried(message)
        said = files.words(message.get("content")) if prompt or message.get("type") == "gemini" else ""
        yield Turn(key, prompt, moment(message.get("timestamp")), said)


def ended(data: bytes) -> bool | None:
    """A turn ends with words of gemini's after which it calls no tool."""
    talk = [message for message in _said(data).values() if message.get("type") in ("user", "gemini")]
    if not talk:
        return None
    last = talk[-1]
    return bool(last.get("type") == "gemini" and last.get("content") and not last.get("toolCalls"))


def _said(data: bytes) -> dict[str, dict[str, Any]]:
    """Each message by its id, as it was written last: it is written again as it grows, and again by a resume."""
    said = {}
    for record in [*map(files.parsed, data.splitlines()), files.parsed(data)]:
        for message in _messages(record):
            said[str(message["id"])] = message
    return said


def created_since(query: StoreQuery) -> tuple[str, ...]:
    """Resuming stamps a session again, so its oldest file and oldest message say when it was made."""
    made: dict[str, float] = {}
    talks = set()
    try:
        for path in _chats(query, ""):
            chat = _read(path)
            if chat and chat.created:
                made[chat.session] = min(made.get(chat.session, chat.created), chat.created)
                talks |= {chat.session} if chat.talk else set()
    except OSError:
        return ()
    since = files.floor(query.since)
    return tuple(sorted((session for session in talks if made[session] >= since), key=made.__getitem__))


def root(query: StoreQuery) -> str:
    return str(_home(query.env, query.version))


def _home(env: Mapping[str, str], version: Version) -> Path:
    from pathlib import Path  # costs 4 ms, and other engines do without

    # GEMINI_CLI_HOME stands for the home directory, not for ~/.gemini; 0.29.0 reads it, 0.24.5 does not.
    return Path(files.home(env, "GEMINI_CLI_HOME" if version >= _NAMED_BUCKETS else "HOME", ""), ".gemini")


def _chats(query: StoreQuery, short: str) -> Iterator[Path]:
    """The session files of the directory, or those of one id's first eight characters."""
    bucket = files.once(query, query.cwd, lambda: _bucket_of(query))
    by_start = files.once(query, bucket, lambda: _by_start(bucket))
    for name in by_start.get(short, ()) if short else [name for names in by_start.values() for name in names]:
        yield bucket / "chats" / name


def _by_start(bucket: Path) -> dict[str, list[str]]:
    """The names of session files by the first eight characters of the id, as they are in the names."""
    found: dict[str, list[str]] = {}
    for name in files.names(bucket / "chats"):
        if match := _FILE.fullmatch(name):
            found.setdefault(match[2][:8], []).append(name)
    return found


def _bucket_of(query: StoreQuery) -> Path:
    return _bucket(_home(query.env, query.version), os.path.realpath(query.cwd), query.version)


def _bucket(home: Path, cwd: str, version: Version) -> Path:
    """A named bucket that is still empty is filled from the hashed one at the next start (StorageMigration)."""
    from hashlib import sha256

    hashed = home / "tmp" / sha256(os.fsencode(cwd)).hexdigest()
    name = _named(home, cwd) if version >= _NAMED_BUCKETS else None
    if name is None:
        return hashed
    named = home / "tmp" / name
    filled = set(files.names(named)) - {_MARKER}
    return named if filled or not hashed.is_dir() else hashed


def _named(home: Path, cwd: str) -> str | None:
    """The bucket's name by the registry, else by the marker that each bucket carries."""
    try:
        name = json.loads(ordinary.whole(home / "projects.json", _LARGEST))["projects"][cwd]
        if isinstance(name, str) and re.fullmatch(r"[a-z0-9-]+", name) and _owner(home / "tmp" / name) in {None, cwd}:
            return name
    except PermissionError:
        raise
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        pass  # no registry, or none that gemini would accept: it starts from the markers, too
    return next((name for name in files.names(home / "tmp") if _owner(home / "tmp" / name) == cwd), None)


def _owner(bucket: Path) -> str | None:
    try:
        return ordinary.head(bucket / _MARKER, 1 << 16).decode("utf-8", "surrogateescape").strip()
    except PermissionError:
        raise
    except OSError:
        return None


def _read(path: Path) -> _Chat | None:
    """None for a file that holds no session of the person's: torn at the top, a sub-agent's, another format.

    A file of which more is there than is read counts as holding a talk.
    """
    if path.suffix == ".jsonl":
        chat = _chat(files.records(path))
        return chat and chat._replace(talk=chat.talk or path.stat().st_size > files.HEAD)
    try:
        return _chat(iter([json.loads(ordinary.whole(path, _LARGEST))] if path.is_file() else []))
    except (ValueError, RecursionError):
        return None


def _chat(records: Iterator[Any]) -> _Chat | None:
    head = next(records, None)
    if not isinstance(head, dict) or not isinstance(head.get("sessionId"), str) or head.get("kind") == "subagent":
        return None
    messages = [*_messages(head)]
    first = messages[0].get("timestamp") if messages else None
    return _Chat(
        head["sessionId"],
        min(filter(None, (moment(head.get("startTime")), moment(first))), default=None),
        _talks(chain([head], records)),
    )


def _talks(records: Iterable[Any]) -> bool:
    """Is any message left that a resume carries on from?

    As gemini's `loadConversationRecord` replays a file: 0.61.0 takes a first prompt back when it is answered by a 401,
    with a list of messages that lacks it.
    """
    kept: dict[str, bool] = {}
    for record in records:
        if "$rewindTo" in record:
            names = [*kept]
            undone = record["$rewindTo"]
            kept = {name: kept[name] for name in names[: names.index(undone) if undone in kept else 0]}
        if isinstance(record.get("$set"), dict) and isinstance(record["$set"].get("messages"), list):
            kept.clear()
        kept |= {str(message["id"]): _carried(message) for message in _messages(record)}
    return any(kept.values())


def _messages(record: Any) -> Iterator[dict[str, Any]]:
    """The messages of a record: itself, those it sets again (`$set`), or those of a whole file in one object."""
    if not isinstance(record, dict):
        return
    changed = record.get("$set", record)
    many = changed.get("messages") if isinstance(changed, dict) else None
    for message in many if isinstance(many, list) else [record]:
        if isinstance(message, dict) and "id" in message:
            yield message


def _carried(message: dict[str, Any]) -> bool:
    """gemini's `isResumableMessageRecord`: slash and question-mark text is not picked up again by a resume."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    text = "".join(part.get("text", "") if isinstance(part, dict) else str(part or "") for part in parts).strip()
    if message.get("type") == "user":
        return bool(text) and not text.startswith(("/", "?", "<session_context>", "<hook_context>"))
    return message.get("type") == "gemini" and bool(text or message.get("toolCalls") or message.get("thoughts"))
