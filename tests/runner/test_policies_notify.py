"""How a person is told that a run needs them: on the desktop, and by the policy's command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner import context
from git_agent_runner.unattended.policies import notify
from support.cli import Cli

SEEN = {"DISPLAY": ":0"}
HOSTILE = 'x" & (do shell script "id") & "\x1b[2J'


@pytest.mark.parametrize(
    ("environ", "platform", "program"),
    [
        pytest.param(SEEN, "linux", "notify-send", id="X"),
        pytest.param({"WAYLAND_DISPLAY": "wayland-0"}, "linux", "notify-send", id="Wayland"),
        pytest.param({"DISPLAY": ""}, "linux", None, id="no desktop"),
        pytest.param({}, "darwin", "osascript", id="a Mac"),
    ],
)
def test_which_program_shows_it(environ: dict[str, str], platform: str, program: str | None) -> None:
    words = notify.desktop(environ, platform, "title", "text")
    assert (words and words[0]) == program


@pytest.mark.parametrize(("environ", "platform"), [(SEEN, "linux"), ({}, "darwin")])
def test_values_are_arguments_of_their_own(environ: dict[str, str], platform: str) -> None:
    words = notify.desktop(environ, platform, "--title", HOSTILE)
    assert words
    assert words[-2:] == ("--title", HOSTILE)
    assert not any(HOSTILE in word for word in words[:-1])
    assert platform == "darwin" or words[-3] == "--"


def shower(folder: Path, log: Path, body: str = "") -> None:
    """A `notify-send` that keeps what it was told to show."""
    folder.mkdir(exist_ok=True)
    program = folder / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{log}"\n{body}\n')
    program.chmod(0o755)


def told(here: Cli, monkeypatch: pytest.MonkeyPatch, folder: Path, command: tuple[str, ...] = ()) -> None:
    begun = here.begin(FAKE_EXIT="3")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", f"{folder}:{here.environ()['PATH']}")
    notify.notify(context.load(), begun.handle, "rate_limited\x1b[2J", command)


def test_the_desktop_is_told(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shower(tmp_path / "bin", tmp_path / "log")
    told(here, monkeypatch, tmp_path / "bin")
    title, text = (tmp_path / "log").read_text().splitlines()[-2:]
    assert title == f"git agent: run {here.record().handle} needs you"
    assert text.startswith("main: rate_limited")
    assert "\x1b" not in text


def test_a_program_of_the_repository_tells_nobody(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shower(here.repo.path / "bin", tmp_path / "log")
    told(here, monkeypatch, here.repo.path / "bin")
    assert not (tmp_path / "log").exists()


def test_what_hangs_is_not_waited_for(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notify, "PATIENCE", 1.0)
    shower(tmp_path / "bin", tmp_path / "log", "exec sleep 600")
    told(here, monkeypatch, tmp_path / "bin", ("sleep", "60"))
    handle = here.record().handle
    assert capfd.readouterr().err == f"git-agent: the notification command 'sleep' for run {handle} ended with 124\n"


def test_a_watch_tells_the_desktop_too(cli: Cli, tmp_path: Path) -> None:
    cli.begin(FAKE_CMD="kill -9 $PPID")
    cli.repo.git("config", "agent.onDead", json.dumps("escalate"))
    shower(tmp_path / "bin", tmp_path / "log")
    path = f"{tmp_path / 'bin'}:{cli.environ()['PATH']}"
    assert cli.run("watch", PATH=path, DISPLAY=":0").status == 1
    assert "main: dead\n" in (tmp_path / "log").read_text()
