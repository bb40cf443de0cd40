"""What a command must not do because it costs too much: modules loaded, git processes, files read. Nothing is timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from git_agent_extractors import ordinary
from git_agent_runner import context, git
from git_agent_runner.adopt.write import attempt_of
from git_agent_runner.console import progress
from git_agent_runner.context import timestamp
from git_agent_runner.core.clock import began
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import StoreQuery
from git_agent_runner.find import candidates
from git_agent_runner.find.identity import Identities, KnownRun
from git_agent_runner.git import refs
from git_agent_runner.maintain import pruning
from git_agent_runner.maintain.doctor import examine
from git_agent_runner.maintain.pruning import Criteria
from git_agent_runner.process.signals import Inbox
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records import attempts, listing, rows
from git_agent_runner.store.records.rows import Row
from git_agent_runner.unattended import resume_all
from git_agent_runner.unattended.policies import watch as watching
from git_agent_runner.unattended.policies.model import Policy
from git_agent_runner.unattended.policies.watch import Watch
from support.cli import Cli, ask
from support.runs import START, leave


@pytest.mark.parametrize("command", ["status", "show"])
def test_a_subject_line_loads_no_library_of_git(cli: Cli, command: str) -> None:  # faults D4
    cli.begin("codex")
    code = f"import sys; from git_agent_runner import cli; cli.main([{command!r}]); print('git' in sys.modules)"
    done = subprocess.run(
        (sys.executable, "-P", "-c", code),
        cwd=cli.repo.path,
        env=cli.environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    *shown, loaded = done.stdout.splitlines()
    subject = cli.repo.git("log", "-1", "--format=%s")
    assert any(subject in line for line in shown)
    assert loaded == "False"


@pytest.mark.parametrize(
    ("criteria", "walked"),
    [
        pytest.param(Criteria(merged=True), ["aaaaaaaa"], id="merged"),
        pytest.param(Criteria(older_than=0), ["aaaaaaaa"], id="old"),
        pytest.param(Criteria(keep_size=0), ["aaaaaaaa", "bbbbbbbb"], id="size"),
    ],
)
def test_prune_walks_only_directories_whose_size_is_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, criteria: Criteria, walked: list[str]
) -> None:  # faults D2
    """The first run's branch is gone, the second one's is not merged."""
    leave(cli.repo, "aaaaaaaa", branch="gone")
    cli.repo.switch_new("feat")
    cli.repo.commit("work")
    leave(cli.repo, "bbbbbbbb")
    cli.repo.git("config", "branch.feat.agentHandle", "bbbbbbbb")
    monkeypatch.chdir(cli.repo.path)
    asked: list[str] = []

    def size(_ctx: context.Context, row: Row) -> int:
        asked.append(row.handle)
        return 1

    monkeypatch.setattr(pruning, "size", size)
    ctx = context.load()
    runs = pruning.choose(ctx, listing.listing(ctx.layout, 2.0**33).rows, criteria, 2.0**33)
    assert [run.row.handle for run in runs if not run.kept] == ["aaaaaaaa"]
    assert sorted(asked) == walked


def test_doctor_reads_each_file_and_folder_of_ours_once(  # faults D1
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of runs that are settled and whole no lock is asked, either."""
    layout = Layout(cli.repo.facts().common_dir)
    for handle in ("aaaaaaaa", "bbbbbbbb"):
        attempts.begin(layout, attempt_of(leave(cli.repo, handle), START)._replace(ended_at=START, status="completed"))
    monkeypatch.chdir(cli.repo.path)
    read: list[str] = []
    whole = ordinary.whole

    def counted(path: str | os.PathLike[str], limit: int) -> bytes:
        read.append(os.fspath(path))
        return whole(path, limit)

    monkeypatch.setattr(ordinary, "whole", counted)
    monkeypatch.setattr(locks, "is_locked", None)
    listed: list[str] = []
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, counting(getattr(os, name), listed))
    known, _ = examine.examine()
    assert sorted(known.runs) == ["aaaaaaaa", "bbbbbbbb"]
    assert sorted(path for path in read if path.endswith(".yaml")) == sorted(
        path
        for handle, run_id in known.runs.items()
        for path in (layout.index_file(handle), f"{layout.attempt(run_id, 1)}/attempt.yaml")
    )
    below = [folder for folder in listed if folder.startswith(f"{layout.runs_dir}/")]
    assert len(below) == len(set(below)) == 6


