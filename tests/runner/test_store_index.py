"""The index: records that are found, changed by many processes at once, and kept when they are broken."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.model import Session
from git_agent_runner.core.errors import UserError
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records.document import CorruptRecord
from git_agent_runner.store.records.index import HandleTaken, Index
from support.stored import HANDLE, record, worker, written

CASES = Path(__file__).parent / "cases"


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(Layout(str(tmp_path)))


def put(index: Index, case: str, handle: str) -> Path:
    """Copy a case's file into the index."""
    path = Path(index.layout.index_file(handle))
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CASES / case, path)
    return path


def test_what_is_created_is_read(index: Index) -> None:
    index.create(record())
    assert index.read(HANDLE) == record()
    assert index.handles() == [HANDLE]


def test_an_empty_index_is_no_error(index: Index) -> None:
    assert (index.handles(), index.read_all(), index.find_prefix("7f3a")) == ([], ([], []), [])


@pytest.mark.parametrize("umask", [0o000, 0o022], ids=["umask 000", "umask 022"])
def test_records_and_their_folders_are_private(index: Index, umask: int) -> None:
    before = os.umask(umask)
    try:
        index.create(record())
    finally:
        os.umask(before)
    path = Path(index.layout.index_file(HANDLE))
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_handle_is_given_once(index: Index) -> None:
    index.create(record())
    with pytest.raises(HandleTaken) as caught:
        index.create(record(branch="other"))
    assert caught.value.code == "handle_taken"
    assert index.read(HANDLE).branch == "feature/retry"


def test_a_corrupt_record_keeps_its_handle(index: Index) -> None:
    path = put(index, "D03/torn.yaml", "a1b2c3d4")
    before = path.read_bytes()
    with pytest.raises(HandleTaken):
        index.create(record("a1b2c3d4"))
    assert path.read_bytes() == before


def test_an_update_sees_the_newest_record_and_returns_its_own(index: Index) -> None:
    index.create(record())
    index.update(HANDLE, lambda old: old._replace(attempts=old.attempts + 1))
    new = index.update(HANDLE, lambda old: old._replace(attempts=old.attempts + 1))
    assert new == index.read(HANDLE) == record(attempts=3)


def test_an_update_without_change_writes_nothing(index: Index) -> None:
    index.create(record())
    before = written(index.layout.index_file(HANDLE))
    index.update(HANDLE, lambda old: old)
    assert written(index.layout.index_file(HANDLE)) == before


def test_a_record_cannot_change_its_handle(index: Index) -> None:
    index.create(record())
    with pytest.raises(ValueError, match="cannot move"):
        index.update(HANDLE, lambda _: record("aaaaaaaa"))
    assert index.handles() == [HANDLE]


def test_comments_survive_an_update(index: Index) -> None:
    index.create(record())
    path = Path(index.layout.index_file(HANDLE))
    path.write_text(f"# do not prune\n{path.read_text()}ticket: 0042 # ours\n")
    index.update(HANDLE, lambda old: old._replace(attempts=2))
    text = path.read_text()
    assert text.startswith("# do not prune\n")
    assert "ticket: 0042 # ours\n" in text
    assert index.read(HANDLE).attempts == 2


@pytest.mark.parametrize(
    ("handle", "code"),
    [
        pytest.param("aaaaaaaa", "unknown_handle", id="no such record"),
        pytest.param("../../HEAD", "handle_malformed", id="a path"),
    ],
)
def test_a_handle_without_a_record(index: Index, handle: str, code: str) -> None:
    index.create(record())
    asks: tuple[Callable[[], object], ...] = (lambda: index.read(handle), lambda: index.update(handle, lambda old: old))
    for ask in asks:
        with pytest.raises(UserError) as caught:
            ask()
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("7f3a", ["7f3a0000", "7f3a9c21"], id="two have it"),
        pytest.param("7f3a9", ["7f3a9c21"], id="one has it"),
        pytest.param("7f3a9c21", ["7f3a9c21"], id="the whole handle"),
        pytest.param("7f3a9c22", [], id="a whole handle that is none"),
        pytest.param("7f3", [], id="three are too few"),
        pytest.param("7f3a9c211", [], id="longer than a handle"),
        pytest.param("../7", [], id="a path"),
        pytest.param("7F3A", [], id="upper case"),
        pytest.param("fix", [], id="a word"),
    ],
)
def test_prefixes(index: Index, text: str, expected: list[str]) -> None:
    for handle in ("7f3a9c21", "7f3a0000", "80000000"):
        index.create(record(handle))
    assert index.find_prefix(text) == expected


