"""Where a run goes on: on its own branch, in a directory where this engine version finds the session, or not at all."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from system.stores import sessions
from system.support import ALLOW, BRANCH, World, refused, succeeded

# Versions that find a session from another worktree of its repository, by the engines' own recordings
# (resume-from-worktree, 09d-resume-worktree): all of codex, opencode to 1.14, claude from 2.1.200; copilot by `-C`.
_GOES_ANYWHERE = {"codex-0.171.0", "codex-0.65.0", "claude-2.1.332", "opencode-1.2.27", "copilot-1.0.102"}


def test_a_run_stays_on_its_branch(world: World, tmp_path: Path) -> None:
    """From another worktree; with its directory on another branch; with its branch in a second worktree."""
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    other, moved = tmp_path / "other", tmp_path / "moved"
    handle = world.facts()["handle"]
    world.git("worktree", "add", "-q", "-b", "other", str(other))

    asked = len(world.requests())
    refused(world.agent("resume", "MK2 no run of this branch", cwd=other), "no run found for branch 'other'")
    assert len(world.requests()) == asked
    succeeded(world.agent("resume", "--branch", BRANCH, "MK3 TOOLCALL", cwd=other))
    world.carried("MK1", "MK3")
    world.ran_in(world.repo)

    world.git("switch", "-q", "main")
    asked = len(world.requests())
    for words in (("--branch", BRANCH), ("--handle", handle)):
        done = refused(world.agent("resume", *words, "MK4 not here"), f"'{BRANCH}'", "'main'", f"git switch {BRANCH}")
    assert len(world.requests()) == asked
    assert "--cwd" in done.err

    world.git("worktree", "add", "-q", str(moved), BRANCH)
    done = world.agent("resume", "MK5 TOOLCALL", cwd=moved)
    if str(world.pin) in _GOES_ANYWHERE:
        assert f"running in '{moved.resolve()}'" in succeeded(done).err
        world.carried("MK1", "MK3", "MK5")
        world.ran_in(moved)
    else:
        refused(done, f"'{BRANCH}'", f"'{moved.resolve()}'", "'main'")
        assert len(world.requests()) == asked
        _take_the_way_out(world, done.err, moved)
        world.resume("MK5 TOOLCALL")
        world.carried("MK1", "MK3", "MK5")
        world.ran_in(world.repo)
    assert len(sessions(world)) == 1


@pytest.mark.engine_independent
def test_a_run_whose_directory_is_gone(world: World, tmp_path: Path) -> None:
    """It goes on where its branch is now, where this engine version can; else in its own place, made anew."""
    gone = tmp_path / "gone"
    world.git("worktree", "add", "-q", "-b", "other", str(gone))
    world._replace(repo=gone).start("MK1 begin", *ALLOW[world.pin.engine])
    world.git("worktree", "remove", "--force", str(gone))
    world.git("switch", "-q", "other")
    asked = len(world.requests())
    done = world.agent("resume", "MK2 TOOLCALL")
    if str(world.pin) in _GOES_ANYWHERE:
        assert f"running in '{world.repo.resolve()}'" in succeeded(done).err
        world.ran_in(world.repo)
    else:
        refused(done, f"'{gone.resolve()}'", "'other'")
        assert len(world.requests()) == asked
        _take_the_way_out(world, done.err, world.repo)
        succeeded(world.agent("resume", "--branch", "other", "MK2 TOOLCALL"))
        world.ran_in(gone)
    world.carried("MK1", "MK2")
    assert len(sessions(world)) == 1


def _take_the_way_out(world: World, said: str, place: Path) -> None:
    """Do what the hints say, as a person would who pastes them."""
    commands = [line.removeprefix("hint: ") for line in said.splitlines() if line.startswith("hint: git ")]
    assert commands
    for command in commands:
        succeeded(world.run(*shlex.split(command), cwd=place))


@pytest.mark.engine_independent
def test_two_worktrees_keep_two_conversations(world: World, tmp_path: Path) -> None:
    """One engine, one repository, two branches side by side; the second run began in a subdirectory."""
    second = tmp_path / "second"
    world.git("worktree", "add", "-q", "-b", "other", str(second))
    inside = second / "src" / "deep"
    inside.mkdir(parents=True)
    world.start("MK1 here", *ALLOW[world.pin.engine])
    there = world._replace(repo=inside)
    there.start("MK2 there", *ALLOW[world.pin.engine])
    world.resume("MK3 TOOLCALL here")
    world.carried("MK1", "MK3")
    assert "MK2" not in world.requests()[-1].markers
    world.ran_in(world.repo)
    world._replace(repo=second).resume("MK4 TOOLCALL there")
    world.carried("MK2", "MK4")
    assert "MK1" not in world.requests()[-1].markers
    world.ran_in(inside)
    assert sessions(world) == {world.session(), there.session()}
