"""`git agent prune`: what is forgotten, what stays and why, and that nothing else is touched."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from git_agent_runner.core.model import Record
from git_agent_runner.store import pointer
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.index import Index
from support.cli import Cli, ask
from support.runs import leave
from support.waiting import until

NOW = "2026-11-27T10:15:02.250Z"
OLD = "2020-01-01T00:00:00.000Z"


def run(
    cli: Cli, handle: str, *, when: str = NOW, size: int = 1000, branch: str = "main", what: str = "record"
) -> Record:
    """A finished run with a directory of about that size."""
    made = leave(cli.repo, handle, what, updated_at=when, branch=branch)
    folder = Path(cli.layout.run(made.run_id))
    folder.mkdir(parents=True)
    (folder / "printed").write_bytes(b"x" * size)
    return made


def left(cli: Cli) -> list[str]:
    runs = sorted(path.name[-8:] for path in Path(cli.layout.runs_dir).iterdir())
    assert Index(cli.layout).handles() == runs
    return runs


A, B, C, D = "aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"


@pytest.mark.parametrize(
    ("words", "stays"),
    [
        pytest.param(["--older-than", "30d"], [B], id="age"),
        pytest.param(["--older-than", "100000d"], [A, B, C], id="nothing is that old"),
        pytest.param(["--keep-size", "2500"], [B, C], id="size takes the oldest"),
        pytest.param(["--keep-size", "1K"], [B], id="size"),
        pytest.param(["--keep-size", "1G"], [A, B, C], id="it fits"),
        pytest.param(["--older-than", "30d", "--keep-size", "2500"], [B, C], id="both must hold"),
        pytest.param([A, "bbbb"], [C], id="named"),
    ],
)
def test_what_is_forgotten(cli: Cli, words: list[str], stays: list[str]) -> None:
    run(cli, C, when="2020-06-01T00:00:00.000Z")
    run(cli, B, when=f"{time.strftime('%Y-%m-%d')}T00:00:00.000Z")
    run(cli, A, when=OLD)
    before = cli.state()
    dry = cli.ok("prune", "-n", "--json", *words).json
    assert cli.state() - before <= {"cache", "cache/list"}
    done = cli.ok("prune", "--json", *words).json
    assert left(cli) == stays
    assert {**done, "dryRun": True} == dry
    assert sorted(one["handle"] for one in done["removed"]) == sorted({A, B, C} - set(stays))
    assert done["bytes"] == 1000 * len(done["removed"])


def merged(cli: Cli, branch: str, how: str) -> None:
    cli.repo.switch_new(branch)
    start = cli.repo.head()
    run(cli, {"merged": A, "open": B, "gone": C, "fresh": D}[how], when=OLD, branch=branch, what="record pointer")
    if how != "fresh":
        cli.repo.commit(f"work on {branch}")
    cli.repo.git("checkout", "-q", "main")
    if how == "merged":
        cli.repo.git("merge", "-q", "--no-ff", "-m", "m", branch)
    if how == "gone":
        cli.repo.git("branch", "-q", "-D", branch)
    assert start


def test_merged_branches(cli: Cli) -> None:
    """A branch without commits of its own since the run began is at its beginning, not at its end."""
    for how in ("merged", "open", "gone", "fresh"):
        merged(cli, f"b-{how}", how)
    done = cli.ok("prune", "--merged")
    assert left(cli) == [B, D]
    assert done.out.splitlines()[-1] == "removed 2 runs, 2.0 KiB"
    assert cli.pointers() == {"b-open": B, "b-fresh": D}
    assert cli.run("doctor", "--repair").out.splitlines()[-1] == "nothing else is wrong"


def test_an_unmerged_branchs_run_stays_unless_it_is_named(cli: Cli) -> None:
    run(cli, A, when=OLD, what="record note pointer")
    done = cli.ok("prune", "--older-than", "30d")
    assert done.lines == [f"warning: run {A} was not removed: it is the run of branch 'main', which is not merged"]
    assert done.out == "removed 0 runs, 0 B\n"
    cli.ok("prune", A)
    assert (left(cli), cli.pointers(), cli.noted()) == ([], {}, [A])
    done = cli.run("resume", "x")
    assert done.lines[0].startswith(f"fatal: run {A} is known only from its note")


def test_notes_are_taken_along_when_asked(cli: Cli) -> None:
    run(cli, A, when=OLD, what="record note")
    run(cli, B, when=OLD, what="record note")
    cli.repo.commit("more")
    leave(cli.repo, A, "note")
    other = cli.repo.git("notes", "--ref=agent", "show", "HEAD~1").splitlines()
    cli.ok("prune", A, "--notes")
    assert cli.noted() == [B]
    assert cli.repo.git("notes", "--ref=agent", "show", "HEAD~1").splitlines() == [x for x in other if A not in x]
    assert len(cli.repo.git("notes", "--ref=agent", "list").splitlines()) == 1


def test_a_run_that_was_forgotten_here_is_not_said_to_be_elsewhere(cli: Cli) -> None:
    """faults B9: the hint adopts it again, where its engine still has the session; else none says that it would."""
    begun = cli.begin()
    cli.ok("prune", begun.handle)
    take_up = f"hint: it was run on this machine; to adopt it again here: git agent adopt {begun.handle}"
    assert cli.run("status").lines[1] == take_up
    assert "elsewhere" not in cli.run("doctor").out
    cli.ok("adopt", begun.handle)
    cli.ok("resume", "go on")
    assert cli.record().session == begun.session
    cli.ok("prune", begun.handle)
    shutil.rmtree(cli.home / ".codex/sessions")
    done = cli.run("resume", "go on")
    assert (done.status, [line for line in done.lines if "git agent adopt" in line or "machine" in line]) == (128, [])
    assert "has no such session" in done.lines[1]


def test_a_run_that_goes_on_stays(cli: Cli) -> None:
    process = cli.start("start", "-e", "codex", "x", FAKE_CMD="sleep 600")
    until(lambda: Index(cli.layout).handles() and cli.attempt().pid, "the engine runs")
    handle = cli.record().handle
    done = cli.run("prune", handle)
    assert (done.status, done.lines) == (1, [f"warning: run {handle} was not removed: it is running"])
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    cli.ok("prune", handle)
    assert left(cli) == []


def test_a_run_that_was_never_settled_stays(cli: Cli) -> None:
    begun = cli.begin()
    attempt = cli.attempt()
    attempts.save(cli.layout, attempt._replace(ended_at=None, status=None, pid=None))
    done = cli.run("prune", begun.handle)
    assert done.lines == [
        f"warning: run {begun.handle} was not removed: its last attempt was never settled: git agent doctor --repair"
    ]
    cli.ok("doctor", "--repair")
    cli.ok("prune", begun.handle)


def test_links_in_a_run_are_not_followed(cli: Cli, tmp_path: Path) -> None:
    made = run(cli, A, when=OLD)
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "file").write_bytes(b"x" * 5000)
    os.symlink(treasure, Path(cli.layout.run(made.run_id), "link"))
    os.symlink(treasure / "file", Path(cli.layout.run(made.run_id), "file"))
    assert cli.ok("prune", "--older-than", "1h", "--json").json["bytes"] < 5000
    other = run(cli, B, when=OLD)
    shutil.rmtree(cli.layout.run(other.run_id))
    os.symlink(treasure, cli.layout.run(other.run_id))
    cli.ok("prune", B)
    assert (treasure / "file").stat().st_size == 5000
    assert left(cli) == []


def test_what_a_killed_prune_left_is_a_scrap(cli: Cli) -> None:
    begun = cli.begin()
    trash = Path(cli.layout.runs_dir, f".pruned-{begun.run_id}")
    shutil.copytree(cli.layout.run(begun.run_id), trash)
    (problem,) = cli.run("doctor", "--json").json["problems"]
    assert problem["code"] == "scraps"
    assert cli.ok("doctor", "--repair").out.endswith("nothing else is wrong\n")
    assert (trash.exists(), Path(cli.layout.run(begun.run_id)).exists()) == (False, True)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        pytest.param([], 129, "which runs?", id="nothing"),
        pytest.param(["-n"], 129, "which runs?", id="dry run of nothing"),
        pytest.param([A, "--merged"], 129, "both handles and criteria were given", id="both"),
        pytest.param(["--older-than", "soon"], 129, "invalid age 'soon'", id="age"),
        pytest.param(["--keep-size", "-1"], 129, "'-1' is not a size", id="size"),
        pytest.param(["deadbeef"], 128, "no readable run has the handle 'deadbeef'", id="unknown"),
        pytest.param([A, "../../x"], 128, "no readable run has the handle '../../x'", id="a path"),
    ],
)
def test_refusals_remove_nothing(cli: Cli, words: list[str], status: int, said: str) -> None:
    run(cli, A, when=OLD)
    done = cli.run("prune", *words)
    assert (done.status, done.lines[0]) == (status, f"fatal: {said}")
    assert left(cli) == [A]


def test_what_cannot_be_read_is_passed_over(cli: Cli) -> None:
    run(cli, A, when=OLD)
    run(cli, B, when=OLD)
    Path(cli.layout.index_file(A)).write_text("{torn")
    done = cli.ok("prune", "--older-than", "30d")
    assert done.lines[0].startswith(f"warning: skipped: cannot read '{cli.layout.index_file(A)}'")
    assert left(cli) == [A]


def test_another_branchs_pointer_stays(cli: Cli) -> None:
    run(cli, A, when=OLD)
    run(cli, B, what="record pointer")
    pointer.write(cli.repo.facts(), "other", A)
    cli.ok("prune", A)
    assert cli.pointers() == {"main": B}


class Killed(BaseException):
    """As SIGKILL: nothing of ours gets to say anything."""


def die(*_: object, **__: object) -> None:
    raise Killed


@pytest.mark.parametrize(
    ("place", "forgotten"),
    [
        pytest.param("git_agent_runner.store.gitconfig.unset", False, id="before the pointer"),
        pytest.param("git_agent_runner.core.atomic.remove", False, id="before the record"),
        pytest.param("os.rename", False, id="before the directory"),
        pytest.param("git_agent_runner.maintain.pruning.throw_away", True, id="before it is emptied"),
        pytest.param("git_agent_runner.store.notes.drop.drop", True, id="before the note"),
    ],
)
def test_killed_on_the_way(here: Cli, monkeypatch: pytest.MonkeyPatch, place: str, forgotten: bool) -> None:
    begun = here.begin("codex")
    with monkeypatch.context() as patch:
        patch.setattr(place, die)
        with pytest.raises(Killed):
            ask("prune", begun.handle, "--notes")
    assert here.run("doctor", "--repair", "--json").json["problems"] == []
    assert left(here) == ([] if forgotten else [begun.handle])
    if not forgotten:
        here.ok("resume", begun.handle, "go on")
        here.ok("prune", begun.handle)
    assert here.run("doctor").status == 0


def test_what_a_killed_prune_left_of_the_same_run_is_not_in_the_way(cli: Cli) -> None:
    """A run that its note brought back has the same name again."""
    made = run(cli, A)
    remains = Path(cli.layout.runs_dir, f".pruned-{made.run_id}")
    remains.mkdir()
    (remains / "printed").touch()
    cli.ok("prune", A)
    assert left(cli) == []
