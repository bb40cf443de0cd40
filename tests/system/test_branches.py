"""A branch is amended, rebased and renamed; the session stays with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import install, pinned
from system.conftest import CACHE
from system.stores import sessions
from system.support import ALLOW, World, prepare, succeeded


@pytest.mark.engine_independent
def test_a_session_follows_its_branch_through_all_that_git_does(world: World, tmp_path: Path) -> None:
    """In a path with blanks and letters of three scripts; at the end from a subdirectory of a renamed branch."""
    world = prepare(world._replace(repo=tmp_path / "my wörk" / "репо 日本"))
    world.start("MK1 add a retry", *ALLOW[world.pin.engine])
    world.commit("add a retry", retry="def retry(): ...\n")
    world.git("commit", "-q", "--amend", "-m", "add a retry with backoff")
    world.resume("MK2 after an amend")
    world.carried("MK1", "MK2")
    _rebase(world)
    world.git("config", "--unset", "branch.feature/retry.agentHandle")
    done = succeeded(world.agent("resume", "-v", "MK3 after a rebase, by the note alone"))
    assert f"the note on commit {world.git('rev-parse', 'HEAD')[:12]}" in done.err
    world.carried("MK1", "MK2", "MK3")
    world.git("branch", "-m", "feature/backoff")
    inside = world.repo / "src" / "deep"
    inside.mkdir(parents=True)
    succeeded(world.agent("resume", "MK4 TOOLCALL after a rename", cwd=inside))
    world.carried("MK1", "MK2", "MK3", "MK4")
    world.ran_in(world.repo)
    assert sessions(world) == {world.session()}
    assert world.facts()["branch"] == "feature/backoff"


@pytest.mark.engine_independent
def test_the_newest_run_of_a_branch_is_the_one_that_goes_on(world: World, tmp_path: Path) -> None:
    """Two conversations of one branch, both in reach: the one used last by the branch, the other by its handle."""
    world.start("MK1 the first")
    first = world.facts()["handle"]
    world.start("MK2 the second")
    assert sessions(world) > {world.session()}
    world.resume("MK3 which one")
    world.carried("MK2", "MK3")
    assert "MK1" not in world.requests()[-1].markers
    succeeded(world.agent("resume", first, "MK4 the other one"))
    world.carried("MK1", "MK4")
    assert "MK2" not in world.requests()[-1].markers
    assert world.facts()["handle"] == first
    assert len(sessions(world)) == 2


@pytest.mark.parametrize("pin", [pinned("claude")], ids=str, scope="session")
def test_two_engines_on_one_branch(world: World, tmp_path: Path) -> None:
    """The engine is chosen by the run, never typed: the branch's newest goes on, the other by its handle."""
    codex = world._replace(pin=pinned("codex"))
    place = home.make(codex.pin, tmp_path / "second", world.server.url)
    world.home.env.update({name: place.env[name] for name in ("CODEX_HOME", "SCRIPTED_KEY")})
    world.git("config", "agent.codex.binary", str(install(codex.pin, CACHE)))
    world.start("MK1 with claude")
    first = world.facts()["handle"]
    codex.start("MK2 with codex")
    world.resume("MK3 with codex again")
    world.carried("MK2", "MK3")
    assert world.requests()[-1].format == "responses"
    succeeded(world.agent("resume", first, "MK4 with claude again"))
    world.carried("MK1", "MK4")
    assert world.requests()[-1].format == "anthropic"
    assert world.facts()["handle"] == first


def _rebase(world: World) -> None:
    world.git("switch", "-q", "main")
    world.commit("describe the client", readme="a client\n")
    world.git("switch", "-q", "feature/retry")
    world.git("rebase", "-q", "main")