def test_what_editors_leave_in_the_folder_is_not_a_record(index: Index) -> None:
    index.create(record())
    for name in (f".{HANDLE}.yaml.swp", f"{HANDLE}.yaml~", "copy of it.yaml", f".{HANDLE}.yaml.123.ab.tmp", "README"):
        (Path(index.layout.index_dir) / name).write_text("x")
    assert index.handles() == [HANDLE]
    assert index.read_all() == ([record()], [])


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        pytest.param("D03/conflict.yaml", "line 2: mapping values are not allowed here", id="merge conflict"),
        pytest.param("D03/torn.yaml", "line 5: expected ',' or '}'", id="torn"),
        pytest.param("D03/torn-line.yaml", "`updatedAt` is missing", id="torn at the end of a line"),
        pytest.param("D03/zero.yaml", "the file is empty", id="empty"),
        pytest.param("D05/raw_esc.yaml", "line 6: special characters are not allowed (U+001B)", id="raw escape"),
        pytest.param("D03/good.yaml", "`handle` is b1b2c3d4, but the file is named a1b2c3d4.yaml", id="another's"),
    ],
)
def test_a_corrupt_record_is_named_kept_and_hides_no_other(index: Index, case: str, reason: str) -> None:
    """Cases D03 and D05."""
    path = put(index, case, "a1b2c3d4")
    put(index, "D03/good.yaml", "b1b2c3d4")
    before = path.read_bytes()
    found, problems = index.read_all()
    assert [(made.handle, made.session.value) for made in found] == [
        ("b1b2c3d4", "019a1c2d-0d23-7aaa-8bbb-0123456789ab")
    ]
    assert [reason in problem.message and str(path) in problem.message for problem in problems] == [True]
    with pytest.raises(CorruptRecord):
        index.update("a1b2c3d4", lambda old: old._replace(attempts=9))
    assert path.read_bytes() == before
    index.create(record())  # a new run can still be recorded
    assert index.handles() == [HANDLE, "a1b2c3d4", "b1b2c3d4"]


def test_a_key_that_is_there_twice_is_usable_and_told(index: Index) -> None:
    """Case D03, dup.yaml."""
    told: list[str] = []
    put(index, "D03/dup.yaml", "a1b2c3d4")
    put(index, "D03/good.yaml", "b1b2c3d4")
    found, problems = index._replace(warn=told.append).read_all()
    assert [made.session.value for made in found] == [
        "c0ffee00-0d22-4aaa-9bbb-0123456789ab",
        "019a1c2d-0d23-7aaa-8bbb-0123456789ab",
    ]
    assert (problems, len(told)) == ([], 1)
    assert "`session` is in lines 5 and 8; the last one counts" in told[0]


def test_unquoted_handles_are_found_as_typed(index: Index, expected: dict[str, Any]) -> None:
    """Case D01."""
    assert len(expected["lookups"]) == 3
    for handle, session in expected["lookups"].items():
        path = put(index, f"D01/{handle}.yaml", handle)
        assert index.read(handle).session.value == session
        index.update(handle, lambda old: old._replace(attempts=2))
        assert path.read_text().startswith(f"handle: {handle}\n")
        assert index.read(handle).session.value == session


@pytest.fixture
def expected() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CASES / "D01/expect.json").read_text())
    return loaded


def test_what_is_no_readable_file_is_a_problem_of_its_own(index: Index) -> None:
    index.create(record())
    os.mkdir(index.layout.index_file("aaaaaaaa"))
    os.mkfifo(index.layout.index_file("bbbbbbbb"))
    os.symlink("nowhere", index.layout.index_file("cccccccc"))
    found, problems = index.read_all()
    assert found == [record()]
    assert [problem.reason for problem in problems] == ["Is a directory", "not an ordinary file"]


def test_a_repair_keeps_the_corrupt_bytes(index: Index) -> None:
    path = put(index, "D03/torn.yaml", "a1b2c3d4")
    before = path.read_bytes()
    kept = index.repair(record("a1b2c3d4"))
    assert kept
    assert Path(kept).read_bytes() == before
    assert index.read("a1b2c3d4") == record("a1b2c3d4")
    path.write_bytes(b"")
    assert index.repair(record("a1b2c3d4")) not in {None, kept}
    assert index.handles() == ["a1b2c3d4"]


def test_a_repair_leaves_a_readable_record_alone_and_makes_a_missing_one(index: Index) -> None:
    assert index.repair(record()) is None
    assert index.read(HANDLE) == record()
    index.update(HANDLE, lambda old: old._replace(session=Session("thread_id", "newer")))
    assert index.repair(record()) is None
    assert index.read(HANDLE).session.value == "newer"


def test_an_index_that_cannot_be_listed_is_told(index: Index) -> None:
    Path(index.layout.root).mkdir()
    Path(index.layout.index_dir).write_text("not a folder")
    with pytest.raises(UserError) as caught:
        index.handles()
    assert (caught.value.code, index.layout.index_dir in caught.value.message) == ("index_unreadable", True)


def test_twenty_starts_at_once_leave_twenty_records(index: Index) -> None:
    started = [worker(index.layout.common_dir, "create", 1) for _ in range(20)]
    handles = [process.communicate()[0].strip() for process in started]
    assert len(set(handles)) == 20
    assert index.handles() == sorted(handles)
    assert index.read_all()[1] == []


def test_twenty_processes_change_one_record_and_none_is_lost(index: Index) -> None:
    index.create(record(attempts=0))
    started = [worker(index.layout.common_dir, "count", 10) for _ in range(20)]
    seen = [int(line) for process in started for line in process.communicate()[0].split()]
    assert sorted(seen) == list(range(1, 201))
    assert index.read(HANDLE).attempts == 200


def test_a_kill_at_any_moment_loses_no_complete_record(index: Index) -> None:
    """What a process said was written is there, whole, after a SIGKILL; the half-written one does not count."""
    index.create(record(attempts=0))
    for told in range(1, 21):
        process = worker(index.layout.common_dir, "grow", 1_000_000)
        assert process.stdout is not None
        seen = [int(process.stdout.readline()) for _ in range(told % 7 + 1)]
        process.kill()
        seen += [int(line) for line in process.communicate()[0].split()]
        assert index.read(HANDLE).attempts in {seen[-1], seen[-1] + 1}
        assert index.read_all()[1] == []
    index.create(record("aaaaaaaa"))  # no lock was left behind
    assert index.update(HANDLE, lambda old: old._replace(branch="x")).branch == "x"
