"""Qwen Code's session files: `~/.qwen/projects/<directory with dashes>/chats/<id>.jsonl`.

A session is found only from exactly its directory (resume-subdir, resume-other-cwd of 0.5.2, 0.10.1 and 0.24.4). Files
are only read, and the engine is never started.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from git_agent_extractors import ordinary
from git_agent_runner.core.model import Store
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Piece, Stored, StoreQuery, Turn, Version

if TYPE_CHECKING:
    from collections.abc import Iterator

_CWD = re.compile(rb'("cwd"\s*:\s*)"(?:[^"\\]|\\.)*"')
_MOVABLE: Version = (0, 11)  # 0.10.1 knows neither $QWEN_HOME nor $QWEN_RUNTIME_DIR, 0.24.4 both (their bundles)


def locate(query: StoreQuery) -> Located:
    """Look for the session in the project of exactly this directory, as qwen does."""
    path = os.path.join(_chats(query), f"{query.session}.jsonl")
    try:
        if os.path.isfile(path) and (talk := files.talk(path)):
            return Located("present", path, talk.cwd)  # `/a b` and `/a-b` share a folder
        if os.path.isfile(path):
            return Located("absent", path, detail="its file holds no turn of the conversation")
        if os.path.isfile(os.path.join(_chats(query), "archive", f"{query.session}.jsonl")):
            return Located("absent", detail="qwen has archived this session", archived=True)
        if moved := _moved_by_settings(query):
            return Located("unknown", detail=f"{moved} sets runtimeOutputDir, so qwen's sessions are elsewhere")
    except OSError as error:
        return Located("unknown", detail=f"qwen's session files cannot be read: {error}")
    return Located("absent", detail=f"qwen has no such session for {query.cwd}")


def stored(query: StoreQuery, located: Located) -> Stored:
    return files.stored(_chats(query), located)


def store(query: StoreQuery) -> Store:
    variable = "QWEN_RUNTIME_DIR" if query.env.get("QWEN_RUNTIME_DIR") else "QWEN_HOME"
    return files.store(query, root(query), variable, ".qwen")


def turns(data: bytes) -> Iterator[Turn]:
    return files.turns(data, files.role)


def ended(data: bytes) -> bool | None:
    return files.ended(data, _ends)


def _ends(record: dict[str, Any]) -> bool | None:
    prompt, message = files.role(record), record.get("message")
    if prompt is None or not isinstance(message, dict):
        return None
    parts = message.get("parts")
    calls = isinstance(parts, list) and any(isinstance(part, dict) and "functionCall" in part for part in parts)
    return record.get("type") == "assistant" and not calls and bool(files.words(parts))


def created_since(query: StoreQuery) -> tuple[str, ...]:
    """By the first time in each file."""
    try:
        return files.talks_since(_sessions(_chats(query)), query.cwd, query.since)
    except OSError:
        return ()


def _chats(query: StoreQuery) -> str:
    """The folder is named by `sanitizeCwd`, in which the process's directory is a real path."""
    return os.path.join(root(query), "projects", files.dashes(query.cwd), "chats")


def laid(query: StoreQuery, old: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """qwen takes a session for that of the directory which its first line names (tried on 0.5.2 and 0.24.4)."""
    data = files.renamed(files.lone(pieces, rf"{old}\.jsonl").data, "sessionId", old, query.session or "")
    here = json.dumps(os.path.realpath(query.cwd)).encode()
    return (Piece(f"{query.session}.jsonl", _CWD.sub(lambda found: found[1] + here, data, count=1)),)


def root(query: StoreQuery) -> str:
    if query.version < _MOVABLE:
        return os.path.join(files.home(query.env, "HOME", ""), ".qwen")
    return query.env.get("QWEN_RUNTIME_DIR") or files.home(query.env, "QWEN_HOME", ".qwen")


def _moved_by_settings(query: StoreQuery) -> str | None:
    """The settings file that names another place for what qwen keeps; the last word on it is qwen's."""
    places = (files.home(query.env, "QWEN_HOME", ".qwen"), os.path.join(query.cwd, ".qwen"))
    for path in (os.path.join(place, "settings.json") for place in places):
        if os.path.isfile(path):
            with open(path, "rb", opener=ordinary.opened) as stream:
                if re.search(rb'"runtimeOutputDir"\s*:\s*"', stream.read(files.HEAD)):
                    return path
    return None


def _sessions(chats: str) -> Iterator[str]:
    for name in files.names(chats):
        stem, ending = os.path.splitext(name)
        if ending == ".jsonl" and files.UUID.fullmatch(stem):
            yield os.path.join(chats, name)
