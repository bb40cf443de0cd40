"""Replacing a file that somebody writes to. Real files, and a typist that does not wait."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from git_agent_runner.review.fixing import swap
from git_agent_runner.review.fixing.swap import Busy, Content

OLD, NEW = b"1\nbad\n3\n", b"1\ngood\n3\n"


def content(data: bytes) -> Content:
    return Content(data, stat.S_IFREG | 0o640)


def put(tmp_path: Path, old: bytes | None, new: bytes | None) -> Content | None:
    (tmp_path / "spare").mkdir(exist_ok=True)
    given = (None if data is None else content(data) for data in (old, new))
    return swap.put(str(tmp_path / "f"), str(tmp_path / "spare"), *given)


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
