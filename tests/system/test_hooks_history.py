"""One real session, and all that a person does to its branch: after each step a resume would find it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_fixtures.engines import NEWEST
from support.pre_commit import PreCommit, of_now, run, shared
from system.support import ALLOW, World, succeeded

STAGES = ("post-commit", "post-rewrite", "post-merge", "post-checkout")


def _hooks_install(world: World, _release: PreCommit) -> None:
    succeeded(world.agent("hooks", "install"))


def _pre_commit(world: World, release: PreCommit) -> None:
    world.home.env["PRE_COMMIT_HOME"] = str(release.home)
    hooks = ("{id: git-agent-record}", "{id: git-agent-carry}", "{id: git-agent-hint}")
    (world.repo / ".pre-commit-config.yaml").write_text(release.config(*hooks))
    world.git("add", ".pre-commit-config.yaml")
    world.git("commit", "-q", "-m", "configure pre-commit")
    for stage in STAGES:
        run(world.repo, world.home.env, "install", "--hook-type", stage)


def _edited(world: World, todo: str, *words: str) -> None:
    succeeded(world.run("git", *words, GIT_SEQUENCE_EDITOR=f"sed -i {todo}", GIT_EDITOR="true"))


def _steps(world: World, tmp_path: Path) -> dict[str, Callable[[], object]]:
    def git(*words: str) -> str:
        return world.git(*words)

    def write(text: str) -> None:
        (world.repo / "work").write_text(text)

    def commit_all() -> None:
        write("1\n")
        git("commit", "-q", "-a", "-m", "all")

    def commit_path() -> None:
        write("2\n")
        git("commit", "-q", "-m", "path", "work")

    def worktree() -> None:
        git("worktree", "add", "-q", "-b", "elsewhere", str(tmp_path / "tree"))
        commit = ("git", "commit", "-q", "--allow-empty", "-m", "w")
        succeeded(world.run(*commit, cwd=tmp_path / "tree"))
        succeeded(world.run(*commit, "--amend", cwd=tmp_path / "tree"))

    def pull() -> None:
        git("clone", "-q", "--bare", str(world.repo), str(tmp_path / "upstream"))
        git("remote", "add", "upstream", str(tmp_path / "upstream"))
        git("push", "-q", "-u", "upstream", "HEAD")
        git("pull", "-q", "--rebase")

    return {
        "commit -a": commit_all,
        "commit <path>": commit_path,
        "amend": lambda: git("commit", "-q", "--amend", "-m", "amended"),
        "reword": lambda: _edited(world, "1s/pick/reword/", "rebase", "-q", "-i", "HEAD~2"),
        "squash": lambda: _edited(world, "2s/pick/squash/", "rebase", "-q", "-i", "HEAD~2"),
        "more": commit_all,
        "fixup": lambda: _edited(world, "2s/pick/fixup/", "rebase", "-q", "-i", "HEAD~2"),
        "drop": lambda: _edited(world, "2s/pick/drop/", "rebase", "-q", "-i", "HEAD~2"),
        "reset": lambda: (git("reset", "-q", "--soft", "HEAD~1"), git("commit", "-q", "--allow-empty", "-m", "anew")),
        "switch": lambda: (git("switch", "-q", "main"), git("switch", "-q", "feature/retry")),
        "worktree": worktree,
        "push and pull": pull,
    }


@pytest.mark.parametrize("pin", NEWEST[:1], ids=str, scope="session")
@pytest.mark.parametrize("manage", [_hooks_install, _pre_commit])
def test_after_every_step_the_session_is_found(
    world: World, manage: Callable[[World, PreCommit], None], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world.git("switch", "-q", "main")
    manage(world, of_now(shared(tmp_path_factory)))
    world.git("branch", "-q", "--force", "feature/retry", "main")
    world.git("switch", "-q", "feature/retry")
    world.commit("work", work="0\n")
    world.start("MK1 begin", *ALLOW[world.pin.engine])
    session = world.session()
    for name, step in _steps(world, tmp_path).items():
        step()
        told = json.loads(succeeded(world.agent("resume", "--dry-run", "--json", "go on")).out)
        assert (name, session in told["argv"]) == (name, True)
    handle = world.facts()["handle"]
    world.git("switch", "-q", "--detach", "main")
    world.git("cherry-pick", "--allow-empty", "feature/retry")
    assert handle in world.git("notes", "--ref=agent", "show", "HEAD")
    world.git("reset", "-q", "--hard", "main")
    world.git("merge", "-q", "--squash", "feature/retry")
    world.git("commit", "-q", "-m", "squashed")
    assert handle in world.git("notes", "--ref=agent", "show", "HEAD")
