"""`git agent resume --all`: which runs go on, in which order and where, and what is told of the others."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from support.cli import Cli, Done
from support.waiting import PATIENCE, until

CRASH = "kill -9 $PPID"
LIMITED = str(Path(__file__).parents[2] / "fixtures/recordings/codex/0.171.0/14a-ratelimit/stdout")
ON = "Continue from where you left off."


def branch(cli: Cli, tmp_path: Path, name: str) -> Path:
    where = tmp_path / name
    cli.repo.git("worktree", "add", "-q", "-b", name, str(where))
    return where


def live(cli: Cli, where: Path) -> subprocess.Popen[bytes]:
    """An attempt that is going on; its git-agent."""
    before = len(cli.calls())
    begun = cli.start("start", "-e", "codex", "begin", cwd=where, FAKE_CMD="exec sleep 600", FAKE_ID="new")
    until(lambda: len(cli.calls()) > before and cli.ok("list", "--json").json["runs"][0]["session"], "it has begun")
    return begun


def resumed(done: Done) -> list[tuple[str, str, str]]:
    return [(one["handle"], one["status"], one["kind"]) for one in done.json["resumed"]]


def skipped(done: Done) -> dict[str, str]:
    return {one["handle"]: one["reason"] for one in done.json["skipped"]}


def test_every_unfinished_run_goes_on_in_its_own_work_tree(cli: Cli, tmp_path: Path) -> None:
    dead = cli.begin(cwd=branch(cli, tmp_path, "dead"), FAKE_CMD=CRASH, FAKE_ID="new").handle
    failed = cli.begin("claude", cwd=branch(cli, tmp_path, "failed"), FAKE_EXIT="3", FAKE_OUT="/dev/null").handle
    fine = cli.begin(cwd=branch(cli, tmp_path, "fine"), FAKE_ID="new").handle
    done = cli.ok("resume", "--all", "--json", "address the review")
    assert set(resumed(done)) == {(dead, "completed", "resume"), (failed, "completed", "resume")}
    assert skipped(done) == {}
    later = {(call["stdin"], Path(call["cwd"]).name) for call in cli.calls()[3:]}
    assert later == {("address the review", "dead"), ("address the review", "failed")}
    assert cli.record(fine).attempts == 1
    assert not any(line.startswith("git-agent: message: ") for line in done.lines)


def test_unfinished_ones_first_then_the_newest(cli: Cli, tmp_path: Path) -> None:
    limited = {"FAKE_OUT": LIMITED, "FAKE_ID": "00000000-0001-7abc-8def-000000000001", "FAKE_EXIT": "1"}
    first = cli.begin("codex", cwd=branch(cli, tmp_path, "a"), FAKE_CMD=CRASH, FAKE_ID="new").handle
    time.sleep(0.01)
    second = cli.begin("codex", cwd=branch(cli, tmp_path, "b"), **limited).handle
    time.sleep(0.01)
    third = cli.begin("codex", cwd=branch(cli, tmp_path, "c"), FAKE_CMD=CRASH, FAKE_ID="new").handle
    done = cli.ok("resume", "--all", "--jobs", "1", "--json")
    assert [handle for handle, _, _ in resumed(done)] == [third, first, second]
    assert {call["stdin"] for call in cli.calls()[3:]} == {ON}
    assert done.lines[0] == f'git-agent: message: "{ON}"'


def test_a_start_that_a_person_has_mangled_is_taken_from_the_runs_name(cli: Cli, tmp_path: Path) -> None:
    runs = [cli.begin(cwd=branch(cli, tmp_path, name), FAKE_CMD=CRASH, FAKE_ID="new") for name in ("a", "b")]
    for run, start in zip(runs, ("0001-01-01T00:00:00", "soon"), strict=True):
        path = Path(cli.layout.index_file(run.handle))
        day = ("2129" if run is runs[0] else "2128") + run.run_id[4:]
        path.write_text(path.read_text().replace(run.created_at, start).replace(run.run_id, day))
    done = cli.ok("resume", "--all", "-n", "--json")
    assert [one["handle"] for one in done.json["resumed"]] == [run.handle for run in runs]


def test_a_live_run_is_left_alone_unless_it_is_to_be_ended(cli: Cli, tmp_path: Path) -> None:
    begun = live(cli, branch(cli, tmp_path, "live"))
    handle = cli.record().handle
    done = cli.ok("resume", "--all", "--json", "x")
    assert (resumed(done), skipped(done)) == ([], {handle: "it is still running; --kill ends it first"})
    assert begun.poll() is None
    done = cli.ok("resume", "--all", "--kill", "--json", "x")
    begun.communicate(timeout=PATIENCE)
    assert resumed(done) == [(handle, "completed", "resume")]
    assert (cli.attempt(1).status, cli.attempt(1).survivors) == ("interrupted", ())


def test_of_a_branch_one_run_goes_on(cli: Cli) -> None:
    """The one that it points to; the others are named."""
    old = cli.begin(FAKE_CMD=CRASH, FAKE_ID="new").handle
    new = cli.begin("claude", FAKE_CMD=CRASH, FAKE_ID="new").handle
    done = cli.ok("resume", "--all", "--json")
    assert resumed(done) == [(new, "completed", "resume")]
    assert skipped(done) == {old: f"run {new} is the current one of branch 'main'"}


def test_of_a_session_one_run_goes_on(cli: Cli, tmp_path: Path) -> None:
    """Two branches' runs have it, by --session: their messages would run into each other."""
    old = cli.begin(cwd=branch(cli, tmp_path, "old"), FAKE_CMD=CRASH).handle
    new = cli.begin(cwd=branch(cli, tmp_path, "new"), FAKE_CMD=CRASH).handle
    done = cli.ok("resume", "--all", "--json")
    assert resumed(done) == [(new, "completed", "resume")]
    assert skipped(done) == {old: f"run {new} has the same session"}


