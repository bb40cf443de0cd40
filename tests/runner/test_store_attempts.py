"""Attempts: their directories, what is rebuilt from them, and whether a run lives."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from git_agent_extractors.model import NO_SESSION, Session
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.files.locks import locked
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.document import CorruptRecord
from git_agent_runner.store.records.index import Index
from support.stored import HANDLE, MOMENT, attempt, record, run_id

RUN = run_id()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(str(tmp_path))


def begin(layout: Layout, *made: Attempt) -> None:
    for one in made:
        attempts.begin(layout, one)


def attempt_file(layout: Layout, number: int) -> Path:
    return Path(layout.attempt(RUN, number)) / "attempt.yaml"


def test_what_is_begun_is_read_and_saved_again(layout: Layout) -> None:
    folder = attempts.begin(layout, attempt(ended_at=None, status=None))
    assert folder == layout.attempt(RUN, 1)
    full = attempt(
        message="line\u2028sep \x1b[31m\n- [ ] a: b # c",
        pid=4711,
        process_started=1764238502.25,
        exit_status=-9,
        error="killed",
        resumed="as_new",
        interactive=True,
        dirty=False,
        survivors=("12 node",),
        session_from="stdout",
        candidates=("ses_1", "ses_2"),
        head_before="1a" * 20,
    )
    attempts.save(layout, full)
    assert attempts.read(layout, RUN, 1) == full
    assert attempts.latest(layout, RUN) == full


def test_attempts_and_their_folders_are_private(layout: Layout) -> None:
    before = os.umask(0)
    try:
        attempts.new_run(layout, RUN)
        begin(layout, attempt())
    finally:
        os.umask(before)
    file = attempt_file(layout, 1)
    places = [file, *list(file.parents)[:4]]
    assert [stat.S_IMODE(place.stat().st_mode) for place in places] == [0o600, 0o700, 0o700, 0o700, 0o700]


def test_run_and_attempt_directories_are_made_once(layout: Layout) -> None:
    attempts.new_run(layout, RUN)
    begin(layout, attempt())
    with pytest.raises(FileExistsError):
        attempts.new_run(layout, RUN)
    with pytest.raises(FileExistsError):
        begin(layout, attempt(message="another"))
    assert attempts.read(layout, RUN, 1).message == "fix it"


def test_numbers_are_in_order_and_only_attempts(layout: Layout) -> None:
    begin(layout, *map(attempt, (10, 2, 1)))
    (Path(layout.run(RUN)) / "attempts" / "notes.txt").write_text("x")
    assert attempts.numbers(layout, RUN) == [1, 2, 10]
    assert attempts.numbers(layout, run_id("aaaaaaaa")) == []


def test_an_attempt_without_its_file_is_named(layout: Layout) -> None:
    os.makedirs(layout.attempt(RUN, 1))
    with pytest.raises(CorruptRecord) as caught:
        attempts.read(layout, RUN, 1)
    assert str(attempt_file(layout, 1)) in caught.value.message
    assert attempts.latest(layout, RUN) is None


def test_a_torn_attempt_does_not_hide_the_others(layout: Layout) -> None:
    begin(layout, attempt(1), attempt(2))
    text = attempt_file(layout, 2).read_text()
    attempt_file(layout, 2).write_text(text[: text.index("endedAt")])
    assert attempts.latest(layout, RUN) == attempt(1)


NEW, OLD = Session("thread_id", "new"), Session("thread_id", "old")


@pytest.mark.parametrize(
    ("made", "changes"),
    [
        pytest.param([attempt()], {}, id="one attempt is the record"),
        pytest.param(
            [attempt(session=OLD), attempt(2, session=NEW, ended_at="later", status="failed")],
            {"session": NEW, "attempts": 2, "updated_at": "later", "status": "failed"},
            id="the newest tells most",
        ),
        pytest.param(
            [attempt(session=OLD), attempt(2, session=NO_SESSION, status="network")],
            {"session": OLD, "attempts": 2, "status": "network"},
            id="an attempt without a session does not cost it",
        ),
        pytest.param(
            [attempt(session=OLD), attempt(2, session=NEW, parent_session="old"), attempt(3, session=NEW)],
            {"session": NEW, "attempts": 3, "parent_session": "old"},
            id="the session it was forked from",
        ),
        pytest.param(
            [attempt(ended_at=None, status=None, started_at="then")],
            {"updated_at": "then", "status": None},
            id="killed in its first attempt",
        ),
        pytest.param([attempt(session=NO_SESSION)], {"session": NO_SESSION}, id="no session at all"),
        pytest.param([attempt(branch=None, start_commit=None)], {"branch": None, "start_commit": None}, id="detached"),
    ],
)
def test_a_record_is_rebuilt_from_its_attempts(layout: Layout, made: list[Attempt], changes: dict[str, Any]) -> None:
    begin(layout, *made)
    assert attempts.rebuild(layout, RUN) == record(**changes)


def test_a_rebuilt_record_repairs_a_torn_one(layout: Layout) -> None:
    index = Index(layout)
    begin(layout, attempt())
    index.create(record())
    Path(layout.index_file(HANDLE)).write_text('handle: "7f3a')
    index.repair(attempts.rebuild(layout, RUN))
    assert index.read(HANDLE) == record()


def test_a_run_of_which_nothing_is_left_cannot_be_rebuilt(layout: Layout) -> None:
    attempts.new_run(layout, RUN)
    with pytest.raises(UserError) as caught:
        attempts.rebuild(layout, RUN)
    assert (caught.value.code, layout.run(RUN) in caught.value.message) == ("not_rebuildable", True)


def started(pid: int) -> float:
    return psutil.Process(pid).create_time()


ME = os.getpid()


@pytest.mark.parametrize(
    ("made", "state"),
    [
        pytest.param([], "finished", id="no attempt"),
        pytest.param([attempt()], "finished", id="ended"),
        pytest.param([attempt(ended_at=None)], "dead", id="never had a process"),
        pytest.param([attempt(ended_at=None, pid=ME, process_started=started(ME))], "running", id="engine lives"),
        pytest.param([attempt(ended_at=None, pid=ME, process_started=started(ME) - 60)], "dead", id="pid used again"),
        pytest.param([attempt(ended_at=None), attempt(2)], "finished", id="only the latest counts"),
        pytest.param([attempt(), attempt(2, ended_at=None)], "dead", id="killed while resumed"),
    ],
)
def test_the_state_of_a_run_that_nobody_holds(layout: Layout, made: list[Attempt], state: str) -> None:
    begin(layout, *made)
    assert attempts.state(layout, HANDLE, RUN) == state


def test_a_run_whose_lock_is_held_is_running(layout: Layout) -> None:
    begin(layout, attempt(ended_at=MOMENT))
    with locked(layout.run_lock(HANDLE)):
        assert attempts.state(layout, HANDLE, RUN) == "running"
    assert attempts.state(layout, HANDLE, RUN) == "finished"


def test_a_process_that_ended_but_was_not_waited_for_is_dead(layout: Layout) -> None:
    with subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE) as process:
        begin(layout, attempt(ended_at=None, pid=process.pid, process_started=started(process.pid)))
        assert attempts.state(layout, HANDLE, RUN) == "running"
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert attempts.state(layout, HANDLE, RUN) == "dead"


def test_what_a_launcher_leaves_at_work_keeps_the_run_running(layout: Layout) -> None:
    """codex, gemini and opencode before 1.18 are a launcher and a child; killing the first leaves the second."""
    words = ("sh", "-c", "sleep 600 & echo $!; exec sleep 600")
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as launcher:
        assert launcher.stdout
        child = psutil.Process(int(launcher.stdout.readline()))
        begin(layout, attempt(ended_at=None, pid=launcher.pid, process_started=started(launcher.pid)))
        launcher.kill()
        launcher.wait()
        assert attempts.state(layout, HANDLE, RUN) == "running"
        child.kill()
        child.wait()
        assert attempts.state(layout, HANDLE, RUN) == "dead"
