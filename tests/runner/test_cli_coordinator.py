"""Probe, strategy, build, launch, report: what is done for a session, and why, in each situation."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from git_agent_runner.engines import load
from support.cli import STAND_INS, Cli, ask


def asked(cli: Cli, capfd: pytest.CaptureFixture[str], *words: str) -> Any:
    """What `resume --dry-run --json` prints: the object, or its error."""
    assert cli.home.is_dir()
    capfd.readouterr()
    ask("resume", "--dry-run", "--json", *words, "go on")
    found = json.loads(capfd.readouterr().out)
    return found.get("error", found)


def test_by_id(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    begun = here.begin("claude")
    found = asked(here, capfd)
    assert (found["strategy"], found["fallbackCode"], found["fallbackReason"]) == ("resumeByID", None, None)
    assert found["argv"][-2:] == ["--resume", begun.session.value]
    assert found["cwd"] == str(here.repo.path)


@pytest.mark.parametrize(
    ("fallback", "strategy", "last"),
    [
        pytest.param("continue", "continueMostRecent", "--continue", id="continue"),
        pytest.param("fresh", "startFresh", None, id="fresh"),
        pytest.param("fail", None, None, id="fail"),
    ],
)
def test_an_id_that_is_gone_goes_on_as_preferred(
    here: Cli, capfd: pytest.CaptureFixture[str], fallback: str, strategy: str | None, last: str | None
) -> None:
    here.begin("claude")
    shutil.rmtree(here.home / ".claude/projects")
    shutil.rmtree(here.repo.path / ".git/agent/runs" / here.record().run_id / "session", ignore_errors=True)
    here.repo.git("config", "agent.fallback", fallback)
    found = asked(here, capfd)
    assert found.get("strategy") == strategy
    assert found.get("fallbackCode", found.get("code")) == "session_missing"
    assert last is None or last in found["argv"]


@pytest.mark.parametrize("fallback", ["fail", "continue"])
def test_a_directory_that_is_gone_is_never_replaced(
    here: Cli, capfd: pytest.CaptureFixture[str], fallback: str
) -> None:
    sub = here.repo.path / "sub"
    sub.mkdir()
    here.begin("claude", cwd=sub)
    sub.rmdir()
    found = asked(here, capfd, "--fallback", fallback)
    assert found["code"] == "directory_gone"
    assert str(sub) in found["message"]
    assert any("--cwd" in hint for hint in found["hints"])


def test_a_missing_program_and_where_it_is_instead(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    begun = here.begin("claude")
    here.repo.git("config", "agent.claude.binary", "/nowhere/claude")
    found = asked(here, capfd, "--fallback", "continue")
    assert found["code"] == "binary_missing"
    assert found["hints"][:2] == [
        f"install it: {load('claude').install}",
        "or set 'git config agent.claude.binary' to its absolute path",
    ]
    by_hand = f"cd {here.repo.path} && claude --resume {begun.session.value}"
    assert found["hints"][-1] == f"or open the session yourself: {by_hand}"
    here.repo.git("config", "agent.claude.binary", str(STAND_INS / "claude"))
    assert asked(here, capfd)["argv"][0] == str(STAND_INS / "claude")


def test_a_program_that_fails_is_quoted(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    begun = here.begin("claude")
    program = here.home / "claude"
    program.write_text("#!/bin/sh\necho 'node: no such module' >&2\nexit 1\n")
    program.chmod(0o755)
    here.repo.git("config", "agent.claude.binary", str(program))
    found = asked(here, capfd)
    assert (found["code"], found["hints"][0]) == ("probe_failed", "node: no such module")
    assert found["hints"][-1].endswith(f"claude --resume {begun.session.value}")


def bad_version(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """iflow 0.5.18, whose resume by id is known not to work."""
    cli.repo.git("config", "agent.engine", "iflow")
    cli.begin("iflow", cwd=None)
    shutil.rmtree(cli.home / ".cache/git-agent")
    monkeypatch.setenv("FAKE_VERSION", "0.5.18")


@pytest.mark.parametrize(
    ("fallback", "outcome"), [("continue", "continueMostRecent"), ("fresh", "startFresh"), ("fail", "version_bad")]
)
def test_a_version_that_is_known_to_be_bad(
    here: Cli,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fallback: str,
    outcome: str,
) -> None:
    bad_version(here, monkeypatch)
    found = asked(here, capfd, "--fallback", fallback)
    assert found.get("strategy", found.get("code")) == outcome
    assert found.get("fallbackCode", found.get("code")) == "version_bad"
    assert ("-c" in found.get("argv", ())) == (outcome == "continueMostRecent")


def test_unattended_it_switches_with_a_note(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad_version(here, monkeypatch)
    capfd.readouterr()
    assert ask("start", "--resume", "--json", "go on") == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert (found["strategy"], found["fallbackCode"]) == ("continueMostRecent", "version_bad")
    note = f"warning: NOT resumed: {found['fallbackReason']}; continuing iflow's newest session of that directory"
    assert err.splitlines()[0] == note


def test_a_version_too_old_for_the_flag(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here.begin("gemini")
    shutil.rmtree(here.home / ".cache/git-agent")
    monkeypatch.setenv("FAKE_VERSION", "0.8.2")
    assert asked(here, capfd)["code"] == "resume_unsupported"
    found = asked(here, capfd, "--fallback", "fresh")
    assert (found["strategy"], found["fallbackCode"]) == ("startFresh", "resume_unsupported")
    assert not any(word.startswith("--resume") for word in found["argv"])


def test_both_terminals_of_a_mac_run_the_same_command(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = here.begin("claude")
    program = here.home / "bin/osascript"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{STAND_INS}:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", "")  # a line to be typed has its length, and this one is the tests' own
    launched = []
    for terminal in ("terminal.app", "iTerm2"):
        here.repo.git("config", "agent.terminal", terminal)
        launched.append(asked(here, capfd, "--terminal")["launcher"])
    first, second = launched
    assert first[-1] == second[-1] != ""
    assert f"resume {begun.handle} -i" in first[-1]
    assert first[:-1] != second[:-1]
