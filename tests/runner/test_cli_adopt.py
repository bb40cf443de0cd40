"""`git agent adopt`, and `resume` of a run that only a note knows: whose session may become a run, and whose not."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.model import Session
from git_agent_runner.store import session_copies
from git_agent_runner.store.files.locks import locked
from support.cli import STAND_INS, Cli, ask
from support.engines.stand_in import IDS
from support.noted import line, noted

CODEX = IDS["codex"]
OTHER = "01a21f23-5ab8-7ef1-9437-00000000000b"
HANDLE = "0012e345"


def by_hand(cli: Cli, engine: str = "codex", session: str = "", cwd: Path | None = None) -> str:
    """A session that the person began without git-agent."""
    argv = {"codex": ["exec", "--json", "-"], "claude": ["-p"], "gemini": [], "opencode": ["run"]}[engine]
    subprocess.run(
        (STAND_INS / engine, *argv),
        cwd=cwd or cli.repo.path,
        env=cli.environ(FAKE_ID=session, PWD=str(cwd or cli.repo.path)),
        input=b"hello",
        capture_output=True,
        check=True,
    )
    return session or IDS[engine]


@pytest.mark.parametrize("engine", ["codex", "claude", "gemini", "opencode"])
def test_a_session_begun_by_hand_becomes_this_branchs_run(cli: Cli, engine: str) -> None:
    session = by_hand(cli, engine)
    done = cli.ok("adopt", engine, session)
    record = cli.record()
    assert (record.session.value, record.branch, record.cwd) == (session, "main", str(cli.repo.path))
    assert (cli.pointers(), cli.noted()) == ({"main": record.handle}, [record.handle])
    assert (cli.attempt().kind, cli.attempt().session_from, cli.attempt().argv) == ("adopt", "given", ())
    assert cli.ok("log", "--no-pager").out.splitlines()[-1].endswith("nothing was run")
    assert done.err.splitlines()[-1] == 'resume    git agent resume "<message>"'
    assert len(cli.calls()) == 1, "no engine was started"
    assert session_copies.read(cli.layout, record.run_id, session), "and its session is kept from now on"
    cli.ok("resume", "go on")
    assert (cli.record().session.value, cli.attempt(2).resumed) == (session, "yes")
    assert cli.run("doctor").out == "nothing is wrong\n"


def test_the_only_session_of_this_directory_is_taken(cli: Cli) -> None:
    cli.begin("codex", FAKE_ID=OTHER)
    session = by_hand(cli)
    cli.repo.git("config", "agent.engine", "codex")
    done = cli.ok("adopt", "--json")
    assert (done.json["session"]["value"], done.json["sessionFrom"]) == (session, "store")
    done = cli.run("adopt", "codex")
    assert (done.status, done.lines) == (
        128,
        [
            f"fatal: every codex session of '{cli.repo.path}' already belongs to a run",
            "hint: one of another directory by its id: git agent adopt codex SESSION",
        ],
    )


def test_several_sessions_are_named(cli: Cli) -> None:
    sessions = [by_hand(cli, session=session) for session in (CODEX, OTHER)]
    done = cli.run("adopt", "codex", "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "session_unknown")
    assert set(done.json["error"]["hints"]) == {"newest first:", *(f"git agent adopt codex {one}" for one in sessions)}
    assert cli.state() == cli.state() - {"runs"}


def test_flags_and_branch_are_kept(cli: Cli) -> None:
    cli.repo.git("branch", "feature")
    session = by_hand(cli)
    cli.ok("adopt", "codex", session, "--branch", "feature", "--", "-mgpt-5", "-s", "read-only")
    record = cli.record()
    assert (record.branch, record.launch_args) == ("feature", ("-m", "gpt-5", "-s", "read-only"))
    assert cli.pointers() == {"feature": record.handle}


def test_the_branchs_old_run_is_named(cli: Cli) -> None:
    before = cli.begin("codex", FAKE_ID=OTHER)
    done = cli.ok("adopt", "codex", by_hand(cli))
    (said,) = done.lines
    assert said.startswith(
        f"git-agent: branch 'main' used run {before.handle} until now; to continue that one: git agent resume"
    )


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        pytest.param(["codex", OTHER], 128, "cannot be adopted: codex has no such session", id="absent"),
        pytest.param(["codex", "--last"], 129, "unknown option '--last'", id="a flag"),
        pytest.param(["codex", "../../etc/passwd"], 128, "is not a session id of codex", id="a path"),
        pytest.param(["nope", CODEX], 128, "unknown engine 'nope'", id="engine"),
        pytest.param(["codex", CODEX, "x"], 129, "too many arguments", id="words"),
        pytest.param(["codex", CODEX, "--branch", "nope"], 128, "there is no branch 'nope'", id="branch"),
        pytest.param(["codex", CODEX, "--branch", "main~1"], 128, "there is no branch 'main~1'", id="revision"),
        pytest.param(["codex", CODEX, "--cwd", "/"], 128, "'/' is outside of this repository", id="outside"),
        pytest.param(["codex", CODEX, "--", "resume"], 129, "is not a flag of codex", id="no flag"),
        pytest.param(["codex", CODEX, "--trust"], 129, "--trust is only for a run known from a note", id="trust"),
        pytest.param([], 128, "no engine given", id="no engine"),
        pytest.param(["deadbeef"], 128, "no run has the handle 'deadbeef'", id="handle"),
    ],
)
def test_refusals_write_nothing(cli: Cli, words: list[str], status: int, said: str) -> None:
    by_hand(cli)
    before = cli.state()
    done = cli.run("adopt", *words)
    assert done.status == status
    assert said in done.lines[0]
    assert cli.state() - before <= {"cache", "cache/list"}


def test_a_session_is_one_runs(cli: Cli) -> None:
    begun = cli.begin("codex")
    done = cli.run("adopt", "codex", CODEX)
    assert done.lines == [
        f"fatal: session {CODEX} already belongs to run {begun.handle}",
        f'hint: git agent resume {begun.handle} "<message>"',
        f"hint: to tie that run to another branch: git agent adopt {begun.handle}",
    ]


def test_a_run_is_tied_to_another_branch(cli: Cli) -> None:
    """faults A3: the old branch's pointer goes, and both are named."""
    old = cli.begin()
    cli.repo.switch_new("feature")
    new = cli.begin("claude")
    by_name = f'git agent resume {new.handle} "<message>"'
    done = cli.ok("adopt", old.handle, "--json")
    assert done.lines == [
        f"git-agent: run {old.handle} belonged to branch 'main' until now",
        f"git-agent: branch 'feature' used run {new.handle} until now; to continue that one: {by_name}",
    ]
    assert (done.json["branch"], done.json["sessionFrom"]) == ("feature", "record")
    assert (cli.pointers(), cli.record(old.handle).branch) == ({"feature": old.handle}, "feature")
    assert cli.attempt(1, old.handle).branch == "feature", "a lost record is rebuilt with it"
    cli.ok("resume", "go on")
    assert cli.record(old.handle).attempts == 2
    cli.repo.git("switch", "-q", "main")
    assert cli.run("resume", "go on").lines[0] == "fatal: no run found for branch 'main'"
    cli.ok("adopt", old.handle[:5], "--branch", "main")
    assert cli.pointers() == {"main": old.handle}
    assert cli.ok("adopt", old.handle).lines == [], "it is tied so already"


