"""A repository that was moved is the same one, and a copy is another; what either does to the engines' stores."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_extractors.model import Session
from git_agent_runner.core.model import Record
from git_agent_runner.engines.files import dashes
from support.cli import Cli, Done
from support.gitrepo import GitRepo

ENGINES = ("codex", "claude", "gemini", "opencode", "qwen", "copilot")
OTHERS = ("fake.log", "opencode.db", "projects.json")  # what all sessions share
BOUND = ("gemini", "opencode", "qwen")  # they find a session only from its own directory


def at(cli: Cli, place: Path) -> Cli:
    return Cli(GitRepo(place), cli.home)


def move(cli: Cli, place: Path) -> Cli:
    cli.repo.path.rename(place)
    return at(cli, place)


def copy(cli: Cli, place: Path) -> Cli:
    shutil.copytree(cli.repo.path, place, symlinks=True)
    return at(cli, place)


def cwds(cli: Cli) -> list[str]:
    return [call["cwd"] for call in cli.calls()]


def asked(cli: Cli, session: Session) -> bool:
    """Was the newest engine process asked for this session?"""
    return any(str(session.value) in word for word in cli.calls()[-1]["argv"])


def place(record: Record) -> tuple[str, str, str]:
    return record.worktree, record.cwd, record.common_dir


def files(home: Path) -> dict[Path, bytes]:
    """What the engines keep, but for what is ours and the log."""
    found = (path for path in home.rglob("*") if path.is_file() and "git-agent" not in path.parts)
    return {path: path.read_bytes() for path in found if path.name not in OTHERS}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_moved_repository_goes_on_with_its_session(cli: Cli, tmp_path: Path, engine: str) -> None:
    """faults B12: said once, and the record follows."""
    begun = cli.begin(engine)
    there = move(cli, tmp_path / "other name")
    done, quiet = there.ok("resume", "two"), there.ok("resume", "three")
    assert asked(there, begun.session)
    assert cwds(there)[1:] == [str(there.repo.path)] * 2
    assert (str(there.repo.path) in done.err, str(there.repo.path) in quiet.err) == (True, False)
    now = there.record()
    assert (now.session, now.parent_session) == (begun.session, None)
    assert place(now) == (str(there.repo.path), str(there.repo.path), f"{there.repo.path}/.git")


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_container_path_and_home_are_others(cli: Cli, tmp_path: Path, engine: str) -> None:
    """faults B12: the store there is empty, and the run's own copy is put into it for the new path."""
    begun = cli.begin(engine)
    there = move(cli, tmp_path / "workspace")
    home = tmp_path / "root"
    home.mkdir()
    for words in ("two", "three"):
        there.ok("resume", words, HOME=str(home), XDG_DATA_HOME=f"{home}/.local/share")
    assert (cwds(there)[1:], asked(there, begun.session)) == ([str(there.repo.path)] * 2, True)
    assert there.record().session == begun.session


@pytest.mark.parametrize("engine", BOUND)
def test_a_link_at_the_old_name_leads_to_the_same_place(cli: Cli, tmp_path: Path, engine: str) -> None:
    """faults B12"""
    begun = cli.begin(engine)
    there = move(cli, tmp_path / "new")
    cli.repo.path.symlink_to(there.repo.path)
    cli.ok("resume", "through the link")
    there.ok("resume", "there")
    assert (cwds(there)[1:], asked(there, begun.session)) == ([str(there.repo.path)] * 2, True)


def test_a_subdirectory_comes_along(cli: Cli, tmp_path: Path) -> None:
    (cli.repo.path / "src").mkdir()
    cli.begin("gemini", cwd=cli.repo.path / "src")
    there = move(cli, tmp_path / "new")
    there.ok("resume", "two")
    assert (cwds(there)[-1], there.record().worktree) == (f"{there.repo.path}/src", str(there.repo.path))


@pytest.mark.parametrize("engine", BOUND)
def test_a_moved_repository_on_another_branch_says_how_to_switch(cli: Cli, tmp_path: Path, engine: str) -> None:
    """faults B12: nothing is to be made at the old path."""
    cli.repo.switch_new("side")
    cli.begin(engine)
    cli.repo.git("switch", "-q", "main")
    there = move(cli, tmp_path / "new")
    done = there.run("resume", "--branch", "side", "x")
    assert (done.status, done.lines[1]) == (128, "hint: git switch side")
    there.repo.git("switch", "-q", "side")
    there.ok("resume", "x")


