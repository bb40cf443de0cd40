"""The list of runs: what the cache says is what the records say, whatever happened to either."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_agent_extractors.model import Session
from git_agent_runner.store import records
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import document, rows
from git_agent_runner.store.records import listing as cache
from git_agent_runner.store.records.index import Index
from git_agent_runner.store.records.listing import ListRequest, listing
from git_agent_runner.store.records.rows import Row
from support.stored import HANDLE, MOMENT, record, run_id

LATER = time.time() + 30 * 86400  # long after any file of a test was written: its entry is trusted
HANDLES = ("aaaaaaaa", "bbbbbbbb", "cccccccc")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Three records, the oldest first by name, and a cache of them."""
    made = Layout(str(tmp_path))
    for day, handle in enumerate(HANDLES, start=1):
        Index(made).create(record(handle, updated_at=f"2026-11-0{day}T00:00:00.000Z"))
    listing(made, LATER)
    return made


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read while this list is looked at."""
    names: list[str] = []

    def counted(path: str) -> str:
        names.append(os.path.basename(path))
        return document.read_text(path)

    monkeypatch.setattr(cache, "read_text", counted)
    return names


def test_the_list_is_not_waited_for_until_it_is_on_disk(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be made again at any time. faults E"""

    def synced(_fd: int) -> None:
        raise AssertionError("the disk was waited for")

    monkeypatch.setattr(os, "fsync", synced)
    os.unlink(layout.index_file(HANDLES[0]))
    assert handles(layout) == ["cccccccc", "bbbbbbbb"]


def handles(layout: Layout, now: float = LATER, newest: int | None = None) -> list[str]:
    return [row.handle for row in listing(layout, now, ListRequest(newest)).rows]


def test_a_row_says_what_the_record_says(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path))
    Index(layout).create(record(branch=None, status=None, session=Session(None, None)))
    expected = Row(
        updated_at=MOMENT,
        handle=HANDLE,
        run_id=run_id(),
        agent_name="codex",
        session_value=None,
        branch=None,
        status=None,
        attempts=1,
        created_at=MOMENT,
        cwd="/home/dev/repo/src",
        start_commit="1a2b3c4d" * 5,
        worktree_id="worktrees/repo@1795826472123456789",
    )
    assert listing(layout, LATER).rows == [expected]  # from the record
    assert listing(layout, LATER).rows == [expected]  # from the cache


@given(
    st.lists(
        st.text(st.sampled_from("\\\tnN\n\r\x1b\u2028é😀\udce9\x00"))
        | st.text(st.characters(exclude_categories=["Cs"])),
        min_size=3,
        max_size=3,
    )
)
def test_any_text_survives_the_cache(words: list[str]) -> None:
    made = record(branch=words[0], cwd=words[1], session=Session("thread_id", words[2]))
    line = rows.line(rows.text(made), "aaaaaaaa.yaml 1 2")
    assert line.count(b"\n") == 1
    row = rows.row(line)
    assert [row.branch, row.cwd, row.session_value] == words
    assert rows.of_branch([words[0]])(line)
    assert not rows.of_branch([f"{words[0]}x", None])(line)


def test_newest_first_and_no_more_than_asked_for(layout: Layout) -> None:
    assert handles(layout) == ["cccccccc", "bbbbbbbb", "aaaaaaaa"]
    assert handles(layout, newest=2) == ["cccccccc", "bbbbbbbb"]


def test_reviews_are_left_out_where_only_a_branchs_runs_are_wanted(layout: Layout) -> None:
    """Faults of agents in hooks F5. The newest of those that are left, from the file that is kept, too."""
    Index(layout).update("cccccccc", lambda old: old._replace(role="review"))
    for _ in range(2):
        assert handles(layout) == ["cccccccc", "bbbbbbbb", "aaaaaaaa"]
        assert [row.handle for row in listing(layout, LATER, ListRequest(1, reviews=False)).rows] == ["bbbbbbbb"]