SESSIONS = [f"019a1c2d-0b01-7aaa-8bbb-00000000000{number}" for number in range(4)]
CODEX = (
    '{"type":"session_meta","payload":{"id":"%s","cwd":"/w"}}\n{"type":"event_msg","payload":{"type":"user_message"}}\n'
)
TALK = '{"type":"user","sessionId":"%s","cwd":"/w","timestamp":"2026-11-27T10:15:02.250Z"}\n'
GEMINI = '{"sessionId":"%s","startTime":"2026-11-27T10:15:02Z"}\n{"id":"1","type":"user","content":"write"}\n'
CHAT = f".gemini/tmp/{sha256(b'/w').hexdigest()}/chats/session-2026-11-27T10-1{{0}}-{{2}}.jsonl"


@pytest.mark.parametrize(
    ("engine", "place", "text"),
    [
        pytest.param(
            "codex", ".codex/sessions/2026/11/2{0}/rollout-2026-11-2{0}T10-00-00-{1}.jsonl", CODEX, id="codex"
        ),
        pytest.param("claude", ".claude/projects/-w{0}/{1}.jsonl", TALK, id="claude"),
        pytest.param("gemini", CHAT, GEMINI, id="gemini"),
        pytest.param("iflow", ".iflow/projects/w{0}/{1}.jsonl", TALK, id="iflow"),
    ],
)
def test_many_questions_list_a_store_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, place: str, text: str
) -> None:  # faults D1
    """The last session is in no store. What is learned of the others changes no answer."""
    for number, session in enumerate(SESSIONS[:-1]):
        path = tmp_path / place.format(number, session, session[:8])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text % session)
    locate = load(engine).locate
    query = StoreQuery({"HOME": str(tmp_path)}, "/w", (9, 9, 9))
    alone = [locate(query._replace(session=session)) for session in SESSIONS]
    listed: list[str] = []
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, counting(getattr(os, name), listed))
    query = query._replace(learned={})
    assert [locate(query._replace(session=session)) for session in SESSIONS] == alone
    assert [one.state for one in alone] == ["present"] * 3 + ["absent"]
    assert len(listed) == len(set(listed))


def counting(ask: Callable[[Any], Any], listed: list[str]) -> Callable[[Any], Any]:
    def counted(folder: Any = ".") -> Any:
        listed.append(os.fspath(folder))
        return ask(folder)

    return counted


def test_prune_asks_for_all_reflogs_at_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # faults D2
    """A branch that is merged, one that is not, and one that is gone, each with a run."""
    for name in ("one", "two", "gone"):
        cli.repo.switch_new(name)
        leave(cli.repo, sha256(name.encode()).hexdigest()[:8])
        cli.repo.commit(name)
    cli.repo.git("switch", "-q", "main")
    cli.repo.git("merge", "-q", "--no-ff", "-m", "merge", "one")
    cli.repo.git("branch", "-q", "-D", "gone")
    monkeypatch.chdir(cli.repo.path)
    monkeypatch.setattr(refs, "reflog", None)  # one process for each branch
    ctx = context.load()
    rows = listing.listing(ctx.layout, 2.0**33).rows
    runs = pruning.choose(ctx, rows, Criteria(merged=True), 2.0**33)
    assert {run.row.branch for run in runs if not run.kept} == {"one", "gone"}


