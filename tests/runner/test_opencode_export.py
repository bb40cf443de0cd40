"""A session out of opencode's database, beside what `opencode export` of that version printed for it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from git_agent_runner.engines.opencode.export import moved
from git_agent_runner.engines.opencode.store import created_since, export, importable, locate
from git_agent_runner.engines.spec import StoreQuery

ID = "ses_dde9082aeffe2x5oTtdU7381lP"
DENIED = [{"permission": "question", "pattern": "*", "action": "deny"}]
# The columns of 1.2.27; 1.18.33 has those after them, too.
OLD: dict[str, Any] = {
    "id": ID,
    "project_id": "0d5eb1d418ad698954607bad0c9e65928d4c0c38",
    "parent_id": None,
    "slug": "cosmic-river",
    "directory": "/home/ann/shop",
    "title": "A scripted title",
    "version": "1.18.33",
    "share_url": None,
    "summary_additions": 0,
    "summary_deletions": 0,
    "summary_files": 0,
    "summary_diffs": None,
    "revert": None,
    "permission": json.dumps(DENIED),
    "time_created": 1795857284433,
    "time_updated": 1795857289417,
    "time_compacting": None,
    "time_archived": None,
    "workspace_id": None,
}
NEW: dict[str, Any] = {
    **OLD,
    "path": "",
    "metadata": None,
    "cost": 0,
    "tokens_input": 20,
    "tokens_output": 10,
    "tokens_reasoning": 0,
    "tokens_cache_read": 0,
    "tokens_cache_write": 0,
    "agent": "build",
    "model": '{"id":"scripted-1","providerID":"scripted","variant":"default"}',
}
OLD_INFO: dict[str, Any] = {
    "id": ID,
    "slug": "cosmic-river",
    "projectID": "0d5eb1d418ad698954607bad0c9e65928d4c0c38",
    "directory": "/home/ann/shop",
    "title": "A scripted title",
    "version": "1.18.33",
    "summary": {"additions": 0, "deletions": 0, "files": 0},
    "permission": DENIED,
    "time": {"created": 1795857284433, "updated": 1795857289417},
}
NEW_INFO: dict[str, Any] = {
    **OLD_INFO,
    "path": "",
    "agent": "build",
    "model": {"id": "scripted-1", "providerID": "scripted", "variant": "default"},
    "cost": 0,
    "tokens": {"input": 20, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}},
}
MESSAGE, PART = "msg_2216f7f0a001cGvo6HR7CH3XNa", "prt_2216f7f36001sQtXUhV4DRioWl"
TURN = {
    "info": {"role": "user", "time": {"created": 1795857284874}, "id": MESSAGE, "sessionID": ID},
    "parts": [{"type": "text", "text": "MK1 hello", "id": PART, "sessionID": ID, "messageID": MESSAGE}],
}


def stored(folder: Path, row: dict[str, Any]) -> StoreQuery:
    (folder / "opencode").mkdir()
    with closing(sqlite3.connect(folder / "opencode/opencode.db")) as database, database:
        database.execute(f"CREATE TABLE session ({', '.join(row)})")
        database.execute("CREATE TABLE message (id, session_id, time_created, time_updated, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data)")
        database.execute(f"INSERT INTO session VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        user = '{"role":"user","time":{"created":1795857284874}}'
        text = '{"type":"text","text":"MK1 hello"}'
        database.execute("INSERT INTO message VALUES (?, ?, 1795857284874, 2, ?)", (MESSAGE, ID, user))
        database.execute("INSERT INTO message VALUES ('msg_other', 'ses_other', 1, 2, '{}')")
        database.execute("INSERT INTO part VALUES (?, ?, ?, 1, 2, ?)", (PART, MESSAGE, ID, text))
    return StoreQuery({"XDG_DATA_HOME": str(folder)}, "/home/ann/shop", (1, 18, 33), ID)


@pytest.mark.parametrize(
    ("row", "info"),
    [
        pytest.param(OLD, OLD_INFO, id="1.2.27"),
        pytest.param(NEW, NEW_INFO, id="1.18.33"),
        pytest.param(
            {**NEW, "parent_id": "ses_mother", "share_url": "https://example.invalid/s", "time_archived": 7},
            {
                **NEW_INFO,
                "parentID": "ses_mother",
                "share": {"url": "https://example.invalid/s"},
                "time": {**NEW_INFO["time"], "archived": 7},
            },
            id="what is seldom there",
        ),
    ],
)
def test_the_document(tmp_path: Path, row: dict[str, Any], info: dict[str, Any]) -> None:
    document = export(stored(tmp_path, row))
    assert document is not None
    assert json.loads(document) == {"info": info, "messages": [TURN]}


def test_a_session_that_is_not_there(tmp_path: Path) -> None:
    asked = stored(tmp_path, NEW)
    assert export(asked._replace(session="ses_nobody")) is None
    assert export(asked._replace(version=(1, 1, 34))) is None
    assert export(asked._replace(env={"XDG_DATA_HOME": str(tmp_path / "none")})) is None


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE part",
        "DROP TABLE session",
        "UPDATE message SET data = '{'",
        "UPDATE session SET model = '['",
        "UPDATE message SET data = '[1]'",
        "UPDATE message SET data = NULL",
        "UPDATE session SET title = x'00ff'",
        "ALTER TABLE part DROP COLUMN data",
        pytest.param(f"UPDATE part SET data = '{'[' * 99_000}{']' * 99_000}'", id="nested too deeply"),
    ],
)
def test_a_store_of_another_form_is_no_document(tmp_path: Path, harm: str) -> None:
    asked = stored(tmp_path, NEW)
    with closing(sqlite3.connect(tmp_path / "opencode/opencode.db")) as database, database:
        database.execute(harm)
    with pytest.raises(ValueError, match=r"no such table|Expecting|opencode.db: "):
        export(asked)


@pytest.mark.parametrize("data", [b"[" * 99_000, b"[" * 99_000 + b"]" * 99_000, b"[]", b"{}", b'{"info": 7}'])
def test_what_is_no_document_is_not_moved(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a document|Expecting"):
        moved(data, ID, "ses_other", "/home/ann/shop")


@pytest.mark.parametrize("value", ["'soon'", "1e999", "-1", "NULL", "x'00'"])
def test_a_session_whose_time_is_none_is_not_a_new_one(tmp_path: Path, value: str) -> None:
    asked = stored(tmp_path, NEW)
    assert created_since(asked) == (ID,)
    with closing(sqlite3.connect(tmp_path / "opencode/opencode.db")) as database, database:
        database.execute(f"UPDATE session SET time_created = {value}")
    assert created_since(asked._replace(since=1.0)) == ()


@pytest.mark.parametrize("value", ["x'00'", "char(0) || 'home'", "NULL", "7"])
def test_a_session_in_a_directory_that_is_none_is_of_no_directory(tmp_path: Path, value: str) -> None:
    asked = stored(tmp_path, NEW)
    with closing(sqlite3.connect(tmp_path / "opencode/opencode.db")) as database, database:
        database.execute(f"UPDATE session SET directory = {value}")
    found = locate(asked)
    assert (found.state, found.cwd) == ("present", None)
    document = export(asked) if value != "x'00'" else None
    assert document is None or not importable(asked, document)
