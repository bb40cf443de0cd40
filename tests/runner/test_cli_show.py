"""list, show, status, engines, init and doctor: what they say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from git_agent_runner.store import notes
from support.cli import Cli
from support.runs import leave


def test_list_is_newest_first(cli: Cli) -> None:
    assert cli.ok("list").out == 'no runs yet: git agent start "<prompt>"\n'
    first = cli.begin("codex", FAKE_ID="new")
    second = cli.begin("claude")
    cli.ok("resume", first.handle, "again")
    head = cli.repo.head()[:7]
    lines = [re.sub(r"\d+ s ago", "N s ago", line).split("  ") for line in cli.ok("list").out.splitlines()]
    assert [[cell.strip() for cell in line if cell.strip()] for line in lines] == [
        ["HANDLE", "ENGINE", "BRANCH", "STATUS", "WHEN", "COMMIT", "SESSION"],
        [first.handle, "codex", "main", "completed", "N s ago", head, first.session.value],
        [second.handle, "claude", "main", "completed", "N s ago", head, second.session.value],
    ]


def test_list_shows_fifty_unless_all(cli: Cli) -> None:
    for number in range(52):
        leave(cli.repo, f"{number:08x}", "record", updated_at=f"2026-11-27T10:15:02.{number:03d}Z")
    shown = [line.split()[0] for line in cli.ok("list").out.splitlines()[1:]]
    assert (shown[0], shown[-1], len(shown)) == ("00000033", "00000002", 50)
    assert len(cli.ok("list", "--all").out.splitlines()) == 53


def test_a_commit_that_is_gone(cli: Cli) -> None:
    """Case B14: squashed away and collected; the run is listed, and says so."""
    leave(cli.repo, "7f3a9c21", "record", start_commit="1234567" + "0" * 33)
    assert "  commit missing  " in cli.ok("list").out
    assert cli.ok("list", "--json").json["runs"][0]["commitMissing"] is True
    assert "branch    main from 1234567, commit missing" in cli.ok("show", "7f3a9c21").out


def test_show(cli: Cli) -> None:
    begun = cli.begin("claude", "--", "--model", "a b")
    cli.run("resume", "go\non", FAKE_UNKNOWN="new")
    out = cli.ok("show", begun.handle[:4]).out
    assert [line.split("  ")[0] for line in out.splitlines() if line.strip()][:7] == [
        "handle",
        "branch",
        "cwd",
        "run",
        "status",
        "flags",
        "resume",
    ]
    new = cli.attempt(2).reported_session
    for line in (
        f"handle    {begun.handle}   claude 2.1.332 · session_id {begun.session.value}",
        f"branch    main from {cli.repo.head()[:7]} c2",
        "flags     --model 'a b'",
        'resume    git agent resume "<message>"',
        "attempt 1  start, completed, exit 0",
        "attempt 2  resume, completed, exit 0, resumed: as_new",
        "  message   go\\non",
        "  said      ok",
        f"  reported  {new}",
    ):
        assert f"{line}\n" in out


@pytest.mark.parametrize(
    ("config", "want"),
    [
        pytest.param({}, 'git agent resume "<message>"', id="yes"),
        pytest.param(
            {"agent.codex.binary": "/nowhere"}, "no: '/nowhere' is not a program that can be run", id="no program"
        ),
    ],
)
def test_status_tells_whether_it_can_be_resumed(cli: Cli, config: dict[str, str], want: str) -> None:
    cli.begin()
    for key, value in config.items():
        cli.repo.git("config", key, value)
    done = cli.ok("status")
    assert done.out.splitlines()[-1] == f"resume    {want}"
    assert cli.ok("status", "--json").json["resumable"] == (not config)
    assert len(cli.calls()) == 1


def test_engines(cli: Cli) -> None:
    """Also where there is no repository."""
    (cli.home / "gemini").write_text("#!/bin/sh\nexit 3\n")
    (cli.home / "gemini").chmod(0o755)
    path = f"{cli.home}:{cli.environ()['PATH']}"
    rows = [re.split(r"  +", line) for line in cli.ok("engines", cwd=Path("/"), PATH=path).out.splitlines()]
    assert [row[:4] for row in rows] == [
        ["ENGINE", "VERSION", "RESUME BY ID", "TERMINAL"],
        ["codex", "0.171.0", "yes", "verified"],
        ["claude", "2.1.332", "yes", "verified"],
        ["gemini", "-", "-", "verified"],
        ["opencode", "1.18.33", "yes", "verified"],
        ["iflow", "0.5.19", "yes", "not verified"],
        ["qwen", "0.24.4", "yes", "verified"],
        ["copilot", "1.0.102", "yes", "verified"],
    ]
    assert rows[3][4] == f"{cli.home}/gemini --version failed with 3"


@pytest.mark.parametrize(
    ("engine", "version", "want"),
    [
        pytest.param("codex", "0.35.0", "no", id="too old"),
        pytest.param("iflow", "0.5.18", "no: '-r ID -p MESSAGE' opens the terminal form", id="known bad"),
    ],
)
def test_engines_that_cannot_resume(cli: Cli, engine: str, version: str, want: str) -> None:
    (row,) = [r for r in cli.ok("engines", "--json", FAKE_VERSION=version).json["engines"] if r["engine"] == engine]
    assert row["resume"].startswith(want)


def test_init(cli: Cli) -> None:
    cli.repo.git("config", "notes.rewriteRef", "refs/notes/mine")
    *lines, warned, shown = cli.ok("init", "--show-notes").out.splitlines()
    assert (lines, shown) == (["notes now follow amend and rebase"], "git log now shows the notes")
    assert "git warns on amend that refs/notes/agent is invalid" in warned
    amend = ("git", "-C", str(cli.repo.path), "commit", "--amend", "--no-edit")
    assert (
        "notes ref refs/notes/agent is invalid"
        in subprocess.run(amend, check=True, capture_output=True, text=True).stderr
    )
    cli.ok("start", "-e", "codex", "x")
    assert cli.ok("init", "--show-notes").out == (
        "notes already follow amend and rebase\ngit log already shows the notes\n"
    )
    assert cli.repo.git("config", "--get-all", "notes.rewriteRef") == "refs/notes/mine\nrefs/notes/agent"


def test_the_first_start_says_that_notes_follow(cli: Cli) -> None:
    said = "git-agent: set up git to keep agent notes through amend and rebase (shown once)"
    assert said in cli.ok("start", "-e", "codex", "x").lines
    assert said not in cli.ok("start", "-e", "codex", "x").lines
    assert notes.REF in cli.repo.git("config", "--get-all", "notes.rewriteRef")


@pytest.mark.parametrize(
    ("harm", "problem", "fix"),
    [
        pytest.param(
            ["config", "branch.it's.agentHandle", "7f3a9c21"],
            "branch 'it's' points at run 7f3a9c21, which has no record",
            "git config --unset 'branch.it'\"'\"'s.agentHandle' 7f3a9c21",
            id="pointer",
        ),
        pytest.param(
            ["config", "--unset-all", "notes.rewriteRef"],
            "notes are lost when a commit is amended or rebased",
            "git agent init",
            id="notes are not carried",
        ),
    ],
)
def test_doctor(cli: Cli, harm: list[str], problem: str, fix: str) -> None:
    cli.begin()
    assert cli.ok("doctor").out == "nothing is wrong\n"
    cli.repo.git(*harm)
    done = cli.run("doctor")
    assert (done.status, done.out) == (1, f"problem: {problem}\n    fix: {fix}\n")


def test_doctor_names_a_note_that_cannot_be_read(cli: Cli) -> None:
    cli.begin()
    cli.repo.git("notes", "--ref=agent", "add", "-f", "-m", "- {not json\x1b[2J", "HEAD")
    done = cli.run("doctor", "--json")
    assert [problem["code"] for problem in done.json["problems"]] == ["note_malformed", "note_missing"]
    assert "\x1b" not in cli.run("doctor").out


def test_extract_reads_anyones_transcript(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "its output"
    path.write_text('{"type":"thread.started","thread_id":"01a21f23-5ab8-7ef1-9437-807dbdda8fbf"}\n')
    done = cli.ok("extract", "codex", str(path), cwd=Path("/"))
    assert done.out.splitlines()[:3] == [
        f"file      {path}",
        "session   thread_id 01a21f23-5ab8-7ef1-9437-807dbdda8fbf",
        "status    interrupted",
    ]
    assert cli.run("extract", "codex", str(tmp_path)).lines == [f"fatal: cannot read '{tmp_path}': Is a directory"]


def test_the_summary_offers_no_resume_where_flags_leave_no_session(cli: Cli) -> None:
    done = cli.ok("start", "-e", "codex", "x", "--", "--ephemeral")
    assert "\nresume    no: with --ephemeral codex saves no session\n" in done.err
