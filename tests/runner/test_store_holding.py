"""A session has one writer, whatever its run; who it is can be read; a writer that died holds nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.store import session_locks
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.files.liveness import boot_id, lives
from git_agent_runner.store.files.locks import Lock, locked
from git_agent_runner.store.records import attempts
from git_agent_runner.store.session_locks import Holder, Seat
from support.stored import HANDLE, MOMENT, attempt, record, run_id
from support.waiting import until

OTHER = "0badcafe"
SESSION = "0199c9a8-81c0-7800-8aa1-7ffac1586f13"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "home").mkdir()
    return Layout(str(tmp_path / "repo"))


@pytest.fixture
def engine() -> Iterator[psutil.Process]:
    """A process that leads a session of its own, as engines do; it carries no mark of a run."""
    with subprocess.Popen(("sleep", "600"), start_new_session=True) as process:
        yield psutil.Process(process.pid)
        process.kill()


def holder(layout: Layout, handle: str = HANDLE) -> Holder:
    return session_locks.ourselves(layout, record(handle), MOMENT)


def seat(layout: Layout, handle: str = HANDLE, session: str = SESSION, engine: str = "codex", **where: str) -> Seat:
    """As a run of that repository, whose person's HOME is beside it, sees the session."""
    environ = {"HOME": f"{os.path.dirname(layout.common_dir)}/home", **where}
    path = session_locks.session_lock(layout, environ, (engine, f"{environ['HOME']}/.codex"), session)
    return Seat(path, session, handle, '"<message>"', layout.common_dir)


def take(layout: Layout, handle: str = HANDLE, **what: str) -> Lock:
    return session_locks.hold_session(seat(layout, handle, **what), holder(layout, handle))


def test_a_second_writer_is_refused_and_told_who_the_first_is(layout: Layout) -> None:
    with take(layout):
        for refuse in (lambda: take(layout, OTHER), lambda: session_locks.refuse_held(seat(layout, OTHER))):
            with pytest.raises(UserError) as caught:
                refuse()
            assert caught.value.code == "session_held"
            assert caught.value.message == (
                f"run {HANDLE} (git-agent is process {os.getpid()}, in /home/dev/repo, since {MOMENT})"
                f" is using session {SESSION}"
            )
            assert caught.value.hints[0] == f'wait for it: git agent resume {OTHER} --wait "<message>"'
    session_locks.refuse_held(seat(layout, OTHER))
    with take(layout, OTHER):
        assert session_locks.signed(seat(layout).path) == holder(layout, OTHER)


@pytest.mark.parametrize("handle", [HANDLE, OTHER], ids=["a copy", "a clone"])
def test_another_repository_is_a_second_writer_too(layout: Layout, tmp_path: Path, handle: str) -> None:
    """faults A8: the session lies in the person's store, whatever repository it is resumed from."""
    other = Layout(str(tmp_path / "other"))
    with take(layout):
        for refuse in (lambda: take(other, handle), lambda: session_locks.refuse_held(seat(other, handle))):
            with pytest.raises(UserError, match=f"run {HANDLE} .* is using session") as caught:
                refuse()
            assert caught.value.code == "session_held"
    take(other, handle).release()


def test_another_store_holds_another_session(layout: Layout) -> None:
    with take(layout):
        path = session_locks.session_lock(
            layout, {"HOME": str(Path(layout.common_dir).parent / "home")}, ("codex", "/b"), SESSION
        )
        assert path != seat(layout).path


def test_the_lock_is_the_person_s_alone(layout: Layout) -> None:
    with take(layout):
        folder = os.path.dirname(seat(layout).path)
        assert folder.endswith("/home/.local/state/git-agent/sessions")
        assert (os.stat(folder).st_mode & 0o777, os.stat(seat(layout).path).st_mode & 0o777) == (0o700, 0o600)


