"""What each engine itself keeps: the sessions in its own store, read here without the program's own code."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from system.support import World


def sessions(world: World) -> frozenset[str]:
    """The ids of all conversations that the engine has in this world."""
    return frozenset(_STORES[world.pin.engine](world.home.root))


def forget(world: World, session: str) -> None:
    """Take a conversation out of the engine's store, as its own clean-up or a lost disk would."""
    if world.pin.engine == "opencode":
        with closing(sqlite3.connect(_database(world.home.root))) as database, database:
            database.execute("pragma foreign_keys = on")
            database.execute("delete from session where id = ?", (session,))
        return
    for file in _files(world.home.root, world.pin.engine):
        if session in file.name or session in file.read_text():
            file.unlink()


def forget_copies(world: World) -> None:
    """Take away the copies of sessions that the runs keep."""
    for folder in world.repo.glob(".git/agent/runs/*/session"):
        shutil.rmtree(folder)


def _files(home: Path, engine: str) -> list[Path]:
    pattern = {
        "claude": ".claude/projects/*/*.jsonl",
        "codex": ".codex/sessions/*/*/*/rollout-*.jsonl",
        "gemini": ".gemini/tmp/*/chats/session-*.json*",
        "qwen": ".qwen/projects/*/chats/*.jsonl",
        "copilot": ".copilot/session-state/*/events.jsonl",
    }
    return list(home.glob(pattern[engine]))


def _claude(home: Path) -> set[str]:
    # 1.0.128 leaves a file without a turn in it for every resume.
    return {file.stem for file in _files(home, "claude") if '"type":"user"' in file.read_text()}


def _codex(home: Path) -> set[str]:
    return {file.stem[-36:] for file in _files(home, "codex")}


def _gemini(home: Path) -> set[str]:
    named = (re.search(r'"sessionId":\s*("[^"]+")', file.read_text()) for file in _files(home, "gemini"))
    return {json.loads(found[1]) for found in named if found}


def _qwen(home: Path) -> set[str]:
    return {file.stem for file in _files(home, "qwen") if '"type":"user"' in file.read_text()}


def _copilot(home: Path) -> set[str]:
    return {file.parent.name for file in _files(home, "copilot")}


def _database(home: Path) -> Path:
    return home / ".local/share/opencode/opencode.db"


def _opencode(home: Path) -> set[str]:
    with closing(sqlite3.connect(_database(home))) as database:
        return {name for (name,) in database.execute("select id from session where parent_id is null")}


_STORES: dict[str, Callable[[Path], set[str]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "qwen": _qwen,
    "copilot": _copilot,
}
