"""A message to a new window is in no command line that others see (faults C7)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from git_agent_runner.windows import handover
from support.cli import Cli, ask

SECRET = "the password is swordfish; -a 'q'"


@pytest.fixture
def terminal(here: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A terminal that opens nothing, and logs what it is asked for; it fails where there is a file `broken`."""
    folder = here.home / "bin"
    folder.mkdir()
    program = folder / "tmux"
    log = here.home / "asked"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >>{log}\n[ ! -e {here.home}/broken ]\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("TMUX", "x")
    return log


def messages(cli: Cli) -> list[Path]:
    folder = Path(cli.layout.root, "messages")
    return list(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("words", [["resume", "--terminal"], ["resume", "--terminal", "--fallback", "fresh"]])
def test_the_message_goes_by_a_file(here: Cli, terminal: Path, words: list[str]) -> None:
    here.begin("claude")
    if "fresh" in words:
        here.forget_copies()
        for path in Path(here.home, ".claude").rglob("*.jsonl"):
            path.unlink()
    assert ask(*words, f"--message={SECRET}") == 0
    asked = terminal.read_text()
    assert "swordfish" not in asked
    (path,) = messages(here)
    assert re.search(rf"--(message|prompt)-file={re.escape(str(path))}", asked)
    assert (path.read_text(), path.stat().st_mode & 0o777) == (SECRET, 0o600)
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("command", "option"), [("resume", "--message-file"), ("start", "--prompt-file")])
def test_it_is_deleted_once_it_is_read(here: Cli, terminal: Path, command: str, option: str) -> None:
    begun = here.begin("claude")
    assert ask("resume", "--terminal", f"--message={SECRET}") == 0
    (path,) = messages(here)
    words = [begun.handle] if command == "resume" else ["-e", "claude"]
    assert ask(command, *words, f"{option}={path}") == 0
    assert here.calls()[-1]["stdin"] == SECRET
    assert messages(here) == []


def test_a_persons_own_file_stays(here: Cli) -> None:
    here.begin("claude")
    own = here.home / "message"
    own.write_text("go on")
    assert ask("resume", f"--message-file={own}") == 0
    assert own.exists()


def test_nothing_is_left_where_no_window_opens(here: Cli, terminal: Path) -> None:
    here.begin("claude")
    (here.home / "broken").touch()
    assert ask("resume", "--terminal", f"--message={SECRET}") == 128
    assert terminal.exists()
    assert messages(here) == []


def test_what_a_closed_window_left_is_deleted_after_a_day(here: Cli) -> None:
    old, new = Path(handover.put(here.layout, "old")), Path(handover.put(here.layout, "new"))
    os.utime(old, (0, 0))
    handover.put(here.layout, "newest")
    assert not old.exists()
    assert new.exists()