@pytest.mark.parametrize("engine", BOUND)
def test_cwd_is_remembered_where_the_old_directory_is_gone(cli: Cli, engine: str) -> None:
    """faults B12: a package that a commit renamed; the hint works when it is followed."""
    (cli.repo.path / "api").mkdir()
    begun = cli.begin(engine, cwd=cli.repo.path / "api")
    (cli.repo.path / "api").rename(cli.repo.path / "core")
    done = cli.run("resume", "two")
    assert (done.status, "--cwd DIR" in done.lines[1]) == (128, True)
    cli.ok("resume", "--cwd", "core", "two")
    cli.ok("resume", "three")
    assert (cwds(cli)[1:], asked(cli, begun.session)) == ([f"{cli.repo.path}/core"] * 2, True)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_goes_on_with_a_copy_of_the_session(cli: Cli, tmp_path: Path, engine: str) -> None:
    """faults B12, G7"""
    begun = cli.begin(engine)
    there, before = copy(cli, tmp_path / "copy"), files(cli.home)
    done = there.ok("resume", "in the copy")
    now = there.record()
    assert (now.parent_session, now.session == begun.session) == (begun.session.value, False)
    assert (asked(there, now.session), asked(there, begun.session)) == (True, False)
    assert cwds(there)[-1] == str(there.repo.path)
    assert f"belongs to the repository '{cli.repo.path}', of which this is a copy" in done.err
    assert {path: data for path, data in files(cli.home).items() if path in before} == before
    there.ok("resume", "again")
    assert (there.record().session, asked(there, now.session)) == (now.session, True)
    cli.ok("resume", "in the original")
    assert (cli.record().session, asked(cli, begun.session)) == (begun.session, True)


def linked(cli: Cli, path: Path) -> Cli:
    cli.repo.git("worktree", "add", "-q", "-b", "side", str(path))
    return at(cli, path)


def apart(cli: Cli, path: Path) -> Cli:
    path.mkdir()
    cli.repo.git("init", "-q", "--separate-git-dir", str(path / "git"))
    return cli


@pytest.mark.parametrize("how", [linked, apart])
def test_a_copied_work_tree_is_refused_where_git_takes_it_for_the_first(
    cli: Cli, tmp_path: Path, how: Callable[[Cli, Path], Cli]
) -> None:
    """faults A8, B12: its `.git` file leads to the first one's HEAD and index; the hint works when it is followed."""
    first = how(cli, tmp_path / "tree")
    begun = first.begin()
    there = copy(first, tmp_path / "copy")
    words = f'git agent resume {begun.handle} "<message>"'
    for command in (("resume", "x"), ("start", "--resume", "x"), ("resume", "--fallback", "fresh", "x")):
        done = there.run(*command)
        why = f"'{there.repo.path}' is a copy of the work tree '{first.repo.path}', and git takes both for one"
        assert (done.status, done.lines) == (128, [f"fatal: {why}", f"hint: cd {first.repo.path} && {words}"])
    first.ok("resume", "x")
    assert cwds(there)[-1] == str(first.repo.path)


def test_nothing_is_started_in_a_copied_work_tree(cli: Cli, tmp_path: Path) -> None:
    """faults A8, B12"""
    there = copy(linked(cli, tmp_path / "tree"), tmp_path / "copy")
    done = there.run("start", "-e", "codex", "x")
    assert (done.status, done.lines[1:], cli.calls()) == (128, [f"hint: cd {tmp_path}/tree"], [])


def test_an_engine_whose_sessions_cannot_be_copied_is_refused_in_a_copy(cli: Cli, tmp_path: Path) -> None:
    """faults B12: the way on works when it is followed."""
    cli.begin("iflow")
    there = copy(cli, tmp_path / "copy")
    done = there.run("resume", "--json", "x")
    assert (done.status, done.json["error"]["code"]) == (128, "repository_copied")
    follow(there, there.run("resume", "x"))
    assert cwds(there)[1:] == [str(cli.repo.path), str(there.repo.path)]


def follow(cli: Cli, done: Done) -> None:
    """Do what each hint says that is a command, as a person would who pastes it."""
    for line in done.lines:
        if line.startswith("hint: ") and "git agent " in line:
            command = line.rpartition(": ")[2].replace("<message>", "go on")
            words = shlex.split(command)
            cwd = Path(words[1]) if words[0] == "cd" else None
            cli.ok(*words[words.index("agent") + 1 :], cwd=cwd)


def test_a_second_copy_goes_on_with_a_session_of_its_own(cli: Cli, tmp_path: Path) -> None:
    """The first one is removed, so that its inode may be given out again."""
    cli.begin()
    first = copy(cli, tmp_path / "copy")
    first.ok("resume", "in the first copy")
    session = first.record().session
    shutil.rmtree(first.repo.path)
    second = copy(cli, tmp_path / "copy")
    second.ok("resume", "in the second copy")
    assert second.record().session not in (session, cli.record().session)