def test_of_a_detached_heads_directory_one_run_goes_on(cli: Cli) -> None:
    cli.repo.git("checkout", "-q", "--detach")
    old = cli.begin(FAKE_CMD=CRASH, FAKE_ID="new").handle
    new = cli.begin(FAKE_CMD=CRASH, FAKE_ID="new").handle
    done = cli.ok("resume", "--all", "--json")
    assert resumed(done) == [(new, "completed", "resume")]
    assert skipped(done) == {old: f"run {new} is the current one of '{cli.repo.path}'"}


def test_a_finished_run_keeps_its_branchs_older_ones_from_going_on(cli: Cli) -> None:
    old = cli.begin(FAKE_CMD=CRASH, FAKE_ID="new").handle
    new = cli.begin("claude", FAKE_ID="new").handle
    done = cli.ok("resume", "--all", "--json")
    assert (resumed(done), skipped(done)) == ([], {old: f"run {new} is the current one of branch 'main'"})


@pytest.mark.parametrize("environ", [{"FAKE_CMD": CRASH}, {}], ids=["older is dead", "older is completed"])
def test_one_without_a_session_gives_way_to_an_older_one(cli: Cli, environ: dict[str, str]) -> None:
    """No session came of it, so the branch has its older run again, which goes on where it is unfinished."""
    old = cli.begin("codex", cwd=None, FAKE_ID="new", **environ).handle
    new = cli.begin(FAKE_ID="none", FAKE_EXIT="3").handle
    done = cli.ok("resume", "--all", "--json")
    assert resumed(done) == ([(old, "completed", "resume")] if environ else [])
    assert skipped(done) == {new: f"run {old} is the current one of branch 'main'"}


def test_without_any_session_a_new_one_begins_with_the_runs_own_prompt(cli: Cli) -> None:
    handle = cli.begin(FAKE_ID="none", FAKE_EXIT="3").handle
    done = cli.ok("resume", "--all", "--json")
    assert resumed(done) == [(handle, "completed", "fresh")]
    assert [call["stdin"] for call in cli.calls()] == ["begin", "begin"]


def test_a_session_that_is_gone_begins_anew_with_the_runs_own_prompt(cli: Cli) -> None:
    handle = cli.begin(FAKE_CMD=CRASH).handle
    shutil.rmtree(cli.home / ".codex/sessions")
    cli.forget_copies()
    done = cli.ok("resume", "--all")
    assert f"{handle}  main    codex   completed, in a new session, attempt 2" in done.out
    begins = f"git-agent: {handle} main (codex): completed, in a new session (session "
    assert any(line.startswith(begins) and "codex has no such session" in line for line in done.lines)
    assert [call["stdin"] for call in cli.calls()] == ["begin", "begin"]


def test_a_session_that_is_put_back_is_said(cli: Cli) -> None:
    handle = cli.begin(FAKE_CMD=CRASH).handle
    shutil.rmtree(cli.home / ".codex/sessions")
    done = cli.ok("resume", "--all", "--json")
    assert resumed(done) == [(handle, "completed", "resume")]
    said = "completed; the run's backup of the session was restored"
    assert f"git-agent: {handle} main (codex): {said}" in done.lines


