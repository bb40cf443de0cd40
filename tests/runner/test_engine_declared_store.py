"""Stores of engines made of data that are a JSON document or a SQLite database: read, and nothing else. Faults E."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from git_agent_runner.engines.added import sessions, table
from git_agent_runner.engines.spec import Engine, StoreQuery
from support.added import PROFILE, SESSION, engine

OTHER = re.sub("^0199", "0200", SESSION)
WHERE = "session: id, directory: where.dir, created: made"
LINES = "  files: '{session}.jsonl'\n  first-line: {session: session, directory: cwd, created: at}\n"
EACH = f"  files: '{{session}}.json'\n  document: {{{WHERE}}}\n"
ALL = f"  files: all.json\n  document: {{sessions: chats.*, {WHERE}}}\n"
TABLE = "  files: all.db\n  table: {name: chats, session: id, directory: dir, created: made}\n"
SINCE = 1_700_000_000.0
MADE = 1_700_000_060
Put = Callable[[Path, str, str, object], None]


def of(store: str) -> Engine:
    assert LINES in PROFILE
    return engine(PROFILE.replace(LINES, store))


def query(home: Path, session: str | None = None) -> StoreQuery:
    return StoreQuery({"HOME": str(home)}, str(home), (1, 10), session, SINCE)


def put_each(folder: Path, session: str, directory: str, made: object) -> None:
    (folder / f"{session}.json").write_text(
        json.dumps({"id": session, "where": {"dir": directory}, "made": made}, indent=2)
    )


def put_all(folder: Path, session: str, directory: str, made: object) -> None:
    path = folder / "all.json"
    known = json.loads(path.read_text()) if path.exists() else {"chats": []}
    known["chats"].append({"id": session, "where": {"dir": directory}, "made": made})
    path.write_text(json.dumps(known, indent=2))


def put_row(folder: Path, session: str, directory: str, made: object) -> None:
    with closing(sqlite3.connect(folder / "all.db")) as store, store:
        store.execute("PRAGMA journal_mode=WAL")
        store.execute("CREATE TABLE IF NOT EXISTS chats (id TEXT, dir TEXT, made, more TEXT)")
        store.execute("INSERT INTO chats VALUES (?, ?, ?, 'x')", (session, directory, made))


KINDS = pytest.mark.parametrize(
    ("store", "put"),
    [
        pytest.param(EACH, put_each, id="a document each"),
        pytest.param(ALL, put_all, id="a document of all"),
        pytest.param(TABLE, put_row, id="a database"),
    ],
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / ".mine"
    made.mkdir()
    return made


@KINDS
def test_a_session_is_present_or_absent(tmp_path: Path, folder: Path, store: str, put: Put) -> None:
    own = of(store)
    assert own.locate(query(tmp_path, SESSION)).state == "absent"
    put(folder, SESSION, "/there", MADE)
    put(folder, OTHER, "not/a/place", MADE)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    found = own.locate(query(tmp_path, SESSION))
    assert (found.state, found.cwd, Path(found.path or "").parent) == ("present", "/there", folder)
    assert own.locate(query(tmp_path, OTHER)).cwd is None
    gone = own.locate(query(tmp_path, SESSION[:-1] + "0"))
    assert (gone.state, gone.detail) == ("absent", f"mine has no such session below {folder}")
    assert {name: (folder / name).read_bytes() for name in before} == before


@KINDS
def test_sessions_made_here_since(tmp_path: Path, folder: Path, store: str, put: Put) -> None:
    """Old ones, other directories' and ids of another shape are none, nor are times that are none."""
    here, own = str(tmp_path), of(store)
    ids = [re.sub("^0199", f"019{digit}", SESSION) for digit in "12345678"]
    put(folder, ids[1], here, MADE)
    put(folder, ids[0], os.path.join(here, "."), (MADE + 1) * 1000)
    put(folder, ids[2], here, "2200-01-01T00:00:00Z")
    put(folder, ids[3], here, 1_600_000_000)
    put(folder, ids[4], "/elsewhere", MADE)
    put(folder, "--last", here, MADE)
    for session, made in zip(ids[5:], (None, "soon", -1), strict=True):
        put(folder, session, here, made)
    assert own.created_since(query(tmp_path)) == (ids[1], ids[0], ids[2])


