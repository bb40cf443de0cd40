"""The session stores that the stand-ins leave behind: as little as each real engine's own store needs to be found in.

The forms are those of codex 0.171.0, claude 2.1.332, gemini 0.61.0, opencode 1.18.33, qwen 0.24.4, copilot 1.0.102
and, as documented, iflow 0.5.19.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


def save(engine: str, session: str, message: str | None) -> None:
    """One more turn of this session, in the engine's own store, for the directory we are in."""
    STORES[engine](session, message or "hello")


def answer(engine: str, session: str) -> None:
    """The end of the turn."""
    if engine == "opencode":
        _opencode(session, "ok", answers=True)
    elif engine in ANSWERS:
        path = next(Path.home().glob(ANSWERS[engine][0].format(session, session[:8])))
        _append(path, {"timestamp": _now(), "id": f"m{time.time_ns()}", **ANSWERS[engine][1]})


_OPENCODE = (
    "session (id TEXT PRIMARY KEY, directory TEXT, time_created INTEGER, parent_id TEXT)",
    "message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT)",
    "part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT)",
)


def _now() -> str:
    return f"{datetime.now(UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def _append(path: Path, *records: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _codex(session: str, message: str) -> None:
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex", "sessions")
    turn = {
        "timestamp": _now(),
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": message},
    }
    known = next(home.glob(f"*/*/*/rollout-*-{session}.jsonl"), None)
    if known:
        _append(known, turn)
        return
    path = home / f"{datetime.now():%Y/%m/%d}/rollout-{datetime.now():%Y-%m-%dT%H-%M-%S}-{session}.jsonl"
    meta = {"id": session, "timestamp": _now(), "cwd": os.getcwd(), "originator": "codex_exec", "source": "exec"}
    _append(path, {"timestamp": _now(), "type": "session_meta", "payload": meta}, turn)


def _claude(session: str, message: str) -> None:
    projects = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude", "projects")
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in os.getcwd())
    path = next(projects.glob(f"*/{session}.jsonl"), projects / slug / f"{session}.jsonl")
    content = {"role": "user", "content": message}
    _append(
        path,
        {"type": "user", "cwd": os.getcwd(), "sessionId": session, "timestamp": _now(), "message": content},
    )


def _gemini(session: str, message: str) -> None:
    home = Path(os.environ.get("GEMINI_CLI_HOME") or Path.home(), ".gemini")
    home.mkdir(parents=True, exist_ok=True)
    registry = home / "projects.json"
    projects = json.loads(registry.read_bytes())["projects"] if registry.exists() else {}
    slug = projects.setdefault(os.getcwd(), f"project-{len(projects)}")
    registry.write_text(json.dumps({"projects": projects}))
    bucket = home / "tmp" / slug
    bucket.mkdir(parents=True, exist_ok=True)
    (bucket / ".project_root").write_text(os.getcwd())
    new = bucket / "chats" / f"session-{datetime.now(UTC):%Y-%m-%dT%H-%M}-{session[:8]}.jsonl"
    path = next((bucket / "chats").glob(f"session-*-{session[:8]}.jsonl"), new)
    turn = {"id": f"m{time.time_ns()}", "timestamp": _now(), "type": "user", "content": message}
    head = {"sessionId": session, "projectHash": "0" * 64, "startTime": _now(), "lastUpdated": _now(), "kind": "main"}
    _append(path, *([] if path.exists() else [head]), turn)