@pytest.mark.parametrize("session", ["none", "new"])
def test_the_time_of_each_run_is_limited(cli: Cli, session: str) -> None:
    cli.begin(FAKE_ID=session, FAKE_EXIT="3", FAKE_CMD=CRASH)
    done = cli.run("resume", "--all", "--timeout", "1", "--json", FAKE_CMD="exec sleep 600")
    assert (done.status, done.json["resumed"][0]["status"]) == (1, "timed_out")


def test_strict_fails_that_run_only(cli: Cli, tmp_path: Path) -> None:
    lost = cli.begin(FAKE_ID="none", FAKE_EXIT="3").handle
    fine = cli.begin(cwd=branch(cli, tmp_path, "fine"), FAKE_CMD=CRASH, FAKE_ID="new").handle
    done = cli.run("resume", "--all", "--strict", "--json")
    assert (done.status, resumed(done)) == (1, [(fine, "completed", "resume")])
    assert skipped(done)[lost].startswith("Session resumption failed: ")
    assert cli.record(lost).attempts == 1


def test_a_failure_ends_that_run_only(cli: Cli, tmp_path: Path) -> None:
    gone = branch(cli, tmp_path, "gone")
    lost = cli.begin(cwd=gone, FAKE_CMD=CRASH, FAKE_ID="new").handle
    fine = cli.begin("claude", cwd=branch(cli, tmp_path, "fine"), FAKE_CMD=CRASH).handle
    cli.repo.git("worktree", "remove", "--force", str(gone))
    done = cli.run("resume", "--all")
    assert done.status == 1
    assert re.search(rf"^{fine}  fine +claude  completed, attempt 2$", done.out, re.MULTILINE), done.out
    assert re.search(rf"^{lost}  gone +codex +skipped: .*\bgone\b", done.out, re.MULTILINE), done.out


def test_a_damaged_record_hides_no_other(cli: Cli, tmp_path: Path) -> None:
    handle = cli.begin(FAKE_CMD=CRASH).handle
    other = cli.begin(cwd=branch(cli, tmp_path, "other"), FAKE_CMD=CRASH, FAKE_ID="new").handle
    Path(cli.layout.index_file(other)).write_text("]")
    done = cli.ok("resume", "--all", "--json")
    assert resumed(done) == [(handle, "completed", "resume")]
    assert any(line.startswith("warning: cannot read ") and other in line for line in done.lines)


def test_a_run_whose_branch_is_checked_out_nowhere_is_told_the_way_on(cli: Cli, tmp_path: Path) -> None:
    """faults B14: no process is started for it, and the command works when it is followed."""
    places = [branch(cli, tmp_path, name) for name in ("one", "t/wo", "gone")]
    one, two, gone = (cli.begin("gemini", cwd=place, FAKE_CMD=CRASH, FAKE_ID="new").handle for place in places)
    for place in places:
        cli.repo.git("worktree", "remove", "--force", str(place))
    cli.repo.git("branch", "-q", "-D", "gone")
    calls = len(cli.calls())
    for words in (("-n",), ()):
        done = cli.run("resume", "--all", "--json", *words)
        assert (done.status, done.json["resumed"], len(cli.calls())) == (1, [], calls)
    told = skipped(done)
    assert told[gone] == f"there is no branch 'gone'; to use the run on another one: git agent adopt {gone}"
    for handle in (one, two):
        more = shlex.split(told[handle].rpartition(": ")[2])
        assert more[:3] == ["git", "worktree", "add"]
        cli.repo.git(*more[1:])
    done = cli.run("resume", "--all", "--json")
    assert {handle for handle, *_ in resumed(done)} == {one, two}


def test_a_dry_run_starts_nothing(cli: Cli) -> None:
    handle = cli.begin(FAKE_CMD=CRASH).handle
    done = cli.ok("resume", "--all", "-n")
    assert done.out.splitlines()[1] == f"{handle}  main    codex   would be resumed"
    assert cli.record().attempts == 1