def test_a_run_is_tied_to_a_work_tree_without_a_branch(cli: Cli, tmp_path: Path) -> None:
    """faults A3"""
    run = cli.begin()
    cli.repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    assert cli.ok("adopt", run.handle, cwd=tmp_path / "linked").lines == [
        f"git-agent: run {run.handle} belonged to branch 'main' until now"
    ]
    assert (cli.pointers(), cli.record().branch, cli.record().worktree) == ({}, None, str(tmp_path / "linked"))
    cli.ok("resume", "go on", cwd=tmp_path / "linked")
    assert cli.calls()[-1]["cwd"] == str(tmp_path / "linked")
    assert cli.run("resume", "go on").status == 128


def test_a_run_that_works_is_not_tied_to_another_branch(cli: Cli) -> None:
    cli.begin()
    with locked(cli.layout.run_lock(cli.record().handle)):
        assert cli.run("adopt", cli.record().handle).lines[0] == f"fatal: run {cli.record().handle} is still running"


def test_a_session_of_another_directory(cli: Cli, tmp_path: Path) -> None:
    by_hand(cli, cwd=tmp_path)
    done = cli.run("adopt", "codex", CODEX)
    assert done.lines[0] == f"fatal: the session belongs to '{tmp_path}', outside of this repository"
    command = f"git agent adopt codex {CODEX} --cwd ."
    assert done.lines[1:] == [f"hint: to continue it here, if codex can: {command}"]
    cli.ok(*command.split()[2:])
    assert cli.record().cwd == str(cli.repo.path)


def leave_note(cli: Cli, **changes: Any) -> None:
    own = {"session": Session("thread_id", CODEX)._asdict(), "runId": f"20261127T101502Z-codex-{HANDLE}"}
    noted(cli.repo, line(HANDLE, **{**own, **changes}) + "\n")


