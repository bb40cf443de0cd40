"""A setting that is not valid stops what acts, warns where a command only reads, and is found by doctor (faults F3).

An embedded git directory sets nothing (faults C10).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli, ask
from support.runs import leave

HANDLE = "7f3a9c21"
READS = ("list", "status", f"show {HANDLE}", f"log {HANDLE}", "engines")
WRONG = [
    ("[agent]\n\t# fallback = fine\n\tfallback = maybe\n", "agent.fallback", 3, "one of fail, continue"),
    ('[agent "codex"] args = \'open\n', "agent.codex.args", 1, "words quoted as in a shell"),
    (
        "[agent]\n\tengine = codex\n\tstallAfter = 5m \\\n  stallAfter\n\thints\n",
        "agent.stallAfter",
        3,
        "90s",
    ),
    ("[agent]\n\tstallAfter = 5m\n[core]\n\tx = y\n[AGENT]\n\tStallAfter = soon\n", "agent.stallAfter", 6, "90s"),
]


@pytest.mark.parametrize(("text", "key", "line", "expected"), WRONG, ids=["comment", "head", "continued", "second"])
def test_reading_goes_on_with_a_warning(
    here: Cli, capfd: pytest.CaptureFixture[str], text: str, key: str, line: int, expected: str
) -> None:
    leave(here.repo, HANDLE)
    config = here.repo.path / ".git/config"
    above = config.read_text()
    config.write_text(above + text)
    place = f"in '{config}', line {above.count(chr(10)) + line}; expected "
    for words in READS:
        assert ask(*words.split()) == 0, words
        warned = [one for one in capfd.readouterr().err.splitlines() if one.startswith("warning: ")]
        assert len(warned) == 1
        assert f"Invalid {key} {place}" in warned[0]
        assert expected in warned[0]
    assert ask("doctor") == 1
    assert f"problem: Invalid {key} {place}" in capfd.readouterr().out
    assert ask("resume", "-n", "x") == 128
    assert f"fatal: Invalid {key} in '{config}'; expected" in capfd.readouterr().err


def test_the_hint_leads_to_the_line(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    here.repo.git("config", "agent.fallback", "maybe")
    assert ask("resume", "x") == 128
    config = here.repo.path / ".git/config"
    number = config.read_text().split("\n").index("\tfallback = maybe") + 1
    assert f"hint: correct line {number}: git config --file {config} --edit" in capfd.readouterr().err


def test_doctor_names_a_tracked_setting(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    tracked = here.repo.path / ".gitconfig"
    here.repo.git("config", "--file", str(tracked), "agent.engine", "codex")
    here.repo.git("config", "include.path", "../.gitconfig")
    assert ask("doctor") == 1
    assert "problem: agent.engine comes from" in capfd.readouterr().out
    assert ask("list") == 128


@pytest.fixture
def embedded(here: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bare repository that is tracked as files, and whose configuration makes its folder a work tree."""
    place = here.repo.path / "vendor" / "x.git"
    here.repo.git("init", "-q", "--bare", str(place))
    here.repo.git("--git-dir", str(place), "config", "core.bare", "false")
    here.repo.git("--git-dir", str(place), "config", "core.worktree", "..")
    monkeypatch.chdir(place)
    return place


@pytest.mark.parametrize("key", ["agent.engine", "agent.codex.binary", "agent.codex.args", "agent.terminal"])
def test_an_embedded_repository_sets_nothing(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, embedded: Path, key: str
) -> None:
    here.repo.git("--git-dir", str(embedded), "config", key, "tmux")
    monkeypatch.setenv("GIT_DIR", str(embedded))
    for words in (["start", "-e", "codex", "x"], ["list"], ["engines"]):
        assert ask(*words) == 128, words
        assert f"{key} comes from '{embedded}/config', a file inside a work tree" in capfd.readouterr().err
    assert here.calls() == []


def test_nor_does_it_bring_runs(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, embedded: Path
) -> None:
    index = embedded / "agent" / "index"
    index.mkdir(parents=True)
    (index / f"{HANDLE}.yaml").write_text("launch: {args: [--yolo]}\n")
    here.repo.git("add", "-f", "vendor")
    monkeypatch.setenv("GIT_DIR", str(embedded))
    assert ask("list") == 128
    assert "is tracked by the repository in" in capfd.readouterr().err


@pytest.mark.parametrize("layout", ["nested clone", "bare with a .git file", "submodule"])
def test_git_directories_of_ones_own(here: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, layout: str) -> None:
    """None of these can be tracked by the repository around them."""
    if layout == "bare with a .git file":
        top = tmp_path / "project"
        here.repo.git("clone", "-q", "--bare", str(here.repo.path), str(top / ".bare"))
        (top / ".git").write_text("gitdir: ./.bare\n")
        here.repo.git("--git-dir", str(top / ".bare"), "worktree", "add", "-q", str(top / "main"), "main")
        place = top / "main"
    elif layout == "submodule":
        here.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(here.repo.path), "sub")
        place = here.repo.path / "sub"
    else:
        place = here.repo.clone(here.repo.path / "nested").path
    monkeypatch.chdir(place)
    here.repo.git("-C", str(place), "config", "agent.engine", "codex")
    assert ask("list") == 0
