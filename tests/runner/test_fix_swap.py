"""Replacing a file that somebody writes to. Real files, and a typist that does not wait."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_agent_runner.review.fixing import swap
from git_agent_runner.review.fixing.swap import Busy, Content

OLD, NEW = b"1\nbad\n3\n", b"1\ngood\n3\n"


def content(data: bytes) -> Content:
    return Content(data, stat.S_IFREG | 0o640)


def put(tmp_path: Path, old: bytes | None, new: bytes | None) -> Content | None:
    """By way of the file's own directory, as where the git directory is on another file system."""
    given = (None if data is None else content(data) for data in (old, new))
    return swap.put(str(tmp_path / "f"), str(tmp_path), *given)


@pytest.fixture(autouse=True)
def _nothing_else_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert set(os.listdir(tmp_path)) <= {"f"}


def test_a_file_is_replaced_created_and_removed(tmp_path: Path) -> None:
    assert put(tmp_path, None, OLD) == content(OLD)
    assert put(tmp_path, OLD, NEW) == content(NEW)
    file = tmp_path / "f"
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (NEW, 0o640)
    put(tmp_path, NEW, None)
    assert not file.exists()


@pytest.mark.parametrize("typed", [OLD + b"typed\n", b"typed\n" + OLD], ids=["end", "begin"])
def test_what_came_since_is_joined(tmp_path: Path, typed: bytes) -> None:
    """Faults of agents in hooks F3: it was read before that, and nothing of it is lost."""
    (tmp_path / "f").write_bytes(typed)
    put(tmp_path, OLD, NEW)
    assert (tmp_path / "f").read_bytes() == typed.replace(b"bad", b"good")


def test_what_does_not_go_together_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1\nworse\n3\n")
    for new in (NEW, None):
        with pytest.raises(Busy):
            put(tmp_path, OLD, new)
        assert (tmp_path / "f").read_bytes() == b"1\nworse\n3\n"
    with pytest.raises(Busy):
        put(tmp_path, None, NEW)
    assert (tmp_path / "f").read_bytes() == b"1\nworse\n3\n"


def test_a_file_that_a_program_writes_to_stays_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it writes after that would be in a file that is gone."""
    monkeypatch.setattr(swap, "PATIENCE", 0.1)
    (tmp_path / "f").write_bytes(OLD)
    with (tmp_path / "f").open("ab", buffering=0) as file:
        with pytest.raises(Busy):
            put(tmp_path, OLD, NEW)
        file.write(b"more\n")
    assert (tmp_path / "f").read_bytes() == OLD + b"more\n"


def test_a_typist_loses_no_line(tmp_path: Path) -> None:
    """Fault F3: somebody who adds lines all the time, while the file changes back and forth 30 times."""
    file, over = tmp_path / "f", threading.Event()
    typed: list[bytes] = []
    file.write_bytes(OLD)

    def type_on() -> None:
        while not over.wait(0.002):
            typed.append(f"line {len(typed)}\n".encode())
            with file.open("ab") as opened:
                opened.write(typed[-1])

    typist = threading.Thread(target=type_on)
    typist.start()
    try:
        done = 0
        while done < 30:
            data = file.read_bytes()
            old, new = (b"bad", b"good") if b"bad" in data else (b"good", b"bad")
            try:
                put(tmp_path, data, data.replace(old, new))
            except Busy:
                continue
            done += 1
    finally:
        over.set()
        typist.join()
    assert file.read_bytes() == b"1\nbad\n3\n" + b"".join(typed)


def test_a_file_that_cannot_be_restored_in_one_step_is_there_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes to it, and it has no name any more when it is to come back; or there are no hard links."""
    real = swap._exchange

    def once(one: str, other: str) -> None:
        monkeypatch.setattr(swap, "_exchange", gone)
        real(one, other)

    def gone(_one: str, other: str) -> None:
        os.unlink(other)
        raise FileNotFoundError

    def no_links(*_words: object, **_named: object) -> None:
        raise PermissionError

    monkeypatch.setattr(swap, "PATIENCE", 0.1)
    (tmp_path / "f").write_bytes(OLD)
    for way, new in (("_exchange", NEW), ("os.link", None)):
        with (tmp_path / "f").open("ab"), monkeypatch.context() as patched:
            patched.setattr(f"git_agent_runner.review.fixing.swap.{way}", once if new else no_links)
            with pytest.raises(Busy):
                put(tmp_path, OLD, new)
        assert (tmp_path / "f").read_bytes() == OLD