@pytest.mark.parametrize("made", [True, 10**400, [1], {"at": 1}], ids=["true", "huge", "list", "object"])
def test_a_time_that_is_none(tmp_path: Path, folder: Path, made: object) -> None:
    put_each(folder, SESSION, str(tmp_path), made)
    assert of(EACH).created_since(query(tmp_path)) == ()


def test_what_a_place_does_not_say_is_not_known(tmp_path: Path, folder: Path) -> None:
    put_row(folder, SESSION, str(tmp_path), MADE)
    own = of(TABLE.replace(", directory: dir, created: made", ""))
    found = own.locate(query(tmp_path, SESSION))
    assert (found.state, found.cwd, own.created_since(query(tmp_path))) == ("present", None, ())


@KINDS
def test_no_copy_is_made_of_what_cannot_be_compared(store: str, put: Put) -> None:
    own = of(store)
    assert (own.stored, own.owns) == (None, None)
    assert engine().stored is not None


def linked(path: Path) -> None:
    outside = path.parents[1] / f"outside-{path.name}"
    path.rename(outside)
    path.symlink_to(outside)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def locked_away(path: Path) -> None:
    path.unlink()
    path.mkdir()


@KINDS
@pytest.mark.parametrize("harm", [linked, piped, torn, locked_away])
def test_a_store_that_cannot_be_read_says_nothing(
    tmp_path: Path, folder: Path, store: str, put: Put, harm: Callable[[Path], None]
) -> None:
    """Neither present nor absent, and no other file's content: the engine is asked, and nothing is replaced."""
    put(folder, SESSION, str(tmp_path), MADE)
    own, (path,) = of(store), [path for path in folder.iterdir() if path.suffix in (".json", ".db")]
    harm(path)
    assert own.locate(query(tmp_path, SESSION)).state == "unknown"
    assert own.created_since(query(tmp_path)) == ()


def test_a_pipe_beside_the_database_is_not_opened(tmp_path: Path, folder: Path) -> None:
    put_row(folder, SESSION, str(tmp_path), MADE)
    os.mkfifo(folder / "all.db-wal")
    assert of(TABLE).locate(query(tmp_path, SESSION)).state == "unknown"


@pytest.mark.parametrize("text", ["[" * 100_000, "1", "[]", '{"chats": 1}', '{"chats": [1, null, {"id": 1}]}'])
def test_a_document_of_another_form(tmp_path: Path, folder: Path, text: str) -> None:
    (folder / "all.json").write_text(text)
    assert of(ALL).locate(query(tmp_path, SESSION)).state == ("unknown" if len(text) > 100 else "absent")
    assert of(ALL).created_since(query(tmp_path)) == ()


def test_a_document_is_read_up_to_a_limit(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_all(folder, SESSION, str(tmp_path), MADE)
    monkeypatch.setattr(sessions, "LARGEST", 10)
    found = of(ALL).locate(query(tmp_path, SESSION))
    assert (found.state, "larger than" in found.detail) == ("unknown", True)


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param(
            "CREATE VIEW chats AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)"
            " SELECT id, id AS dir, id AS made FROM n",
            id="a view without end",
        ),
        pytest.param("CREATE TABLE chats (other TEXT)", id="no such columns"),
        pytest.param("CREATE TABLE others (id TEXT, dir TEXT, made)", id="no such table"),
        pytest.param(
            "CREATE VIEW chats AS SELECT CAST(zeroblob(3000000) AS TEXT) AS id, '' AS dir, 1 AS made", id="a huge value"
        ),
    ],
)
def test_a_database_of_another_form_says_nothing(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, definition: str
) -> None:
    monkeypatch.setattr(table, "_STEPS", 10_000)
    with closing(sqlite3.connect(folder / "all.db")) as store:
        store.execute(definition)
    assert of(TABLE).locate(query(tmp_path, SESSION)).state == "unknown"
    assert of(TABLE).created_since(query(tmp_path)) == ()


def test_an_id_is_no_sql(tmp_path: Path, folder: Path) -> None:
    put_row(folder, SESSION, str(tmp_path), MADE)
    assert of(TABLE).locate(query(tmp_path, "x' OR '1'='1")).state == "absent"