@pytest.mark.parametrize(("count", "said"), [(1000, []), (1001, ["1001 pointers"])])
def test_doctor_says_when_pointers_slow_every_git_command(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, count: int, said: list[str]
) -> None:  # faults D7
    leave(cli.repo, "aaaaaaaa", "record")
    with open(cli.repo.path / ".git" / "config", "a", encoding="utf-8") as file:
        file.writelines(f'[branch "b{number}"]\n\tagentHandle = aaaaaaaa\n' for number in range(count))
    monkeypatch.chdir(cli.repo.path)
    found = [one for one in examine.examine()[1] if one.code == "pointers_many"]
    assert [" ".join(one.problem.split()[:2]) for one in found] == said
    assert all(one.fix.startswith("git agent prune --merged") for one in found)


def test_counts_on_a_terminal_once_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # faults D1
    """Half a second passes at each look at the clock. Nothing of it stays, and elsewhere nothing is written. What comes
    later in the same command does not wait anew.
    """
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=count(0, 0.5).__next__))
    monkeypatch.setattr(progress, "_BEGAN", 0.0)
    assert list(progress.counted("runs", "abcd")) == ["a", "b", "c", "d"]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(progress.counted("runs", "abcd")) == ["a", "b", "c", "d"]
    drawn = [f"runs: {number} of 4\x1b[K" for number in (2, 3)]
    assert capsys.readouterr().err.split("\r") == ["", *drawn, "\x1b[K"]
    assert list(progress.counted("notes", "a")) == ["a"]
    assert capsys.readouterr().err.split("\r") == ["", "notes: 0 of 1\x1b[K", "\x1b[K"]


def test_prune_counts_on_a_terminal(
    here: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # faults D2
    for number in range(4):
        leave(here.repo, f"{number:08x}", "record", branch="gone")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=count(0, 0.5).__next__))
    monkeypatch.setattr(progress, "_BEGAN", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert ask("prune", "-n", "--merged") == 0
    assert "\rruns: 3 of 4\x1b[K" in capsys.readouterr().err


def test_resume_all_reads_no_attempt_of_a_completed_run_and_all_reflogs_at_once(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:  # faults D3
    """On each of two branches two runs that were completed: the older one has no pointer."""
    for name, handles in (("one", ("aaaaaaaa", "bbbbbbbb")), ("two", ("cccccccc", "dddddddd"))):
        cli.repo.switch_new(name)
        for handle in handles:
            leave(cli.repo, handle, "record pointer")
    monkeypatch.chdir(cli.repo.path)
    monkeypatch.setattr(attempts, "latest", None)
    monkeypatch.setattr(attempts, "standing", None)
    monkeypatch.setattr(refs, "reflog", None)  # one process for each branch
    assert resume_all.resume_all(context.load(), resume_all.ResumeAllRequest(None, dry_run=True)) == 0


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            lambda ctx: pruning.choose(ctx, listing.listing(ctx.layout, 2.0**33).rows, Criteria(merged=True), 2.0**33),
            id="prune",
        ),
        pytest.param(
            lambda ctx: resume_all.resume_all(ctx, resume_all.ResumeAllRequest(None, dry_run=True)), id="resume"
        ),
    ],
)
def test_a_run_is_compared_with_no_branch_that_never_had_its_name(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: Callable[[context.Context], object]
) -> None:  # faults D2, D3
    """One run's branch is gone; the other one's was renamed, and nothing but its reflog says so."""
    cli.repo.switch_new("old")
    leave(cli.repo, "aaaaaaaa", "record")
    cli.repo.git("branch", "-m", "new")
    cli.repo.git("branch", "other")
    leave(cli.repo, "bbbbbbbb", "record", branch="gone")
    monkeypatch.chdir(cli.repo.path)
    compared: set[tuple[str, str]] = set()
    claim = Identities.claim

    def counted(self: Identities, name: str, run: KnownRun) -> Any:
        compared.add((name, run.handle))
        return claim(self, name, run)

    monkeypatch.setattr(Identities, "claim", counted)
    command(context.load())
    assert compared == {("new", "aaaaaaaa")}


