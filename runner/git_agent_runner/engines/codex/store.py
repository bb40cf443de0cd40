"""Codex's session files: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl`.

A resume appends to the file of the start. The first line names the directory; the place of the file does not.
`codex archive` moves a file to `archived_sessions`. Files are only read, and the engine is never started.
"""

from __future__ import annotations

import os
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Store
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Piece, Stored, StoreQuery, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is before the first turn of a session (0.44.0 to 0.171.0).
_PRELUDE = {
    ("session_meta", None),
    ("turn_context", None),
    ("world_state", None),
    ("event_msg", "task_started"),
    ("event_msg", "thread_settings_applied"),
}
_NAME = re.compile(rf"rollout-.+?-({files.UUID.pattern})\.jsonl")


def locate(query: StoreQuery) -> Located:
    """Look for the session whatever its directory: codex resumes from anywhere (codex/*/09a to 09g)."""
    folder = root(query)
    try:
        if found := _file(query, os.path.join(folder, "sessions"), depth=3):
            return _judged(found)
        if _file(query, os.path.join(folder, "archived_sessions"), depth=0):
            return Located(
                "absent", detail=f"it is archived; 'codex unarchive {query.session}' brings it back", archived=True
            )
    except OSError as error:
        return Located("unknown", detail=f"codex's session files cannot be read: {error}")
    return Located("absent", detail=f"codex has no such session in {folder}")


def stored(query: StoreQuery, located: Located) -> Stored:
    """The one file is enough: its own index codex makes again (0.44.0 to 0.171.0)."""
    return files.stored(os.path.join(root(query), "sessions"), located)


def laid(query: StoreQuery, old: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Found by the id in its name, whatever the directory (tried on 0.65.0 and 0.171.0)."""
    piece, new = files.lone(pieces, rf"\d{{4}}/\d\d/\d\d/rollout-[^/]+-{old}\.jsonl"), query.session or ""
    return (Piece(piece.name.replace(old, new), files.renamed(piece.data, "id|session_id", old, new)),)


def root(query: StoreQuery) -> str:
    return files.home(query.env, "CODEX_HOME", ".codex")


def writer(query: StoreQuery) -> str | None:
    """By the lock that codex holds while it writes to a thread (0.171.0)."""
    path = os.path.join(root(query), "thread-writer-locks", f"{query.session}.lock")
    return "codex, started by another program," if files.is_flocked(path) else None


def store(query: StoreQuery) -> Store:
    return files.store(query, root(query), "CODEX_HOME", ".codex")


def turns(data: bytes) -> Iterator[Turn]:
    return files.turns(data, _prompts)


def _prompts(record: dict[str, Any]) -> bool | None:
    payload = record.get("payload")
    if record.get("type") != "response_item" or not isinstance(payload, dict) or _is_prelude(record):
        return None
    return payload.get("type") == "message" and payload.get("role") == "user"


def ended(data: bytes) -> bool | None:
    """Older versions (0.36.0) write no end: there the answer is the last thing of a turn."""
    return files.ended(data, _ends if b'"task_started"' in data else _answers)


def _ends(record: dict[str, Any]) -> bool | None:
    kind = _payload(record).get("type") if record.get("type") == "event_msg" else None
    return kind == "task_complete" if kind in ("task_started", "task_complete", "turn_aborted") else None


def _answers(record: dict[str, Any]) -> bool | None:
    payload = _payload(record)
    if payload.get("type") == "turn_aborted":
        return False
    if record.get("type") != "response_item" or _is_prelude(record):
        return None
    return payload.get("type") == "message" and payload.get("role") == "assistant"


def _payload(record: dict[str, Any]) -> dict[str, Any]:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else {}


def created_since(query: StoreQuery) -> tuple[str, ...]:
    """By the time in the first line; the threads of sub-agents are left out."""
    since = files.floor(query.since)
    made = []
    try:
        for path in files.below(os.path.join(root(query), "sessions"), 3):
            head = _head_since(path, since) if path.endswith(".jsonl") else {}
            created = moment(head.get("timestamp"))
            ours = files.same(head.get("cwd"), query.cwd) and not isinstance(head.get("source"), dict)
            found = _NAME.fullmatch(os.path.basename(path))
            if found and ours and created is not None and created >= since:
                made.append((created, found[1]))
    except OSError:
        return ()
    return tuple(session for _, session in sorted(made))


def _file(query: StoreQuery, folder: str, depth: int) -> str | None:
    """The session's file, of the newest day: most of the sessions asked for are new."""
    if query.learned is None:
        return next((path for path in files.below(folder, depth) if path.endswith(f"-{query.session}.jsonl")), None)
    return files.once(query, (folder, depth), lambda: _by_session(folder, depth)).get(query.session or "")


def _by_session(folder: str, depth: int) -> dict[str, str]:
    found = [*files.below(folder, depth)]
    return {match[1]: path for path in reversed(found) if (match := _NAME.fullmatch(os.path.basename(path)))}


def _judged(path: str) -> Located:
    """An emptied file is an error to codex (y03f-resume-emptied), as is one that 0.29.0 wrote (xv-*)."""
    records = files.records(path)
    first = next(records, {})
    head = first.get("payload")
    if not isinstance(head, dict) or not head:
        return Located("absent", path, detail="its file is empty, or older than any that codex can resume")
    if not _holds_turn(path, chain([first], records)):
        return Located("absent", path, detail="its file holds no turn of the conversation")
    cwd = head.get("cwd")
    return Located("present", path, files.path(cwd))


def _holds_turn(path: str, records: Iterator[dict[str, Any]]) -> bool:
    """Does anything follow what codex itself puts at the beginning?

    The id is printed before the prompt is on disk. Of a process that is killed in between codex resumes a conversation
    without its prompt, and says nothing (0.171.0). A turn that lies beyond the head that is read counts.
    """
    return not all(map(_is_prelude, records)) or os.stat(path).st_size > files.HEAD


def _is_prelude(record: dict[str, Any]) -> bool:
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return False
    kind = payload.get("type")
    if record.get("type") == "response_item" and kind == "message":
        return payload.get("role") == "developer" or _is_context(payload.get("content"))
    return (record.get("type"), kind) in _PRELUDE


def _is_context(content: Any) -> bool:
    """Instructions and the environment go in as the person's words, in tags or below AGENTS.md's heading."""
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return bool(texts) and all(isinstance(text, str) and text.startswith(("<", "# AGENTS.md")) for text in texts)


def _head(path: str) -> dict[str, Any]:
    """The payload of the first line; {} where there is none."""
    payload = next(files.records(path), {}).get("payload")
    return payload if isinstance(payload, dict) else {}


def _head_since(path: str, since: float) -> dict[str, Any]:
    """What was made since was written since: only those files are opened. One that cannot be read hides no other."""
    try:
        return _head(path) if os.stat(path).st_mtime >= since else {}
    except OSError:
        return {}