def test_without_a_state_directory_the_lock_lies_in_the_repository(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = seat(layout, XDG_STATE_HOME=str(tmp_path / "file")).path
    assert os.path.dirname(path) == f"{layout.root}/locks"


def test_sessions_and_engines_do_not_stand_in_each_others_way(layout: Layout) -> None:
    with take(layout):
        for engine, session in (("codex", "another"), ("claude", SESSION)):
            with take(layout, OTHER, engine=engine, session=session):
                path = seat(layout, engine=engine, session=session).path
                assert session_locks.signed(path) == holder(layout, OTHER)
    assert session_locks.signed(seat(layout).path) == holder(layout)


@pytest.mark.parametrize("session", ["../../etc/passwd", "a\0b", "x" * 5000, "\udcff", "-rf /", ""])
def test_no_session_value_leads_out_of_the_folder(layout: Layout, session: str) -> None:
    with take(layout, session=session):
        (name,) = os.listdir(os.path.dirname(seat(layout).path))
    assert name.startswith("session-")
    assert len(name) == len("session-") + 32


def test_a_killed_writer_holds_nothing(layout: Layout) -> None:
    code = "\n".join(
        (
            "import time",
            "from git_agent_runner.store.session_locks import Holder, Seat, hold_session",
            f"me = Holder({OTHER!r}, '', 1, 0.0, '', '', '', '')",
            f"lock = hold_session(Seat(*{tuple(seat(layout))!r}), me)",
            "print('held', flush=True)",
            "time.sleep(600)",
        )
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen((sys.executable, "-c", code), stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match=f"run {OTHER} "):
            take(layout)
        process.kill()
    take(layout).release()


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"handle": "x"}', b"\xff", b"[" * 9000, b'{"pid": "x"}', b"null"], ids=repr
)
def test_a_lock_that_is_signed_by_nobody_is_still_held(layout: Layout, text: bytes) -> None:
    path = seat(layout).path
    with locked(path):
        Path(path).write_bytes(text)
        with pytest.raises(UserError, match=r"^another git-agent is using session "):
            take(layout)
    session_locks.refuse_held(seat(layout, OTHER))


def left_behind(layout: Layout, engine: psutil.Process, **changes: Any) -> None:
    """A git-agent held the session and was killed; its attempt was never settled."""
    facts = {"pid": engine.pid, "process_started": engine.create_time(), "ended_at": None, "boot_id": boot_id()}
    attempts.new_run(layout, run_id())
    attempts.begin(layout, attempt(**{**facts, **changes}))
    take(layout).release()


def test_an_engine_that_outlived_its_git_agent_still_writes(layout: Layout, engine: psutil.Process) -> None:
    left_behind(layout, engine)
    with pytest.raises(UserError) as caught:
        take(layout, OTHER)
    assert caught.value.message == (
        f"run {HANDLE} (codex is process {engine.pid}; the git-agent that started it is gone)"
        f" is using session {SESSION}"
    )
    session_locks.refuse_held(seat(layout))  # its own state tells of its own engine
    engine.kill()
    engine.wait()
    take(layout, OTHER).release()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"ended_at": MOMENT}, id="settled"),
        pytest.param({"boot_id": "6f1a2b3c-0000-4000-8000-000000000000"}, id="before the machine was booted"),
        pytest.param({"process_started": 1764238502.25}, id="pid used again"),
        pytest.param({"pid": None}, id="never started"),
    ],
)
def test_what_only_looks_like_an_engine_holds_nothing(
    layout: Layout, engine: psutil.Process, changes: dict[str, object]
) -> None:
    left_behind(layout, engine, **changes)
    with take(layout, OTHER):
        assert session_locks.signed(seat(layout).path) == holder(layout, OTHER)


def test_a_clock_that_was_set_does_not_bury_an_engine() -> None:
    """Start times are computed from the clock; the mark in its environment says whose it is."""
    env = {**os.environ, "GIT_AGENT_HANDLE": HANDLE}
    with subprocess.Popen(("sleep", "600"), start_new_session=True, env=env) as process:
        # The kernel shows a new program's environment a moment after it has let its parent go on.
        until(lambda: psutil.Process(process.pid).environ().get("GIT_AGENT_HANDLE"), "it has its environment")
        then = psutil.Process(process.pid).create_time() + 3600
        mine = attempt(ended_at=None, pid=process.pid, process_started=then, boot_id=boot_id())
        assert lives(mine)
        assert not lives(mine._replace(run_id=run_id(OTHER)))
        process.kill()


@pytest.mark.parametrize("pid", ["-1", "0", "1e999", "true", '"1"', "NaN"])
def test_a_number_that_no_process_has_signs_nothing(layout: Layout, pid: str) -> None:
    path = seat(layout).path
    with locked(path):
        with open(path, "w") as file:
            file.write(json.dumps(holder(layout)._asdict()).replace(f'"pid": {os.getpid()}', f'"pid": {pid}'))
        assert session_locks.signed(path) is None
        with pytest.raises(UserError, match="another git-agent is using session"):
            session_locks.refuse_held(seat(layout, OTHER))
