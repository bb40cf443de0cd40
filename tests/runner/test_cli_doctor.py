"""`git agent doctor`: what is harmed, how it is told, and that what it says to do fixes it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_hooks import finding as hooks_finding
from git_agent_runner.context import Context
from git_agent_runner.core.model import Record, Repository, Settings
from git_agent_runner.git.settings import Config
from git_agent_runner.maintain.doctor import finding as doctor_finding
from git_agent_runner.maintain.doctor import setup
from git_agent_runner.store import notes
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.index import Index
from support import docs
from support.cli import Cli
from support.runs import leave
from support.waiting import until

Harm = Callable[[Cli, Record], object]


def run_directory(cli: Cli, record: Record) -> Path:
    return Path(cli.layout.run(record.run_id))


def attempt_file(cli: Cli, record: Record) -> Path:
    return Path(cli.layout.attempt(record.run_id, 1), "attempt.yaml")


def index_file(cli: Cli, record: Record) -> Path:
    return Path(cli.layout.index_file(record.handle))


def codes(cli: Cli, *words: str) -> list[str]:
    done = cli.run("doctor", "--json", *words)
    found = [problem["code"] for problem in done.json["problems"]]
    assert done.status == (1 if found else 0)
    return found


def no_record(cli: Cli, record: Record) -> None:
    index_file(cli, record).unlink()


def torn_record(cli: Cli, record: Record) -> None:
    path = index_file(cli, record)
    path.write_bytes(path.read_bytes()[:200])


def no_run_directory(cli: Cli, record: Record) -> None:
    shutil.rmtree(run_directory(cli, record))


def no_attempts(cli: Cli, record: Record) -> None:
    shutil.rmtree(run_directory(cli, record) / "attempts")


def no_attempt_file(cli: Cli, record: Record) -> None:
    attempt_file(cli, record).unlink()


def torn_attempt_file(cli: Cli, record: Record) -> None:
    attempt_file(cli, record).write_text('schema: 1\nnumber: 1\nkind: "st')


def only_output(cli: Cli, record: Record) -> None:
    no_record(cli, record)
    no_attempt_file(cli, record)


def open_attempt(cli: Cli, record: Record) -> None:
    attempt = attempts.read(cli.layout, record.run_id, 1)
    attempts.save(cli.layout, attempt._replace(ended_at=None, status=None, pid=None))


def no_note(cli: Cli, _record: Record) -> None:
    cli.repo.git("update-ref", "-d", "refs/notes/agent")


def scraps(cli: Cli, record: Record) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    index_file(cli, record).with_name(f".{record.handle}.yaml.{gone.pid}.0123abcd.tmp").write_text("schema: 1\nha")


def empty_attempt(cli: Cli, record: Record) -> None:
    Path(cli.layout.attempt(record.run_id, 2)).mkdir()


def empty_run(cli: Cli, _record: Record) -> None:
    Path(cli.layout.runs_dir, "20261127T101502Z-codex-0012e345/attempts").mkdir(parents=True)


def not_carried(cli: Cli, _record: Record) -> None:
    cli.repo.git("config", "--unset-all", "notes.rewriteRef")


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        pytest.param(no_record, "record_missing", id="no record"),
        pytest.param(torn_record, "record_corrupt", id="torn record"),
        pytest.param(no_run_directory, "run_directory_missing", id="no run directory"),
        pytest.param(no_attempts, "run_directory_missing", id="no attempts"),
        pytest.param(no_attempt_file, "attempt_unreadable", id="no attempt.yaml"),
        pytest.param(torn_attempt_file, "attempt_unreadable", id="torn attempt.yaml"),
        pytest.param(only_output, "attempt_unreadable", id="nothing but what was printed"),
        pytest.param(open_attempt, "attempt_interrupted", id="unsettled attempt"),
        pytest.param(no_note, "note_missing", id="no note"),
        pytest.param(scraps, "scraps", id="scraps"),
        pytest.param(empty_attempt, "attempt_empty", id="empty attempt"),
        pytest.param(empty_run, "run_empty", id="empty run"),
        pytest.param(not_carried, "notes_not_carried", id="notes not carried"),
    ],
)
def test_what_is_repaired(cli: Cli, harm: Harm, code: str) -> None:
    """Afterwards nothing is wrong, the run is what it was, and its session goes on."""
    begun = cli.begin("codex")
    assert codes(cli) == []
    harm(cli, begun)
    assert codes(cli) == [code]
    assert codes(cli) == [code], "looking alone changes nothing"
    done = cli.ok("doctor", "--repair")
    assert (done.out.count("repaired: "), done.out.splitlines()[-1]) == (
        3 if harm is only_output else 2 if harm in (no_attempt_file, torn_attempt_file) else 1,
        "nothing else is wrong",
    )
    assert codes(cli) == []
    after = cli.record(begun.handle)
    assert (after.session, after.branch, after.status, after.cwd) == (begun.session, "main", "completed", begun.cwd)
    assert (cli.pointers(), cli.noted()) == ({"main": begun.handle}, [begun.handle])
    cli.ok("resume", "go on")
    assert cli.record(begun.handle).session == begun.session


def test_what_the_agent_printed_is_never_touched(cli: Cli) -> None:
    begun = cli.begin("codex")
    printed = Path(cli.layout.attempt(begun.run_id, 1), "stdout")
    before = printed.read_bytes()
    for harm in (torn_record, torn_attempt_file, open_attempt, no_note):
        harm(cli, begun)
        cli.ok("doctor", "--repair", "--prune")
        assert printed.read_bytes() == before
    kept = [path.name for path in (*printed.parent.iterdir(), *Path(cli.layout.index_dir).iterdir())]
    assert {name for name in kept if "corrupt" in name} == {f"{begun.handle}.yaml.corrupt-1", "attempt.yaml.corrupt-1"}


def test_a_record_without_a_run_directory_may_be_forgotten(cli: Cli) -> None:
    begun = cli.begin()
    no_run_directory(cli, begun)
    (problem,) = cli.run("doctor", "--json").json["problems"]
    assert problem["fix"].endswith(f"git agent prune {begun.handle}")


def test_a_record_of_a_newer_git_agent_is_left_alone(cli: Cli) -> None:
    begun = cli.begin()
    for path in (index_file(cli, begun), attempt_file(cli, begun)):
        path.write_text(path.read_text().replace("schema: 1", "schema: 2"))
    before = attempt_file(cli, begun).read_bytes()
    assert codes(cli, "--repair", "--prune") == ["attempt_unreadable", "record_corrupt"]
    assert (attempt_file(cli, begun).read_bytes(), index_file(cli, begun).exists()) == (before, True)


def test_a_pointer_to_nothing_is_pruned(cli: Cli) -> None:
    cli.begin()
    cli.repo.git("config", "branch.it's [x].agentHandle", "7f3a9c21")
    assert codes(cli, "--repair") == ["pointer_dangling"]
    (problem,) = cli.run("doctor", "--json").json["problems"]
    assert cli.run("doctor", "--prune").out == f"pruned: {problem['problem']}\nnothing else is wrong\n"
    cli.repo.git("config", "branch.it's [x].agentHandle", "7f3a9c21")
    cli.repo.git(*shlex.split(problem["fix"])[1:])
    assert codes(cli) == []


def stale(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))
    return path


@pytest.mark.parametrize("name", ["config.lock", "refs/notes/agent.lock", "packed-refs.lock", "index.lock"])
def test_a_lock_that_git_left(cli: Cli, name: str) -> None:
    cli.begin()
    path = cli.repo.path / ".git" / name
    path.touch()
    assert codes(cli) == [], "somebody may be at work"
    stale(path)
    assert codes(cli, "--repair") == ["git_lock_stale"]
    assert path.exists()
    with path.open():
        assert codes(cli, "--prune") == [], "a process has it open"
    assert cli.run("doctor", "--prune").out.endswith("\nnothing else is wrong\n")
    assert not path.exists()


def test_a_lock_of_a_linked_work_tree(cli: Cli, tmp_path: Path) -> None:
    cli.repo.worktree(tmp_path / "linked", "feature")
    stale(cli.repo.path / ".git/worktrees/linked/index.lock")
    (problem,) = cli.run("doctor", "--json").json["problems"]
    assert "worktrees/linked/index.lock" in problem["problem"]


@pytest.mark.parametrize("place", ["refs/outside", "worktrees/outside", "reftable"])
def test_a_lock_behind_a_link_is_anothers(cli: Cli, tmp_path: Path, place: str) -> None:
    found = stale(tmp_path / "project/poetry.lock")
    git = cli.repo.path / ".git"
    (git / place).parent.mkdir(exist_ok=True)
    (git / place).symlink_to(found.parent)
    for name in ("one", "two"):
        (git / "refs" / name).symlink_to("..")  # followed, these would never end
    assert codes(cli, "--prune") == []
    assert found.exists()


def test_a_run_with_a_name_that_is_no_date(cli: Cli) -> None:
    run = Path(cli.layout.runs_dir, "20269999T999999Z-codex-0012e345")
    (run / "attempts/0001").mkdir(parents=True)
    (run / "attempts/0001/stdout").touch()
    assert codes(cli, "--repair") == []
    assert (run / "attempts/0001/stdout").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["notes.rewriteMode", "overwrite"], "notes_lossy", id="a squash keeps one"),
        pytest.param(["notes.agent.mergeStrategy", "ours"], "notes_lossy", id="a merge keeps ours"),
        pytest.param(["notes.rewrite.amend", "false"], "notes_not_carried", id="amend carries none"),
    ],
)
def test_settings_that_lose_notes(cli: Cli, words: list[str], code: str) -> None:
    cli.begin()
    cli.repo.git("config", "--replace-all", *words)
    (problem,) = cli.run("doctor", "--json").json["problems"]
    assert problem["code"] == code
    cli.repo.git(*shlex.split(problem["fix"])[1:])
    assert codes(cli) == []


def test_a_note_from_elsewhere_is_no_problem(cli: Cli) -> None:
    begun = cli.begin()
    leave(cli.repo, "0012e345", "note")
    done = cli.ok("doctor")
    assert done.out.splitlines() == [
        "nothing is wrong",
        "known only from notes: 0012e345; to adopt one: git agent adopt HANDLE",
    ]
    assert cli.ok("doctor", "--json").json["elsewhere"] == ["0012e345"]
    assert begun.handle not in done.out


def session_file(cli: Cli) -> Path:
    (path,) = (*cli.home.glob(".claude/projects/*/*.jsonl"), *cli.home.glob(".codex/sessions/*/*/*/*.jsonl"))
    return path


def without_copy(cli: Cli, record: Record) -> None:
    """As for a run whose session was too large to be kept."""
    shutil.rmtree(run_directory(cli, record) / "session", ignore_errors=True)


def test_a_session_that_its_engine_lost(cli: Cli) -> None:
    begun = cli.begin("claude")
    without_copy(cli, begun)
    session_file(cli).unlink()
    (problem,) = cli.run("doctor", "--repair", "--json").json["problems"]
    assert problem["code"] == "session_lost"
    assert begun.handle in problem["problem"]
    cli.ok("resume", begun.handle, "--fallback", "fresh", "again", FAKE_ID="new")
    assert codes(cli) == []


def test_a_session_that_is_kept_is_not_missed(cli: Cli) -> None:
    begun = cli.begin("claude")
    session_file(cli).unlink()
    assert codes(cli) == []
    cli.ok("resume", "go on")
    assert cli.record().session == begun.session


def test_a_session_of_another_machine_is_not_missed(cli: Cli) -> None:
    begun = cli.begin("claude")
    without_copy(cli, begun)
    session_file(cli).unlink()
    Index(cli.layout).update(begun.handle, lambda old: old._replace(host="another"))
    assert codes(cli) == []


@pytest.mark.parametrize(
    ("settings", "days", "found"),
    [
        pytest.param({}, 29.5, True, id="within a day"),
        pytest.param({}, 31, True, id="over due"),
        pytest.param({}, 28, False, id="in two days"),
        pytest.param({"cleanupPeriodDays": 90}, 31, False, id="kept longer"),
        pytest.param({"cleanupPeriodDays": 3}, 2.5, True, id="kept shorter"),
        pytest.param({"cleanupPeriodDays": 0}, 365, False, id="kept for ever"),
        pytest.param({"cleanupPeriodDays": "x"}, 29.5, True, id="nonsense is the default"),
    ],
)
def test_a_session_that_claude_soon_deletes(cli: Cli, settings: dict[str, object], days: float, found: bool) -> None:
    begun = cli.begin("claude")
    without_copy(cli, begun)
    (cli.home / ".claude/settings.json").write_text(json.dumps(settings))
    written = time.time() - days * 86400
    os.utime(session_file(cli), (written, written))
    assert codes(cli) == (["session_expiring"] if found else [])
    said = cli.ok("status", "--json")
    assert len([line for line in said.err.splitlines() if line.startswith("warning: claude deletes session")]) == found
    assert said.err.startswith("".join(f"warning: {text}\n" for text in json.loads(said.out)["warnings"]))


@pytest.mark.parametrize(
    ("days", "found"), [pytest.param(29.5, True, id="within a day"), pytest.param(28, False, id="in two days")]
)
def test_a_session_that_gemini_soon_deletes(cli: Cli, days: float, found: bool) -> None:
    without_copy(cli, cli.begin("gemini"))
    written = time.time() - days * 86400
    for path in cli.home.glob(".gemini/tmp/*/chats/*"):
        os.utime(path, (written, written))
    assert codes(cli) == (["session_expiring"] if found else [])
    said = [line for line in cli.ok("status").lines if line.startswith("warning: gemini deletes session")]
    assert len(said) == found


def test_a_repository_that_may_not_be_written() -> None:
    """As an unprivileged user, since root writes through mode bits; its parents are closed to others, so it moves."""
    folder = Path(tempfile.mkdtemp(prefix="git-agent-", dir="/tmp"))
    try:
        (folder / "agent").mkdir()
        for path in (folder, folder / "agent"):
            path.chmod(0o555)
        facts = Repository(str(folder), str(folder), str(folder), "main", None)
        layout = Layout(str(folder))
        ctx = Context(facts, layout, Index(layout), Settings(), Config(()), {}, str(folder))
        known = doctor_finding.RepositoryFacts(
            ctx, {}, {}, (), notes.Notes({}, ()), 0.0, doctor_finding.AttemptStates(ctx.layout)
        )
        assert unprivileged(lambda: [finding.code for finding in setup.read_only(known)]) == "['read_only']"
        assert unprivileged(lambda: (folder / "x").write_text("x")) == "PermissionError"
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def unprivileged(ask: Callable[[], object]) -> str:
    """The answer, or the name of the error, of a child of ours that gave up root."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            if os.geteuid() == 0:
                os.setresuid(65534, 65534, 65534)
            os.write(write, str(ask()).encode())
        except OSError as error:
            os.write(write, type(error).__name__.encode())
        finally:  # the child must end here, whatever happened
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as stream:
        return stream.read()


def test_a_running_run_is_left_alone(cli: Cli) -> None:
    process = cli.start("start", "-e", "codex", "x", FAKE_CMD="sleep 600")
    until(lambda: Index(cli.layout).handles() and cli.attempt().pid, "the engine runs")
    record = cli.record()
    empty = cli.layout.attempt(record.run_id, 2)
    os.mkdir(empty)
    assert codes(cli, "--repair", "--prune") in ([], ["notes_not_carried"])
    assert (cli.attempt().ended_at, os.path.isdir(empty)) == (None, True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert codes(cli, "--repair") == []
    assert not os.path.exists(empty)


def test_the_page_explains_every_code() -> None:
    page = (docs.ROOT / "docs/recovery.md").read_text()
    explained = {row[0].strip("`") for row in docs.rows(docs.section(page, "Doctor"))}
    files = (*Path(setup.__file__).parent.glob("*.py"), Path(hooks_finding.__file__))
    sources = "".join(path.read_text() for path in files)
    assert explained == set(re.findall(r'Finding\(\s*"([a-z_]+)"', sources))