def test_nothing_is_read_twice(layout: Layout, read: list[str]) -> None:
    assert len(handles(layout)) == 3
    assert read == []


def test_only_what_changed_is_read(layout: Layout, read: list[str]) -> None:
    Index(layout).update("aaaaaaaa", lambda old: old._replace(updated_at="2026-12-01T00:00:00.000Z"))
    assert handles(layout) == ["aaaaaaaa", "cccccccc", "bbbbbbbb"]
    assert handles(layout)[0] == "aaaaaaaa"
    assert read == ["aaaaaaaa.yaml"]


def test_new_and_removed_records(layout: Layout) -> None:
    Index(layout).create(record("dddddddd"))
    os.unlink(layout.index_file("bbbbbbbb"))
    assert handles(layout) == ["dddddddd", "cccccccc", "aaaaaaaa"]
    assert handles(layout) == ["dddddddd", "cccccccc", "aaaaaaaa"]


@pytest.fixture
def many(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three records are many here, and their cache says so. The files that are looked at."""
    monkeypatch.setattr(cache, "_MANY", 2)
    os.unlink(layout.cache_file)
    listing(layout, LATER)
    asked: list[str] = []
    stat = os.stat

    def looked_at(path: Any, **how: Any) -> os.stat_result:
        asked.append(os.path.basename(path))
        return stat(path, **how)

    monkeypatch.setattr(os, "stat", looked_at)
    return asked


def test_of_many_only_the_files_of_wanted_rows_are_looked_at(
    layout: Layout, many: list[str], read: list[str]
) -> None:  # faults D5, D6
    assert handles(layout, newest=1) == ["cccccccc"]
    assert [row.handle for row in of_branch(layout, "feature/retry")] == ["cccccccc", "bbbbbbbb", "aaaaaaaa"]
    assert of_branch(layout, "feature/none", None) == []
    assert many == ["index", "cccccccc.yaml", "index", "cccccccc.yaml", "bbbbbbbb.yaml", "aaaaaaaa.yaml", "index"]
    assert read == []


def of_branch(layout: Layout, *names: str | None) -> list[Row]:
    return listing(layout, LATER, ListRequest(branches=frozenset(names))).rows


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("handle", HANDLES)
def test_of_many_a_write_is_seen_at_once(layout: Layout, handle: str) -> None:  # faults D6
    Index(layout).update(handle, lambda old: old._replace(updated_at="2026-12-01T00:00:00.000Z"))
    assert handles(layout, newest=1) == [handle]
    os.unlink(layout.index_file(handle))
    assert handle not in handles(layout, newest=3)


@pytest.mark.usefixtures("many")
def test_of_many_what_a_person_edits_in_place_is_seen_where_it_is_shown(layout: Layout) -> None:  # faults D6
    for handle in ("aaaaaaaa", "cccccccc"):
        with open(layout.index_file(handle), "a", encoding="utf-8") as file:
            file.write("a: [1\n")
    found = listing(layout, LATER, ListRequest(1))
    assert ([row.handle for row in found.rows], len(found.problems)) == (["bbbbbbbb"], 2)


def test_of_many_what_is_read_each_time_is_not_left_out(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:  # faults D6
    monkeypatch.setattr(cache, "_MANY", 2)
    os.unlink(layout.index_file("bbbbbbbb"))
    os.mkdir(layout.index_file("bbbbbbbb"))
    for _ in range(2):
        assert [problem.reason for problem in listing(layout, LATER, ListRequest(1)).problems] == ["Is a directory"]


@pytest.mark.usefixtures("many")
def test_of_many_a_folder_that_is_being_written_to_is_not_trusted(layout: Layout) -> None:  # faults D6
    """Two writes may fall into one tick of its clock."""
    now = os.stat(layout.index_dir).st_ctime_ns / 1e9 + 0.01
    Index(layout).update("aaaaaaaa", lambda old: old._replace(updated_at="2026-12-01T00:00:00.000Z"))
    assert handles(layout, now, newest=1) == ["aaaaaaaa"]
    assert Path(layout.cache_file).read_bytes().split(b" ")[3] == b"-"


def test_a_change_within_one_tick_of_the_clock_is_seen(layout: Layout) -> None:
    """Same size, same mtime: what a coarse clock does to two writes in a row."""
    path = layout.index_file("aaaaaaaa")
    moment = os.stat(path).st_mtime_ns
    now = moment / 1e9 + 0.01
    os.unlink(layout.cache_file)
    listing(layout, now)
    Path(path).write_text(records.render(record("aaaaaaaa", branch="feature/RETRY")))
    os.utime(path, ns=(moment, moment))
    assert {row.branch for row in listing(layout, now).rows if row.handle == "aaaaaaaa"} == {"feature/RETRY"}


def test_a_file_from_the_future_is_never_trusted(layout: Layout, read: list[str]) -> None:
    os.utime(layout.index_file("aaaaaaaa"), (LATER + 60, LATER + 60))
    handles(layout)
    handles(layout)
    assert read == ["aaaaaaaa.yaml"] * 2


def test_a_corrupt_record_is_named_each_time_and_hides_no_other(layout: Layout, read: list[str]) -> None:
    path = layout.index_file("bbbbbbbb")
    Path(path).write_text("a: [1\n")
    for _ in range(2):
        found = listing(layout, LATER)
        assert [row.handle for row in found.rows] == ["cccccccc", "aaaaaaaa"]
        assert [(problem.path, problem.line) for problem in found.problems] == [(path, 2)]
        assert found.problems[0].message.startswith(f"cannot read '{path}', line 2: expected")
    assert read == ["bbbbbbbb.yaml"]


def test_what_the_system_refuses_is_tried_again(layout: Layout, read: list[str]) -> None:
    os.unlink(layout.index_file("bbbbbbbb"))
    os.mkdir(layout.index_file("bbbbbbbb"))
    for _ in range(2):
        assert [problem.reason for problem in listing(layout, LATER).problems] == ["Is a directory"]
    assert len(read) == 2


def _cut(text: str) -> str:
    return text[: len(text) // 2]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda _: "", id="empty"),
        pytest.param(_cut, id="torn"),
        pytest.param(lambda text: text.replace("list 6", "list 9"), id="another version"),
        pytest.param(lambda text: text.replace("\nr", "\n\nr", 1), id="a line too many"),
        pytest.param(lambda text: text.replace("\tcccccccc.yaml", ""), id="a line without its stamp"),
        pytest.param(lambda text: text.replace("\tcodex", ""), id="a column short"),
        pytest.param(lambda text: text.replace("\t1\t", "\tone\t"), id="a count that is none"),
        pytest.param(lambda text: text.replace("end 3", "end 4"), id="a wrong sum"),
        pytest.param(lambda text: "\0" * len(text), id="zeros"),
    ],
)
def test_a_spoilt_cache_is_made_anew(layout: Layout, spoil: Callable[[str], str]) -> None:
    path = Path(layout.cache_file)
    whole = path.read_text()
    spoilt = spoil(whole)
    assert spoilt != whole
    path.write_text(spoilt)
    assert handles(layout) == ["cccccccc", "bbbbbbbb", "aaaaaaaa"]
    assert sorted(path.read_text().splitlines()) == sorted(whole.splitlines())


def test_a_cache_that_is_not_text_is_made_anew(layout: Layout) -> None:
    Path(layout.cache_file).write_bytes(b"\xff\xfe\x00")
    assert len(handles(layout)) == 3


def test_a_cache_that_cannot_be_written_is_done_without(layout: Layout) -> None:
    os.unlink(layout.cache_file)
    os.rmdir(os.path.dirname(layout.cache_file))
    Path(layout.cache_file).parent.write_text("in the way")
    assert len(handles(layout)) == 3


def test_before_the_first_run_there_is_nothing_and_nothing_is_made(tmp_path: Path) -> None:
    assert listing(Layout(str(tmp_path)), LATER) == ([], [])
    assert list(tmp_path.iterdir()) == []
