"""Where a run goes on: on its own branch, in a directory where this engine version finds the session, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from system.stores import sessions
from system.support import ALLOW, BRANCH, World, refused, succeeded


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
    done = succeeded(world.agent("resume", "MK5 TOOLCALL", cwd=moved))
    assert f"in '{moved.resolve()}'" in done.err
    world.carried("MK1", "MK3", "MK5")
    world.ran_in(moved)
    assert len(sessions(world)) == 1


@pytest.mark.engine_independent
def test_a_run_whose_directory_is_gone(world: World, tmp_path: Path) -> None:
    """It goes on where its branch is now."""
    gone = tmp_path / "gone"
    world.git("worktree", "add", "-q", "-b", "other", str(gone))
    world._replace(repo=gone).start("MK1 begin", *ALLOW[world.pin.engine])
    world.git("worktree", "remove", "--force", str(gone))
    world.git("switch", "-q", "other")
    done = world.resume("MK2 TOOLCALL")
    assert f"in '{world.repo.resolve()}'" in done.err
    world.ran_in(world.repo)
    world.carried("MK1", "MK2")
    assert len(sessions(world)) == 1


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