@pytest.mark.parametrize("words", [["adopt", HANDLE], ["resume", "go on"]], ids=["adopt", "resume"])
def test_a_run_that_only_a_note_knows_is_taken_up(cli: Cli, words: list[str]) -> None:
    by_hand(cli)
    leave_note(cli)
    cli.ok(*words)
    record = cli.record()
    assert (record.handle, record.session.value, record.launch_args) == (HANDLE, CODEX, ("--model", "gpt-5"))
    assert cli.attempt(1).session_from == "note"
    assert cli.pointers() == {"main": HANDLE}


def test_a_dry_run_takes_nothing_up(cli: Cli) -> None:
    by_hand(cli)
    leave_note(cli)
    before = cli.state()
    assert f"resume {CODEX}" in cli.ok("resume", "-n", "go on").out
    assert cli.state() == before


@pytest.mark.parametrize("command", ["adopt", "resume"])
def test_flags_that_widen_need_trust(cli: Cli, command: str) -> None:
    by_hand(cli)
    leave_note(
        cli, launch={"args": ["--model", "gpt-5", "--dangerously-bypass-approvals-and-sandbox", "-s", "read-only"]}
    )
    words = ["adopt", HANDLE] if command == "adopt" else ["resume", HANDLE, "go on"]
    done = cli.run(*words)
    asks = "it asks for --dangerously-bypass-approvals-and-sandbox, -s, which gives codex more permissions"
    passes = "the agent may have --model gpt-5 --dangerously-bypass-approvals-and-sandbox -s read-only"
    assert (done.status, done.lines) == (
        128,
        [
            f"fatal: the note of run {HANDLE} cannot be used: {asks}",
            f"hint: if you trust who wrote it, and {passes}: git agent adopt {HANDLE} --trust",
        ],
    )
    assert len(cli.calls()) == 1
    cli.ok(*words, "--trust")
    assert cli.record().launch_args[2] == "--dangerously-bypass-approvals-and-sandbox"


def test_all_that_a_note_lacks_is_named_at_once(cli: Cli, tmp_path: Path) -> None:
    """Faults B8: each refusal named one flag more. The hint is followed as it is."""
    by_hand(cli, cwd=tmp_path)
    leave_note(cli, cwd=str(tmp_path), launch={"args": ["-s", "read-only"]})
    done = cli.run("adopt", HANDLE)
    assert (done.status, len(done.lines)) == (128, 2)
    assert "it asks for -s" in done.lines[0]
    assert f"its session belongs to '{tmp_path}', outside of this repository" in done.lines[0]
    command = f"git agent adopt {HANDLE} --trust --cwd ."
    assert done.lines[1].endswith(f": {command}")
    cli.ok(*command.split()[2:])
    assert cli.record().launch_args == ("-s", "read-only")


def test_what_a_note_hides_is_said(cli: Cli) -> None:
    by_hand(cli)
    leave_note(cli, launch={"args": ["-c", "[redacted]", "--model", "m", "[redacted]"]})
    done = cli.ok("adopt", HANDLE)
    assert done.lines == ["git-agent: its note hides the values of -c, a flag: give them again after --"]
    assert cli.record().launch_args == ("--model", "m")


HOSTILE = [
    pytest.param({"session": {"field": "thread_id", "value": "--last"}}, "is not a session id", id="flag as id"),
    pytest.param({"session": {"field": "thread_id", "value": "../../x"}}, "is not a session id", id="path as id"),
    pytest.param({"session": {"field": "thread_id", "value": f"{CODEX}\n"}}, "is not a session id", id="line end"),
    pytest.param({"session": {"field": "thread_id", "value": "$(touch pwned)"}}, "is not a session id", id="shell"),
    pytest.param({"session": {"field": "session_id", "value": CODEX}}, "is not a session id", id="field"),
    pytest.param({"session": {"field": None, "value": None}}, "has no session id", id="no id"),
    pytest.param({"agentName": "claude"}, "its run id names codex, but agentName is claude", id="wrong engine"),
    pytest.param({"agentName": "sh", "runId": f"20261127T101502Z-sh-{HANDLE}"}, "unknown engine 'sh'", id="program"),
    pytest.param({"launch": {"args": ["--last"]}}, "is not a flag that runs store", id="selector"),
    pytest.param({"launch": {"args": ["do what I say"]}}, "is not a flag that runs store", id="prompt"),
    pytest.param({"launch": {"args": ["-C", "/"]}}, "is not a flag that runs store", id="directory"),
    pytest.param({"launch": {"args": ["--model"]}}, "--model needs a value", id="no value"),
    pytest.param({"launch": {"args": ["--", "x"]}}, "is not a flag that runs store", id="dashes"),
    pytest.param({"launch": {"args": ["--no-such-flag"]}}, "asks for --no-such-flag", id="unknown flag"),
    pytest.param({"launch": {"args": ["-c", "a=1"]}}, "asks for -c", id="configuration"),
    pytest.param({"launch": {"args": ["--full-auto"]}}, "asks for --full-auto", id="approval"),
    pytest.param({"launch": {"args": ["--add-dir=/"]}}, "asks for --add-dir", id="directory to write"),
    pytest.param({"launch": {"args": ["\x1b[2J"]}}, r"printf '\033'", id="escapes"),
]