def test_what_is_in_the_session_s_place_stays(cli: Cli, tmp_path: Path) -> None:
    """faults B12: unattended nothing takes its place; on the person's word a new session does."""
    begun = cli.begin("qwen")
    (source,) = (cli.home / ".qwen/projects").rglob("*.jsonl")
    there = move(cli, tmp_path / "new")
    target = Path(str(source).replace(source.parents[1].name, dashes(str(there.repo.path))))
    target.parent.mkdir(parents=True)
    target.write_text('{"type": "user", "message": "another"}\n')
    for words in (["resume"], ["start", "--resume"]):
        done = there.run(*words, "--json", "x")
        assert (done.status, done.json["error"]["code"]) == (128, "session_not_placed")
    assert (there.record(), len(cwds(there))) == (begun, 1)
    assert target.read_text() == '{"type": "user", "message": "another"}\n'
    follow(there, there.run("resume", "x"))
    assert (there.record().parent_session, len(cwds(there))) == (begun.session.value, 2)


def test_of_two_that_were_both_moved_one_is_the_copy(cli: Cli, tmp_path: Path) -> None:
    """faults B12: the copy lies at the old name, and goes on first."""
    begun = cli.begin()
    there = move(cli, tmp_path / "new")
    copy(there, cli.repo.path)
    cli.ok("resume", "at the old name")
    assert asked(cli, begun.session)
    there.ok("resume", "the original")
    assert there.record().parent_session == begun.session.value
    assert cli.record().session == begun.session


def test_a_copy_whose_original_is_gone_is_the_repository(cli: Cli, tmp_path: Path) -> None:
    """faults B12: as a move to another disk is."""
    begun = cli.begin("gemini")
    there = copy(cli, tmp_path / "copy")
    shutil.rmtree(cli.repo.path)
    there.ok("resume", "x")
    assert (there.record().session, cwds(there)[-1]) == (begun.session, str(there.repo.path))


def test_a_copy_does_not_work_in_the_original_s_linked_work_tree(cli: Cli, tmp_path: Path) -> None:
    """faults B12: git lists it as the copy's own."""
    at(cli, cli.repo.worktree(tmp_path / "linked", "side").path).begin()
    there = copy(cli, tmp_path / "copy")
    done = there.run("resume", "--branch", "side", "x")
    assert (done.status, len(cwds(cli))) == (128, 1)
    assert done.lines[1] == "hint: git switch --ignore-other-worktrees side"
    there.repo.git("switch", "-q", "--ignore-other-worktrees", "side")
    there.ok("resume", "x")
    assert cwds(there)[-1] == str(there.repo.path)


@pytest.mark.parametrize("detached", [False, True])
def test_a_moved_repository_s_linked_work_tree_wants_repair(cli: Cli, tmp_path: Path, detached: bool) -> None:
    """faults B12: to git it is checked out there; the hint works when it is followed."""
    linked = at(cli, cli.repo.worktree(tmp_path / "linked", "side").path)
    if detached:
        linked.repo.git("checkout", "-q", "--detach")
    handle = linked.begin().handle
    there = move(cli, tmp_path / "new")
    done = there.run("resume", handle, "x")
    assert (done.status, done.lines[1]) == (128, f"hint: git worktree repair {linked.repo.path}")
    there.repo.git("worktree", "repair", str(linked.repo.path))
    there.ok("resume", handle, "x")
    assert cwds(there)[-1] == str(linked.repo.path)


def test_a_dry_run_in_a_copy_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    cli.begin("claude")
    there, before = copy(cli, tmp_path / "copy"), files(cli.home)
    record = there.record()
    told = there.ok("resume", "-n", "--json", "x")
    assert "would be made for this one" in told.err
    assert (there.record(), files(cli.home)) == (record, before)
    there.ok("resume", "x")
    assert there.record().session.value == told.json["session"]


def test_opencode_does_not_run_in_another_directory_without_a_word(cli: Cli, tmp_path: Path) -> None:
    """faults A12: its store names another one; the hint works when it is followed."""
    begun = cli.begin("opencode")
    other = tmp_path / "other"
    other.mkdir()
    with sqlite3.connect(cli.home / ".local/share/opencode/opencode.db") as database:
        database.execute("UPDATE session SET directory = ?", (str(other),))
    database.close()
    done = cli.run("resume", "--json", "x")
    assert (done.status, done.json["error"]["code"], len(cwds(cli))) == (128, "directory_bound", 1)
    first = next(line for line in cli.run("resume", "x").lines if line.startswith("hint: "))
    follow(cli, Done(0, "", first))
    assert (cwds(cli)[1:], asked(cli, begun.session)) == ([str(other)], True)
