"""Files are replaced whole, private whatever the umask, and a failure leaves the old one and no litter."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask 000", "umask 022", "umask 077"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_directories_are_private(tmp_path: Path, umask: int) -> None:
    target = tmp_path / "a" / "b" / "file"
    atomic.make_dir(str(target.parent))
    atomic.write(str(target), b"x")
    assert (mode(tmp_path / "a"), mode(target.parent), mode(target)) == (0o700, 0o700, 0o600)


def test_a_file_that_was_open_to_all_becomes_private(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    target.chmod(0o666)
    atomic.write(str(target), b"new")
    assert (target.read_bytes(), mode(target)) == (b"new", 0o600)


def test_a_directory_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o750)
    atomic.make_dir(str(tmp_path / "a"))
    assert mode(tmp_path / "a") == 0o750


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    link = tmp_path / "file"
    link.symlink_to(elsewhere)
    atomic.write(str(link), b"ours")
    assert elsewhere.read_text() == "theirs"
    assert not link.is_symlink()


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        pytest.param(errno.ENOSPC, "the disk is full: free some space", id="disk full"),
        pytest.param(errno.EDQUOT, "your disk quota is used up: free some space", id="over quota"),
        pytest.param(errno.EROFS, "the file system is mounted read-only", id="read-only"),
    ],
)
def test_a_failed_write_names_the_file_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def refuse(fd: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(UserError) as caught:
        atomic.write(str(target), b"new")
    assert caught.value.message == f"cannot write '{target}': {os.strerror(number)}"
    assert (caught.value.code, caught.value.hints) == ("write_failed", (hint,))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_an_interrupted_write_leaves_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(fd: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic.write(str(tmp_path / "file"), b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_the_persons_problem_not_ours(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file or directory"):
        atomic.write(str(tmp_path / "gone" / "file"), b"x")


def test_a_new_directory_is_made_by_one_only(tmp_path: Path) -> None:
    atomic.make_new_dir(str(tmp_path / "run"))
    with pytest.raises(FileExistsError):
        atomic.make_new_dir(str(tmp_path / "run"))