@pytest.mark.parametrize(("changes", "said"), HOSTILE)
def test_a_hostile_note_starts_nothing(cli: Cli, changes: dict[str, Any], said: str) -> None:
    by_hand(cli)
    leave_note(cli, **changes)
    for words in (["adopt", HANDLE], ["resume", HANDLE, "go on"], ["resume", "go on"], ["resume", "-n", "x"]):
        done = cli.run(*words)
        assert done.status == 128
        assert said in done.lines[0]
        assert "\x1b" not in done.out + done.err
    assert (len(cli.calls()), cli.state() & {"index", "runs"}) == (1, set())
    assert not list(cli.repo.path.rglob("pwned"))


def test_a_note_does_not_choose_the_directory(cli: Cli, tmp_path: Path) -> None:
    """A session of another project of mine must not be carried into this one because a note names it."""
    by_hand(cli, cwd=tmp_path)
    leave_note(cli, cwd=str(tmp_path))
    command = f"git agent adopt {HANDLE} --trust --cwd ."
    for words in (["adopt", HANDLE], ["adopt", HANDLE, "--cwd", str(cli.repo.path)], ["resume", "go on"]):
        done = cli.run(*words)
        assert done.status == 128
        hints = [f"continue it there: cd {tmp_path}", f"to continue it here, if codex can: {command}"]
        assert (done.lines[1:] == [f"hint: {hint}" for hint in hints]) == (words[0] == "adopt")
    assert f"hint: the session belongs to '{tmp_path}', outside of this repository" in done.lines
    assert len(cli.calls()) == 1
    cli.ok(*command.split()[2:])


def test_a_note_whose_session_is_not_here(cli: Cli) -> None:
    leave_note(cli)
    done = cli.run("resume", "--json", "go on")
    assert (done.status, done.json["error"]["code"]) == (128, "record_elsewhere")
    done = cli.run("adopt", HANDLE, "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "session_missing")


def test_after_the_runs_were_lost(cli: Cli) -> None:
    """Only the note is left: the run is what it was, but for what it printed."""
    begun = cli.begin("codex", "--", "--model", "m")
    shutil.rmtree(cli.layout.root)
    done = cli.ok("resume", "go on")
    assert f"git-agent: run {begun.handle} is adopted from its note" in done.lines
    record = cli.record()
    assert (record.handle, record.run_id, record.session) == (begun.handle, begun.run_id, begun.session)
    assert record.launch_args == ("--model", "m")
    assert json.loads((cli.home / "fake.log").read_text().splitlines()[-1])["argv"][-2:] == [CODEX, "-"]


class Killed(BaseException):
    """As SIGKILL: nothing of ours gets to say anything."""


def die(*_: object, **__: object) -> None:
    raise Killed


@pytest.mark.parametrize(
    ("place", "made"),
    [
        pytest.param("git_agent_runner.store.records.attempts.begin", False, id="before the attempt"),
        pytest.param("git_agent_runner.store.records.attempts.save", False, id="before attempt.yaml"),
        pytest.param("git_agent_runner.store.records.index.Index.create", True, id="before the record"),
        pytest.param("git_agent_runner.store.notes.writing.write", True, id="before the note"),
        pytest.param("git_agent_runner.store.pointer.write", True, id="before the pointer"),
    ],
)
def test_killed_on_the_way(here: Cli, monkeypatch: pytest.MonkeyPatch, place: str, made: bool) -> None:
    session = by_hand(here)
    with monkeypatch.context() as patch:
        patch.setattr(place, die)
        with pytest.raises(Killed):
            ask("adopt", "codex", session)
    assert here.run("doctor", "--repair", "--json").json["problems"] == []
    if not made:
        assert here.state() & {"index", "runs"} <= {"runs"}
        here.ok("adopt", "codex", session)
    here.ok("resume", "go on")
    assert here.record().session.value == session
