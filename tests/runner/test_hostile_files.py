"""Pipes, devices and huge files in the place of what we read: nothing waits, nothing takes all memory (faults C12)."""

from __future__ import annotations

import os
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from git_agent_extractors import ordinary
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery, parse_version
from support.cli import Cli, ask
from support.engines import stores
from support.engines.program import NEWEST
from support.engines.stand_in import IDS
from support.runs import leave
from support.waiting import PATIENCE

HANDLE, OTHER = "7f3a9c21", "aaaaaaaa"
RUN = f"runs/20261127T101502Z-codex-{HANDLE}"
OURS = (
    f"index/{OTHER}.yaml",
    "cache/list",
    "allowed-policies",
    f"{RUN}/policy.yaml",
    f"{RUN}/attempts/0001/attempt.yaml",
    f"{RUN}/attempts/0001/stdout",
    f"{RUN}/attempts/0001/stderr",
    f"{RUN}/attempts/0001/pty-output",
    f"{RUN}/session/session.yaml",
)
PERSONS = (
    ".config/git-agent/policies.toml",
    ".config/git-agent/engines/mine.yaml",
    ".cache/git-agent/probe-codex.json",
    ".claude/settings.json",
    ".gemini/settings.json",
    ".gemini/projects.json",
    ".qwen/settings.json",
)
COMMANDS = (
    "list",
    "status",
    f"show {HANDLE}",
    f"log {HANDLE} --no-pager",
    "doctor",
    "doctor --repair",
    f"resume {HANDLE} -n x",
    "resume --all -n",
    "watch --once",
    "hooks status",
    "hooks install",
    "prune --older-than 1d -n",
    "engines",
    "allow --none",
)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    """A terabyte that takes no place."""
    path.touch()
    os.truncate(path, 1 << 40)


def folder(path: Path) -> None:
    path.mkdir()


KINDS = (pipe, endless, huge, folder)
Put = Callable[[Path], None]


class Hangs(BaseException):
    """Nothing that a command could take for an error of its own, as it does with a TimeoutError of the system."""


@contextmanager
def limited() -> Iterator[None]:
    """Whatever waits longer is taken for a hang."""

    def late(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(int(PATIENCE))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def put(places: Iterator[Path], kind: Put) -> None:
    for path in places:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        kind(path)


@pytest.mark.parametrize("kind", KINDS)
def test_no_command_hangs(here: Cli, kind: Put) -> None:
    leave(here.repo, HANDLE)
    put((Path(here.layout.root, name) for name in OURS), kind)
    put((here.home / name for name in PERSONS), kind)
    put(iter([Path(here.layout.common_dir, "hooks/post-commit"), Path(here.layout.common_dir, "agent-sources")]), kind)
    for words in COMMANDS:
        with limited():
            assert ask(*words.split(" ")) in (0, 1, 128), words


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", sorted(IDS))
def test_no_store_hangs(here: Cli, engine: str, kind: Put) -> None:
    """Every file of an engine's store in turn becomes something else."""
    stores.save(engine, IDS[engine], "x")
    kept = [path for path in here.home.rglob("*") if path.is_file()]
    assert kept
    version = parse_version(NEWEST[engine]) or ()
    query = StoreQuery(os.environ, str(here.repo.path), version, IDS[engine])
    found = load(engine)
    for path in kept:
        path.rename(here.home / "aside")
        kind(path)
        with limited():
            located = found.locate(query)
            made = found.created_since(query)
            assert found.stored is None or found.stored(query, located) is not None
            with suppress(ValueError):
                assert found.export is None or not found.export(query)
        if path.suffix in (".jsonl", ".db"):
            assert (located.state, made) != ("present", (IDS[engine],))
        path.rmdir() if kind is folder else path.unlink()
        (here.home / "aside").rename(path)
    assert found.locate(query).state == "present"


@pytest.mark.parametrize("fill", [b"\0", b"x", b"- ", b"a: [", b'"'])
def test_a_large_record_takes_little_memory(here: Cli, capfd: pytest.CaptureFixture[str], fill: bytes) -> None:
    leave(here.repo, HANDLE)
    Path(here.layout.index_file(OTHER)).write_bytes(fill * ((16 << 20) // len(fill)))
    tracemalloc.start()
    try:
        assert ask("list") == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert f"{OTHER}.yaml" in capfd.readouterr().err
    assert peak < 100 << 20


def test_ordinary_files_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert (ordinary.head(path, 4), ordinary.whole(path, 10)) == (b"0123", b"0123456789")
    with pytest.raises(OSError, match="larger than"):
        ordinary.whole(path, 9)
    for kind in KINDS:
        other = tmp_path / kind.__name__
        kind(other)
        with limited(), pytest.raises(OSError):  # noqa: PT011  each has an errno of its own
            ordinary.whole(other, 1 << 20)
