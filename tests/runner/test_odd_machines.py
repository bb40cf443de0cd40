"""A locale that is not UTF-8, and a clock that no record can hold (faults C9, G9)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from git_agent_runner.maintain.doctor import examine
from support.cli import Cli, ask
from support.runs import leave

STRICT = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
HANDLE = "7f3a9c21"


@pytest.fixture
def accented(cli: Cli, tmp_path: Path) -> Cli:
    """A branch, a directory and a file with letters outside of ASCII."""
    place = tmp_path / "na\u00efve"
    cli.repo.path.rename(place)
    moved = cli._replace(repo=cli.repo._replace(path=place))
    moved.repo.switch_new("feature/na\u00efve")
    return moved


def test_a_strict_c_locale(accented: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git names is bytes, whatever the locale says; the engine sees the person's environment as it is."""
    for name, value in STRICT.items():
        monkeypatch.setenv(name, value)
    message = "na\u00efve \u2713"
    done = accented.run("start", "-e", "codex", message, FAKE_ENV="LC_ALL PYTHONUTF8")
    assert done.status == 0, done
    (call,) = accented.calls()
    assert call["stdin"] == message
    assert call["cwd"].encode("utf-8", "surrogateescape") == os.fsencode(accented.repo.path)
    assert call["env"]["PYTHONUTF8"] == "0"
    assert accented.record().branch == "feature/na\u00efve"
    for words in (["resume", "on"], ["list"], ["status"], ["log"], ["doctor"], ["resume", "--all", "-n"]):
        assert accented.run(*words).status in (0, 1), words
    assert accented.noted() == [accented.record().handle]


@pytest.mark.parametrize(("seconds", "year"), [(316_500_000_000.0, 11999), (253_402_297_200.0, 9999), (-1.0, 1969)])
def test_a_clock_that_no_record_can_hold(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, seconds: float, year: int
) -> None:
    monkeypatch.setattr(time, "time", lambda: seconds)
    for words in (["start", "-e", "codex", "x"], ["list"], ["doctor"]):
        assert ask(*words) == 128, words
        assert f"fatal: this machine's clock is in the year {year}" in capfd.readouterr().err
    assert here.calls() == []


def test_a_file_of_the_year_11999(here: Cli) -> None:
    record = leave(here.repo, HANDLE)
    folder = Path(here.layout.attempt(record.run_id, 1))
    folder.mkdir(parents=True)
    (folder / "stdout").write_text("x")
    seconds = (11999 - 1970) * 31556952
    os.utime(folder, (seconds, seconds))
    _, found = examine.examine()
    for one in found:
        if one.code == "attempt_unreadable" and one.repair:
            one.repair()
    assert here.attempt(1, HANDLE).started_at < "2999"
