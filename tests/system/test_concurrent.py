"""Several git-agents at once: one run is one process, and different runs do not meet."""

from __future__ import annotations

import json
import subprocess

import pytest

from system.stores import sessions
from system.support import ALLOW, World, succeeded


@pytest.mark.engine_independent
def test_of_two_resumes_of_one_run_one_goes_on_and_the_other_is_refused(world: World) -> None:
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    session, asked = world.session(), len(world.requests())
    both = [world.spawn("resume", f"--message={mark} TOOLCALL and go on") for mark in ("MK2", "MK3")]
    told = [process.communicate()[1] for process in both]
    statuses = [process.returncode for process in both]
    assert sorted(statuses) == [0, 128], told
    loser = statuses.index(128)
    # By the run's lock, by what became of the run meanwhile, or by the session's lock.
    reasons = ("is still running", "was resumed by another git-agent", "is using session")
    assert any(reason in told[loser] for reason in reasons), told
    mark, other = ("MK2", "MK3") if loser else ("MK3", "MK2")
    assert {name for entry in world.requests()[asked:] for name in entry.markers} == {"MK1", mark}
    facts = world.facts()
    assert [attempt["resumed"] for attempt in facts["attempts"]] == [None, "yes"]
    world.resume(f"{other} once more")
    world.carried("MK1", mark, other)
    assert sessions(world) == {session}


@pytest.mark.engine_independent
def test_four_starts_at_once_in_two_worktrees(world: World) -> None:
    """Each has its own run, session and directory, and both branches' one commit has the notes of all."""
    # opencode trips over itself when several processes are the first in a home: each would make its database.
    world.start("MK0 the first of all")
    first = world.session()
    side = world.repo.parent / "side"
    world.git("worktree", "add", "-q", "-b", "side", str(side))
    trees = {"MK1": world.repo, "MK2": world.repo, "MK3": side, "MK4": side}
    processes = {mark: _started(world._replace(repo=tree), mark) for mark, tree in trees.items()}
    told = {mark: process.communicate() for mark, process in processes.items()}
    assert {mark: process.returncode for mark, process in processes.items()} == dict.fromkeys(trees, 0), told
    runs = {mark: world.facts(json.loads(out)["handle"]) for mark, (out, _) in told.items()}
    assert sessions(world) - {first} == {run["session"]["value"] for run in runs.values()}
    assert len(sessions(world)) == 1 + len(trees)
    branches = {"MK1": "feature/retry", "MK2": "feature/retry", "MK3": "side", "MK4": "side"}
    assert {mark: run["branch"] for mark, run in runs.items()} == branches
    note = world.git("notes", "--ref=agent", "show", "HEAD")
    assert sorted(line.count('"handle"') for line in note.splitlines() if line) == [1] * (1 + len(trees))
    assert [run["handle"] for run in runs.values() if run["handle"] not in note] == []
    for mark in ("MK1", "MK3"):
        succeeded(world.agent("resume", runs[mark]["handle"], "MK9 and go on", cwd=trees[mark]))
        assert set(world.requests()[-1].markers) == {mark, "MK9"}


def _started(world: World, mark: str) -> subprocess.Popen[str]:
    return world.spawn("start", "--json", "-e", world.pin.engine, f"{mark} add a retry")