def _opencode(session: str, message: str, *, answers: bool = False) -> None:
    import sqlite3

    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share", "opencode")
    data.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(data / "opencode.db") as database:
        _opencode_tables(database)
        row = (session, os.environ.get("PWD") or os.getcwd(), time.time_ns() // 1_000_000, None)
        database.execute("INSERT OR IGNORE INTO session VALUES (?, ?, ?, ?)", row)
        _opencode_turn(database, session, f"msg_{time.time_ns()}", message, answers=answers)
    database.close()


def _opencode_tables(database: sqlite3.Connection) -> None:
    for table in _OPENCODE:
        database.execute(f"CREATE TABLE IF NOT EXISTS {table}")


def _opencode_turn(
    database: sqlite3.Connection, session: str, name: str, message: str, *, answers: bool = False
) -> None:
    now = time.time_ns() // 1_000_000
    part = json.dumps({"type": "text", "text": message})
    user = {"role": "user", "time": {"created": now}}
    info = json.dumps({"role": "assistant", "time": {"created": now, "completed": now}} if answers else user)
    database.execute("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?)", (name, session, now, info))
    database.execute("INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?)", (f"prt{name[3:]}", name, session, part))


def opencode_import(path: str) -> None:
    """As `opencode import FILE` of 1.18.33: the session becomes one of the directory that it is imported in; where it
    is there already, it gets the messages that it lacks.
    """
    import sqlite3

    found = json.loads(Path(path).read_bytes())
    session = found["info"]["id"]
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share", "opencode")
    data.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(data / "opencode.db") as database:
        _opencode_tables(database)
        row = (session, os.environ["PWD"], found["info"]["time"]["created"], None)
        moved = "ON CONFLICT (id) DO UPDATE SET directory = excluded.directory"
        database.execute(f"INSERT INTO session VALUES (?, ?, ?, ?) {moved}", row)
        for message in found["messages"]:
            known = database.execute("SELECT 1 FROM message WHERE id = ?", (message["info"]["id"],)).fetchone()
            if not known:
                _opencode_turn(database, session, message["info"]["id"], message["parts"][0]["text"])
    database.close()


def _iflow(session: str, message: str) -> None:
    path = Path(os.environ.get("IFLOW_HOME") or Path.home() / ".iflow", "projects", "encoded", f"{session}.jsonl")
    _append(path, {"type": "user", "cwd": os.getcwd(), "timestamp": _now(), "message": message})


def _qwen(session: str, message: str) -> None:
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in os.getcwd())
    path = Path(os.environ.get("QWEN_HOME") or Path.home() / ".qwen", "projects", slug, "chats", f"{session}.jsonl")
    content = {"role": "user", "parts": [{"text": message}]}
    _append(path, {"type": "user", "sessionId": session, "timestamp": _now(), "cwd": os.getcwd(), "message": content})


def _copilot(session: str, message: str) -> None:
    path = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot", "session-state", session, "events.jsonl")
    start = {"sessionId": session, "startTime": _now(), "context": {"cwd": os.getcwd()}}
    turn = {"type": "user.message", "data": {"content": message}, "timestamp": _now()}
    head = {"type": "session.start", "data": start, "timestamp": _now()}
    _append(path, *([] if path.exists() else [head]), turn)


_MODEL = {"role": "assistant", "model": "m", "stop_reason": "end_turn", "content": [{"type": "text", "text": "ok"}]}
_CODEX = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
# Where the session is below the home, and its engine's words.
ANSWERS: dict[str, tuple[str, dict[str, object]]] = {
    "codex": (".codex/sessions/*/*/*/rollout-*-{0}.jsonl", {"type": "response_item", "payload": _CODEX}),
    "claude": (".claude/projects/*/{0}.jsonl", {"type": "assistant", "message": _MODEL}),
    "gemini": (".gemini/tmp/*/chats/session-*-{1}.jsonl", {"type": "gemini", "content": "ok"}),
    "qwen": (
        ".qwen/projects/*/chats/{0}.jsonl",
        {"type": "assistant", "message": {"role": "model", "parts": [{"text": "ok"}]}},
    ),
    "copilot": (
        ".copilot/session-state/{0}/events.jsonl",
        {"type": "assistant.message", "data": {"content": "ok", "toolRequests": []}},
    ),
}
STORES = {
    "codex": _codex,
    "claude": _claude,
    "gemini": _gemini,
    "opencode": _opencode,
    "iflow": _iflow,
    "qwen": _qwen,
    "copilot": _copilot,
}
