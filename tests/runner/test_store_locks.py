"""Locks between real processes."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.store.files.locks import is_locked, locked, try_lock

HOLD = """
import sys
sys.path[:0] = sys.argv[2:]
from git_agent_runner.store.files.locks import try_lock
lock = try_lock(sys.argv[1])
print("held" if lock else "refused", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: str) -> Iterator[subprocess.Popen[str]]:
    words = (sys.executable, "-c", HOLD, path, *sys.path)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "agent" / "locks" / "run-7f3a9c21")


def test_a_lock_held_elsewhere_is_seen_and_refused(path: str) -> None:
    with held_elsewhere(path):
        assert is_locked(path)
        assert try_lock(path) is None


def test_a_killed_holder_leaves_nothing_behind(path: str) -> None:
    with held_elsewhere(path) as process:
        process.kill()
        process.wait()
        assert not is_locked(path)
        with locked(path, wait=0):
            assert is_locked(path)


def test_no_lock_file_no_lock_and_none_is_made_by_asking(path: str) -> None:
    assert not is_locked(path)
    assert not os.path.exists(path)


def test_a_released_lock_is_free(path: str) -> None:
    lock = try_lock(path)
    assert lock
    assert try_lock(path) is None  # another open file of the same process does not share it
    lock.release()
    lock.release()  # twice does no harm
    assert not is_locked(path)


def test_waiting_is_told_once_and_ends_in_time(path: str) -> None:
    told: list[str] = []
    with (
        held_elsewhere(path),
        pytest.raises(UserError) as caught,
        locked(path, wait=0, on_wait=lambda: told.append("x")),
    ):
        pass
    assert told == ["x"]
    assert (caught.value.code, caught.value.message) == ("locked", f"another git-agent holds '{path}'")


def test_waiting_without_end_gets_the_lock_when_it_is_free(path: str) -> None:
    with held_elsewhere(path) as process, locked(path, on_wait=process.kill):
        assert is_locked(path)


def test_nothing_is_told_when_there_is_no_wait(path: str) -> None:
    told: list[str] = []
    with locked(path, on_wait=lambda: told.append("x")):
        assert told == []


def test_the_lock_ends_with_the_block_also_when_it_fails(path: str) -> None:
    with pytest.raises(KeyError), locked(path):
        raise KeyError
    assert not is_locked(path)


def test_a_lock_file_that_was_removed_is_not_the_lock(path: str) -> None:
    first = try_lock(path)
    assert first
    os.unlink(path)
    with locked(path, wait=0):
        assert is_locked(path)
        first.release()
        assert is_locked(path)


def test_a_lock_file_removed_between_open_and_lock_is_noticed(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flock = fcntl.flock
    removed: list[str] = []

    def remove_first(fd: int, how: int) -> None:
        if not removed:
            os.unlink(path)
            removed.append(path)
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with locked(path, wait=0):
        assert is_locked(path)
    assert removed


def test_two_who_ask_at_once_do_not_see_each_other(path: str) -> None:
    with locked(path):
        pass
    with open(path) as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert not is_locked(path)


def test_a_child_does_not_inherit_the_lock(path: str) -> None:
    words = (sys.executable, "-c", "print(flush=True); input()")
    with locked(path):
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
        assert child.stdout is not None
        child.stdout.readline()  # past its exec
    assert not is_locked(path)
    child.communicate(b"\n")


def test_the_lock_file_is_private_and_stays(path: str) -> None:
    before = os.umask(0)
    try:
        with locked(path):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_a_lock_that_cannot_be_opened_says_which(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(UserError) as caught:
        try_lock(str(tmp_path / "lock"))
    assert (caught.value.code, str(tmp_path / "lock") in caught.value.message) == ("lock_failed", True)


@pytest.mark.parametrize("what", ["link", "link to nothing", "pipe", "directory"])
def test_what_is_no_file_is_no_lock(path: str, tmp_path: Path, what: str) -> None:
    """An agent may put it there: a pipe would hang whoever opens it, a signature go into what a link leads to."""
    (tmp_path / "secret").write_text("SECRET")
    os.makedirs(os.path.dirname(path))
    if what.startswith("link"):
        os.symlink(tmp_path / ("secret" if what == "link" else "new"), path)
    else:
        (os.mkfifo if what == "pipe" else os.mkdir)(path)
    assert not is_locked(path)
    with pytest.raises(UserError) as caught:
        try_lock(path)
    assert (caught.value.code, caught.value.hints) == ("lock_failed", (f"rm -r {path}",))
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["agent", "secret"]