def test_resume_all_asks_git_no_more_often_for_more_runs(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # faults D3
    """Runs whose branches are in linked work trees now, one of which is being bisected, and in none."""
    spawned: list[tuple[str, ...]] = []
    spawn = git._spawn

    def counted(words: Any, *rest: Any) -> git.Result:
        spawned.append(tuple(words))
        return spawn(words, *rest)

    asked: list[int] = []
    for number in range(3):
        for branch, handle in ((f"there{number}", f"{number}" * 8), (f"nowhere{number}", f"{number}{'a' * 7}")):
            here.repo.git("branch", branch)
            leave(here.repo, handle, "record pointer", branch=branch, status="interrupted")
        linked = here.repo.worktree(tmp_path / str(number), f"there{number}")
        linked.git("bisect", "start")
        linked.git("checkout", "-q", "--detach")
        with monkeypatch.context() as patched:
            patched.setattr(git, "_spawn", counted)
            resume_all.resume_all(context.load(), resume_all.ResumeAllRequest(None, dry_run=True))
        asked.append(len(spawned))
        spawned.clear()
    assert asked == asked[:1] * 3
    told = capsys.readouterr().out.splitlines()[-6:]
    assert [sum(word in line for line in told) for word in ("would begin", "is not checked out anywhere")] == [3, 3]


def test_prune_reads_no_attempt_of_a_completed_run(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # faults D2
    """A run that was interrupted is another matter: its engine may have outlived its git-agent."""
    for handle, status in (("aaaaaaaa", "completed"), ("bbbbbbbb", "interrupted"), ("cccccccc", "completed")):
        made = leave(here.repo, handle, "record", branch="gone", status=status)
        attempts.begin(here.layout, attempt_of(made, START))
    read: list[str] = []
    whole = ordinary.whole

    def read_whole(path: str, limit: int) -> bytes:
        read.append(path)
        return whole(path, limit)

    ctx = context.load()
    listed = listing.listing(ctx.layout, 2.0**33).rows
    monkeypatch.setattr(ordinary, "whole", read_whole)
    held = locks.try_lock(ctx.layout.run_lock("cccccccc"))
    assert held
    runs = pruning.choose(ctx, listed, Criteria(merged=True), 2.0**33)
    held.release()
    assert [path for path in read if "bbbbbbbb" not in path] == []
    assert len(read) == 1
    kept = {run.row.handle: run.kept for run in runs}
    assert kept == {"aaaaaaaa": None, "bbbbbbbb": None, "cccccccc": "it is running"}


class Rounds:
    """In place of an inbox: wakes at once, and ends the watch after that many rounds. `read` are the files and git
    processes of each.
    """

    def __init__(self, fd: int, ends: int, between: Callable[[int], None]) -> None:
        self.fd = fd
        self.read: list[set[str]] = [set()]
        self._ends = ends
        self._between = between

    def collect(self) -> None:
        self._between(len(self.read))
        self.read.append(set())

    def take(self) -> tuple[int, ...]:
        return (15,) if len(self.read) > self._ends else ()


def test_watch_reads_of_a_sleeping_run_only_what_changed(
    here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:  # faults D9
    """Two are at work. After the third round one is rewritten, after the fourth the other's git-agent is killed."""
    layout, begun = here.layout, timestamp()
    known = [leave(here.repo, handle, "record", status=None) for handle in ("aaaaaaaa", "bbbbbbbb")]
    made = [attempt_of(record, begun)._replace(ended_at=None, boot_id="another") for record in known]
    for attempt in made:
        attempts.begin(layout, attempt)
    held = [lock for record in known if (lock := locks.try_lock(layout.run_lock(record.handle)))]
    files = [f"{layout.attempt(attempt.run_id, 1)}/attempt.yaml" for attempt in made]

    def between(number: int) -> None:
        if number == 3:
            attempts.save(layout, made[0]._replace(pid=1))
        if number == 4:
            held[1].release()

    with open("/dev/zero", "rb") as ready:
        inbox = Rounds(ready.fileno(), 5, between)
        whole, spawn = ordinary.whole, git._spawn

        def read(path: str | os.PathLike[str], limit: int) -> bytes:
            inbox.read[-1].add(os.fspath(path))
            return whole(path, limit)

        def asked(words: Any, *rest: Any) -> git.Result:
            inbox.read[-1].add("git")
            return spawn(words, *rest)

        monkeypatch.setattr(ordinary, "whole", read)
        monkeypatch.setattr(git, "_spawn", asked)
        watch = Watch(context.load(), Policy(), 1, cast("Inbox", inbox))
        inbox.read = [set()]  # without what it took to load
        assert watch.run(once=False) == 15
    held[0].release()
    own = [{path for path in one if path == "git" or path.endswith("attempt.yaml")} for one in inbox.read]
    assert own[:5] == [{"git", *files}, set(), set(), {"git", files[0]}, {"git", files[1]}]


def test_watch_lists_the_runs_again_only_after_a_write(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:  # faults D9
    """A record is written after the third round; after the fourth it is time to look for what a person has edited."""
    layout, begun = here.layout, timestamp()
    known = [leave(here.repo, handle, "record", status=None) for handle in ("aaaaaaaa", "bbbbbbbb")]
    for record in known:
        attempts.begin(layout, attempt_of(record, begun)._replace(ended_at=None, boot_id="another"))
    held = [lock for record in known if (lock := locks.try_lock(layout.run_lock(record.handle)))]
    listed: list[int] = []

    def between(number: int) -> None:
        if number == 3:
            context.load().runs.update("aaaaaaaa", lambda old: old._replace(updated_at=timestamp()))
        if number == 4:
            monkeypatch.setattr(watching, "EDITS", 0.0)

    with open("/dev/zero", "rb") as ready:
        inbox = Rounds(ready.fileno(), 5, between)
        work = listing.work

        def counted(layout: Layout, now: float) -> listing.Listing:
            listed.append(len(inbox.read))
            return work(layout, now)

        monkeypatch.setattr(listing, "work", counted)
        monkeypatch.setattr(listing, "_RACY_NS", -(10**18))
        Watch(context.load(), Policy(), 1, cast("Inbox", inbox)).run(once=False)
    for lock in held:
        lock.release()
    assert listed == [1, 4, 5]


def test_when_a_process_began_is_what_psutil_says() -> None:  # faults D8
    """Whose import takes longer than all that `start` does itself: a process is compared with what was written down."""
    assert began(os.getpid()) == psutil.Process().create_time()
    with pytest.raises(psutil.NoSuchProcess):
        began(2**22 + 1)


COUNTED = """
import json, sys
from git_agent_extractors import ordinary
from git_agent_runner import cli, git
from git_agent_runner.core import checkpoints
seen = {"git": 0, "records": 0}
ASIDE = ["psutil", "orjson", "random", "tempfile", "string", "difflib"]
ASIDE += ["git_agent_extractors." + name for name in ("claude", "codex", "gemini")]
def counting(module, name, what, of=lambda path: True):
    ask = getattr(module, name)
    def counted(*words):
        seen[what] += of(words[0])
        return ask(*words)
    setattr(module, name, counted)
counting(git, "_spawn", "git")
counting(ordinary, "whole", "records", lambda path: "/agent/index/" in str(path))
def at(step):
    if step in ("engine-spawned", "engine-ended"):
        seen["loaded"] = [name for name in ASIDE if name in sys.modules]
        with open(sys.argv[1], "a") as file:
            print(json.dumps(seen), file=file)
checkpoints.watcher = at
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("words", "before", "beside", "records"),
    [
        pytest.param(("start", "-e", "codex", "first"), 3, 8, 1, id="first"),
        pytest.param(("start", "-e", "codex", "next"), 4, 9, 3, id="next"),
        pytest.param(("resume", "go on"), 4, 7, 3, id="resume"),
    ],
)
def test_start_and_resume_ask_git_little_before_the_engine_works(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], before: int, beside: int, records: int
) -> None:  # faults D8
    """What goes before the engine, and what is done beside it until it ends: its run is the branch's by then."""
    if words[-1] != "first":
        cli.begin()
    told = tmp_path / "told"
    subprocess.run(
        (sys.executable, "-P", "-c", COUNTED, told, *words), cwd=cli.repo.path, env=cli.environ(), check=True
    )
    spawned, ended = map(json.loads, told.read_text().splitlines())
    assert 0 < spawned["git"] <= before
    if words[-1] != "first":  # which asks the engine for its version
        assert spawned["loaded"] == []
        assert [name for name in ended["loaded"] if name != "psutil"] == ["orjson", "git_agent_extractors.codex"]
    assert 0 < ended["git"] <= beside
    assert ended["records"] <= records


def test_list_reads_no_row_beyond_those_that_it_shows(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # faults D6
    """What is no text, beyond the newest fifty, goes unseen until all are asked for: the list is made again then."""
    handles = [f"{number:08x}" for number in range(60)]
    for number, handle in enumerate(handles):
        leave(cli.repo, handle, "record", updated_at=f"2026-11-27T10:15:{number:02}.250Z")
    listing.listing(cli.layout, time.time() + 3600)
    file = Path(cli.layout.cache_file)
    whole = file.read_bytes()
    *before, rows = whole.partition(b"\n\n")
    spoiled = b"".join(before) + b"\n".join(
        row.replace(b"2026", b"\xff" * 4) if number >= 50 else row for number, row in enumerate(rows.split(b"\n"))
    )
    file.write_bytes(spoiled)
    monkeypatch.chdir(cli.repo.path)
    assert ask("list", "--json") == 0
    assert [run["handle"] for run in json.loads(capsys.readouterr().out)["runs"]] == handles[:9:-1]
    assert file.read_bytes() == spoiled
    assert ask("list", "--all", "--json") == 0
    assert [run["handle"] for run in json.loads(capsys.readouterr().out)["runs"]] == handles[::-1]
    assert file.read_bytes() == whole


def test_status_of_a_branch_without_a_run_looks_at_no_run_of_others(
    here: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # faults D5
    """However many there are, and however long its history: seven questions to git, and no row, note or record."""
    for number in range(3):
        here.repo.commit(f"work {number}")
        leave(here.repo, f"{number:08x}", "record note", branch="other")
    here.repo.switch_new("mine")
    here.repo.commit("mine")
    monkeypatch.setattr(listing, "_MANY", 2)
    monkeypatch.setattr(candidates, "SUSPECTS", 1)
    ctx = context.load()
    listing.listing(ctx.layout, time.time() + 3600)
    assert ask("status") == 128  # the file of what the notes name is made
    asked: list[str] = []
    read: list[str] = []
    spawn, whole, row = git._spawn, ordinary.whole, rows.row

    def counted(words: Any, *rest: Any) -> git.Result:
        asked.append(next(word for word in words if not word.startswith("-")))
        return spawn(words, *rest)

    monkeypatch.setattr(git, "_spawn", counted)

    def read_whole(path: str, limit: int) -> bytes:
        read.append(path)
        return whole(path, limit)

    def decoded(line: bytes) -> Row:
        read.append("row")
        return row(line)

    monkeypatch.setattr(ordinary, "whole", read_whole)
    monkeypatch.setattr(rows, "row", decoded)
    monkeypatch.setattr(time, "time", partial(time.time().__add__, 60.0))
    assert ask("status") == 128
    assert "no run found for branch 'mine'" in capsys.readouterr().err
    assert sorted(asked) == sorted(["rev-parse", "config", "log", "for-each-ref", "rev-list", "ls-tree", "rev-parse"])
    assert [path for path in read if path == "row" or "/agent/" in path] == ["row"]
