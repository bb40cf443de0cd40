"""Exit statuses, what is on which stream, and that nothing foreseeable ends in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner import context
from support.cli import PROGRAM, Cli, ask

FULL = "fatal: cannot write to standard output: No space left on device\n"
NO_REPOSITORY = "fatal: not a git repository (or any of the parent directories): .git (in '/')\n"
GONE = "fatal: the current directory no longer exists\nhint: cd to one that does\n"
NO_GIT = "fatal: git was not found on PATH\nhint: install git 2.36 or newer, or put it on PATH\n"
RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings"
SECRET = "the secret plan of 1984"


@pytest.mark.parametrize(
    ("environ", "status", "verdict"),
    [
        pytest.param({}, 0, "completed", id="fine"),
        pytest.param({"FAKE_EXIT": "42"}, 42, "completed", id="the engine's own, though it completed"),
        pytest.param({"FAKE_ID": "none", "FAKE_EXIT": "7"}, 7, "failed", id="the engine's own"),
        pytest.param({"FAKE_ID": "none"}, 1, "no_output", id="0 and nothing printed"),
        pytest.param({"FAKE_CMD": "kill -9 $PPID"}, 137, "interrupted", id="killed by somebody"),
        pytest.param(
            {"FAKE_OUT": str(RECORDINGS / "codex/0.171.0/14a-ratelimit/stdout")},
            1,
            "rate_limited",
            id="0 that is not believed",
        ),
    ],
)
def test_exit_status(cli: Cli, environ: dict[str, str], status: int, verdict: str) -> None:
    done = cli.run("start", "-e", "codex", "x", stdin=None, cwd=None, **environ)
    assert (done.status, cli.record().status, cli.attempt().status) == (status, verdict, verdict)


@pytest.mark.parametrize(
    ("after", "status", "verdict"),
    [pytest.param("", 1, "timed_out", id="timed out"), pytest.param("stalled", 1, "stalled", id="silent before")],
)
def test_time_out(cli: Cli, after: str, status: int, verdict: str) -> None:
    if after:
        cli.repo.git("config", "agent.stallAfter", "1")
    done = cli.run("start", "-e", "codex", "--timeout", "4", "x", FAKE_CMD="exec sleep 600")
    assert (done.status, cli.record().status, cli.attempt().exit_status) == (status, verdict, -2)
    assert any("stalled: nothing printed" in line for line in done.lines) == bool(after)
    assert cli.record().session.value  # printed before


def test_complaints_are_on_stderr_only(cli: Cli) -> None:
    done = cli.run("resume", "x")
    assert (done.status, done.out) == (128, "")
    assert done.err.splitlines() == [
        "fatal: no run found for branch 'main'",
        'hint: start one: git agent start "<prompt>"; `git agent list` shows the runs of this repository',
    ]


def broken(*_: object, **__: object) -> None:
    """A bug whose texts hold what the person said."""
    try:
        Path(f"/nowhere/{SECRET}").read_text()
    except OSError as error:
        raise ValueError(SECRET) from error


def test_a_bug_of_ours(here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trace is kept, without what the person or the engine said."""
    with monkeypatch.context() as patch:
        patch.setattr(context, "load", broken)
        patch.setattr("tempfile.tempdir", str(here.home))
        assert ask("resume", SECRET) == 70
    fatal, hint = capfd.readouterr().err.splitlines()
    assert fatal == "fatal: a bug in git-agent: ValueError"
    path = Path(hint.removeprefix("hint: its trace was saved to ").removesuffix("; please report it"))
    lines = path.read_text().splitlines()
    assert [line for line in lines if SECRET in line] == []
    assert [line for line in lines if line and not line.startswith(" ")][3:] == [
        "FileNotFoundError: No such file or directory",
        "then:",
        "ValueError",
    ]
    assert lines[0] == "git-agent resume"
    assert any('test_cli_status.py", line' in line for line in lines)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_bug_that_cannot_be_kept(
    here: Cli, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(context, "load", broken)
        patch.setattr("tempfile.tempdir", "/nowhere")
        assert ask("list") == 70
    hint = "hint: its trace could not be saved: No such file or directory; please report what you did"
    assert capfd.readouterr().err.splitlines() == ["fatal: a bug in git-agent: ValueError", hint]


def shell(cli: Cli, line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A line of bash; `$agent` is the program."""
    return subprocess.run(
        ("bash", "-c", f"set -o pipefail; {line}"),
        cwd=cli.repo.path,
        env=cli.environ(agent=" ".join(PROGRAM), **environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "status", "err"),
    [
        pytest.param("$agent list | true", {0, 141}, "", id="the reader has gone"),
        pytest.param("$agent list >&-", {0}, "", id="stdout closed"),
        pytest.param("$agent list <&- >&- 2>&-", {0}, "", id="all closed"),
        pytest.param("$agent list >/dev/full", {128}, FULL, id="stdout full"),
        pytest.param("$agent list --json >/dev/full", {128}, FULL, id="JSON to a full disk"),
        pytest.param("PYTHONUNBUFFERED=1 $agent list >/dev/full", {128}, FULL, id="stdout full, unbuffered"),
        pytest.param("PYTHONUNBUFFERED=1 $agent list | true", {0, 141}, "", id="no reader, unbuffered"),
        pytest.param("env -u HOME -u XDG_CACHE_HOME $agent list --json | grep -q runs", {0}, "", id="no HOME"),
        pytest.param("mkdir gone && cd gone && rmdir ../gone && $agent list", {128}, GONE, id="the directory is gone"),
        pytest.param("cd / && $agent list", {128}, NO_REPOSITORY, id="no repository"),
        pytest.param("cd .git && $agent list", {128}, None, id="inside of .git"),
        pytest.param(
            "PATH=/nowhere; " + sys.executable + " -P -m git_agent_runner.cli list", {128}, NO_GIT, id="no git"
        ),
        pytest.param("LC_ALL=C PYTHONIOENCODING=ascii $agent -h", {0}, "", id="a terminal that knows only ASCII"),
    ],
)
def test_no_traceback(cli: Cli, line: str, status: set[int], err: str | None) -> None:
    done = shell(cli, line)
    assert done.returncode in status, done
    assert "Traceback" not in done.stderr
    assert err is None or done.stderr == err


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("$agent start -e codex x | true", id="the reader has gone"),
        pytest.param("$agent start -e codex x >/dev/full", id="stdout full"),
        pytest.param("$agent start -e codex x >/dev/full 2>&1", id="both full"),
        pytest.param("$agent start -e codex x >&-", id="stdout closed"),
    ],
)
def test_the_engine_works_on_without_a_reader(cli: Cli, line: str) -> None:
    shell(cli, line, FAKE_CMD="sleep 0.2")
    assert (cli.record().status, cli.record().session.value is None) == ("completed", False)


def test_a_full_disk_is_said_though_the_engine_works_on(cli: Cli) -> None:
    done = shell(cli, "$agent start -e codex x >/dev/full", FAKE_CMD="sleep 0.2")
    assert "warning: cannot write to standard output: No space left on device\n" in done.stderr


def test_git_finds_us(cli: Cli, tmp_path: Path) -> None:
    """`git agent` is git's own way to start a program of that name on PATH."""
    path = tmp_path / "git-agent"
    path.write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} "$@"\n')
    path.chmod(0o755)
    environ = cli.environ() | {"PATH": f"{tmp_path}{os.pathsep}{cli.environ()['PATH']}"}
    for words in (["agent", "-h"], ["agent", "resume", "-h"], ["agent", "list"]):
        done = subprocess.run(
            ("git", *words), cwd=cli.repo.path, env=environ, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "git agent" in done.stdout
