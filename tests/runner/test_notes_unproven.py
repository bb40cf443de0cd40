"""Notes that name a session of which nothing proves that it is here and of this repository (faults C1)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_runner.engines import load
from support import added
from support.cli import Cli, ask
from support.engines import stores
from support.engines.stand_in import IDS
from support.gitrepo import make
from support.noted import line, noted

HANDLE = "0012e345"
MINE = added.HEAD + added.FORMS  # a profile that says nothing of a store
Save = Callable[[str, str], None]


@pytest.fixture
def elsewhere(here: Cli, tmp_path: Path) -> Path:
    """Another project of the person's."""
    folder = tmp_path / "another project"
    folder.mkdir()
    return folder


def leave_note(cli: Cli, engine: str, session: str) -> None:
    own = {
        "agentName": engine,
        "runId": f"20261127T101502Z-{engine}-{HANDLE}",
        "session": {"field": load(engine).field, "value": session},
        "launch": {"args": []},
    }
    noted(cli.repo, line(HANDLE, **own) + "\n")


def refused(cli: Cli, capfd: pytest.CaptureFixture[str]) -> str:
    """No command follows the note, and nothing is written; the reasons."""
    before, calls = cli.state(), len(cli.calls())
    told = ""
    for words in (["adopt", HANDLE], ["adopt", HANDLE, "--cwd", "."], ["resume", HANDLE, "x"], ["resume", "x"]):
        assert ask(*words) == 128, words
        told += capfd.readouterr().err
    assert (cli.state(), len(cli.calls())) == (before, calls)
    return told


def save_short(engine: str, session: str) -> None:
    stores.save(engine, session, "secret plans")


def save_beyond_the_head(engine: str, session: str) -> None:
    """A session whose first line alone is larger than what is read of a file."""
    stores.save(engine, session, "x" * (5 << 20))


@pytest.mark.parametrize("save", [save_short, save_beyond_the_head], ids=["short", "first turn beyond 4 MiB"])
@pytest.mark.parametrize("engine", sorted(IDS))
def test_another_projects_session_is_not_carried_here(
    here: Cli,
    elsewhere: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    save: Save,
) -> None:
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("PWD", str(elsewhere))
    save(engine, IDS[engine])
    monkeypatch.chdir(here.repo.path)
    here.repo.git("config", "agent.engine", engine)
    leave_note(here, engine, IDS[engine])
    refused(here, capfd)


def test_folders_that_engines_write_alike_are_not_one_directory(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To claude and qwen `/a b` and `/a-b` are one folder: the session's own lines say whose it is."""
    other = here.repo.path
    here.repo.path.rename(here.repo.path.parent / "shop a")
    (other.parent / "shop-a").mkdir()
    for engine in ("qwen", "claude"):
        monkeypatch.chdir(other.parent / "shop-a")
        stores.save(engine, IDS[engine], "secret plans")
        monkeypatch.chdir(other.parent / "shop a")
        moved = here._replace(repo=here.repo._replace(path=other.parent / "shop a"))
        leave_note(moved, engine, IDS[engine])
        assert f"belongs to '{other.parent}/shop-a'" in refused(moved, capfd)


@pytest.mark.parametrize("engine", sorted(IDS))
def test_a_session_of_a_repository_inside_this_one_is_another_projects(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    inner = make(here.repo.path / "vendor" / "library")
    monkeypatch.chdir(inner.path)
    monkeypatch.setenv("PWD", str(inner.path))
    stores.save(engine, IDS[engine], "secret plans")
    monkeypatch.chdir(here.repo.path)
    leave_note(here, engine, IDS[engine])
    refused(here, capfd)


@pytest.mark.parametrize("engine", ["iflow", "mine", "copilot"])
def test_a_store_that_proves_nothing(here: Cli, capfd: pytest.CaptureFixture[str], engine: str) -> None:
    """iflow without its folder, an engine of one's own without a store, copilot, which names no directory."""
    session = IDS.get(engine, added.SESSION)
    if engine == "mine":
        added.add(here.home, MINE)
        here.repo.git("config", "agent.mine.binary", str(added.program(here.home)))
    if engine == "copilot":
        stores.save(engine, session, "x")
    leave_note(here, engine, session)
    assert f"hint: if you trust who wrote it: git agent adopt {HANDLE} --trust" in refused(here, capfd)
    assert ask("adopt", HANDLE, "--trust") == 0
    assert here.record(HANDLE).session.value == session


def test_a_session_file_that_names_no_directory(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    added.add(here.home)
    here.repo.git("config", "agent.mine.binary", str(added.program(here.home)))
    store = here.home / ".mine"
    store.mkdir()
    (store / f"{added.SESSION}.jsonl").write_text(json.dumps({"session": added.SESSION}) + "\n")
    leave_note(here, "mine", added.SESSION)
    assert "does not show which directory" in refused(here, capfd)


def test_an_engine_that_the_person_never_used(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    """One that is merely installed is not chosen by whoever can push; then the session lacks proof."""
    leave_note(here, "iflow", IDS["iflow"])
    assert "you have neither used iflow in this repository nor configured it" in refused(here, capfd)
    here.repo.git("config", "agent.engine", "iflow")
    assert "iflow's store does not show that it has session" in refused(here, capfd)


@pytest.mark.parametrize("engine", sorted(set(IDS) - {"copilot"}))
def test_a_session_of_this_repository_is_taken_up(here: Cli, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setenv("PWD", str(here.repo.path))
    stores.save(engine, IDS[engine], "x")
    leave_note(here, engine, IDS[engine])
    assert ask("adopt", HANDLE) == 0
    assert here.record(HANDLE).cwd == os.getcwd()