def test_a_dry_run_says_what_would_come_of_each(cli: Cli, tmp_path: Path) -> None:
    """The same as the run itself then does, asked without starting anything."""
    crash = {"FAKE_CMD": CRASH, "FAKE_ID": "new"}
    gone = branch(cli, tmp_path, "gone")
    fine, none, lost, elsewhere = (
        cli.begin(cwd=branch(cli, tmp_path, "fine"), **crash).handle,
        cli.begin(cwd=branch(cli, tmp_path, "none"), FAKE_ID="none", FAKE_EXIT="3").handle,
        cli.begin(cwd=branch(cli, tmp_path, "lost"), **crash).handle,
        cli.begin(cwd=gone, **crash).handle,
    )
    lost_session = cli.record(lost).session.value
    (rollout,) = (cli.home / ".codex/sessions").rglob(f"*{lost_session}*")
    rollout.unlink()
    shutil.rmtree(Path(cli.layout.runs_dir, cli.record(lost).run_id, "session"))
    cli.repo.git("worktree", "remove", "--force", str(gone))
    cli.ok("list")  # reads the runs into its cache
    before = cli.state(), len(cli.calls())
    done = cli.run("resume", "--all", "-n", "--json", "go on")
    assert (done.status, cli.state(), len(cli.calls())) == (1, *before)
    would = {one["handle"]: one for one in done.json["resumed"]}
    assert {handle: one["kind"] for handle, one in would.items()} == {fine: "resume", none: "fresh", lost: "fresh"}
    assert would[fine]["would"] == "would be resumed"
    assert would[fine]["session"] == cli.record(fine).session.value
    assert would[none]["would"].startswith("would begin a new session")
    assert re.search(rf"begin a new session \(.*{lost_session}", would[lost]["would"])
    assert "gone" in skipped(done)[elsewhere]
    did = cli.run("resume", "--all", "--json", "go on")
    assert sorted(resumed(did)) == sorted((handle, "completed", one["kind"]) for handle, one in would.items())
    assert skipped(did) == skipped(done)


def test_a_dry_run_ends_nobody(cli: Cli) -> None:
    begun = live(cli, cli.repo.path)
    done = cli.ok("resume", "--all", "--kill", "-n")
    assert done.out.splitlines()[1].endswith("codex   would be ended, then resumed")
    assert (begun.poll(), cli.attempt().ended_at) == (None, None)
    begun.terminate()
    begun.wait(PATIENCE)


def test_a_session_that_nobody_knows_yet_is_looked_for_first(cli: Cli, tmp_path: Path) -> None:
    """It is in the engine's store, which has not printed it when git-agent is killed with its engine."""
    os.mkfifo(never := tmp_path / "never")
    begun = cli.start("start", "-e", "codex", "x", FAKE_OUT=str(never), cwd=None)
    until(lambda: cli.pointers() and list((cli.home / ".codex/sessions").rglob("*.jsonl")), "it has begun")
    tree = [psutil.Process(begun.pid), *psutil.Process(begun.pid).children(recursive=True)]
    for process in tree:
        process.kill()
    begun.wait(PATIENCE)
    psutil.wait_procs(tree, PATIENCE)
    handle = cli.record().handle
    done = cli.ok("resume", "--all", "--strict", "-n")
    assert done.out.splitlines()[1].endswith("codex   would be settled, which looks for its session, then resumed")
    done = cli.ok("resume", "--all", "--strict", "--json", "go on")
    assert resumed(done) == [(handle, "completed", "resume")]


def test_nothing_to_do(cli: Cli) -> None:
    cli.begin()
    assert cli.ok("resume", "--all").out == "nothing to resume\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all(cli: Cli, tmp_path: Path, number: signal.Signals) -> None:
    handles = [
        cli.begin(cwd=branch(cli, tmp_path, name), FAKE_CMD=CRASH, FAKE_ID="new").handle for name in ("a", "b", "c")
    ]
    done = cli.start("resume", "--all", "--jobs", "2", FAKE_CMD="exec sleep 600")
    until(lambda: len(cli.calls()) == 5, "two have begun")
    until(lambda: sum(cli.record(handle).attempts == 2 for handle in handles) == 2, "two are recorded")
    done.send_signal(number)
    out, _ = done.communicate(timeout=PATIENCE)
    assert done.returncode == 128 + number
    assert sorted(cli.record(handle).attempts for handle in handles) == [1, 2, 2]
    assert {cli.record(handle).status for handle in handles} == {"interrupted"}
    assert b"not started: git-agent was ended" in out


USAGE = {
    "handle": (["resume", "--all", "7f3a9c21", "x"], "the handle 7f3a9c21 and --all cannot be used together"),
    "branch": (["resume", "--all", "--branch", "main"], "--branch and --all cannot be used together"),
    "terminal form": (["resume", "--all", "-i"], "-i and --all cannot be used together"),
    "session": (["resume", "--all", "--session", "x"], "--session and --all cannot be used together"),
    "flags": (["resume", "--all", "--", "--yolo"], "an engine's own flags and --all cannot be used together"),
    "jobs": (["resume", "--jobs", "2", "x"], "--jobs needs --all"),
    "no jobs": (["resume", "--all", "--jobs", "0"], "invalid value for '--jobs'"),
}


@pytest.mark.parametrize(("words", "text"), USAGE.values(), ids=USAGE)
def test_usage(cli: Cli, words: list[str], text: str) -> None:
    done = cli.run(*words)
    assert (done.status, text in done.lines[0]) == (129, True), done
