"""An engine that leaves its work tree's HEAD elsewhere than it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from support.cli import Cli
from support.gitrepo import GitRepo
from support.runs import START, find, leave

NOW = 'GIT_COMMITTER_DATE="$(date +%s) +0000"'
COMMIT = "git commit -q --allow-empty -m agents"


def said(cli: Cli, command: str) -> str:
    """The line about HEAD of a run whose engine does that."""
    done = cli.ok("start", "-e", "codex", "work", FAKE_CMD=command)
    return next(line for line in done.lines if " the work tree on " in line)


@pytest.mark.parametrize("where", ["main", "detached"])
def test_a_branch_that_the_agent_made_has_the_run(cli: Cli, where: str) -> None:
    """faults A4"""
    if where == "detached":
        cli.repo.git("checkout", "-q", "--detach")
    line = said(cli, f"git switch -q -c feat/a; {COMMIT}")
    run = cli.record()
    made = "git-agent: the engine created branch 'feat/a' and left the work tree on it"
    assert line == f"{made}; run {run.handle} now belongs to it"
    assert (run.branch, cli.attempt().branch, cli.pointers()) == ("feat/a", "feat/a", {"feat/a": run.handle})
    assert cli.attempt().head_after == cli.repo.head()
    again = cli.ok("resume", "go on")
    assert (again.lines, cli.record().attempts) == ([], 2)
    assert 'resume    git agent resume "<message>"' in again.err


def test_a_branch_that_was_there_gets_no_run_by_a_visit(cli: Cli) -> None:
    """faults A4: made within the same second as the start, it was there before all the same."""
    cli.repo.git("branch", "old")
    line = said(cli, "git switch -q old")
    run = cli.record()
    assert (
        line
        == f"git-agent: the engine left the work tree on branch 'old'; run {run.handle} still belongs to branch 'main'"
    )
    assert (run.branch, cli.pointers()) == ("main", {"main": run.handle})


def test_commits_on_no_branch_are_counted(cli: Cli) -> None:
    """faults A4: also those that a switch left behind."""
    line = said(cli, f"git checkout -q --detach; {COMMIT}; git commit -q --allow-empty -m another")
    run, head = cli.record(), cli.repo.head()
    assert line == (
        f"git-agent: the engine left the work tree on no branch, at {head[:7]}; run {run.handle} still belongs to"
        f" branch 'main'; 2 commits on no branch: git branch NAME {head}"
    )
    done = cli.ok("start", "-e", "codex", "--json", "x", FAKE_CMD=f"{COMMIT}; git switch -q main")
    assert done.json["head"] == {
        "branch": "main",
        "commit": cli.repo.git("rev-parse", "main"),
        "made": False,
        "onNoBranch": 3,
    }


def test_a_branch_of_the_agents_in_another_work_tree_is_named(cli: Cli, tmp_path: Path) -> None:
    """faults A4: its own HEAD has not moved; on the new branch the run is named, with what ties it there."""
    cli.ok("start", "-e", "codex", "work", FAKE_CMD=f"{NOW} git worktree add -q -b side {tmp_path}/side")
    handle = cli.record().handle
    leave(cli.repo, "0012e345", "record", created_at=START, branch="main")
    with pytest.raises(UserError) as caught:
        find(GitRepo(tmp_path / "side"))
    assert caught.value.hints[0].endswith(f"if it is this branch's: git agent adopt {handle}")


@pytest.mark.parametrize("words", [("-b", "side"), ("--detach",)], ids=["branch", "detached"])
def test_an_agent_that_removes_its_own_work_tree_is_settled(cli: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    """faults A4: agents tidy up; git's own directory of the work tree is gone then, too."""
    tree = tmp_path / "tree"
    cli.repo.git("worktree", "add", "-q", *words, str(tree))
    removed = f"{COMMIT}; cd {cli.repo.path}; git worktree remove --force {tree}"
    done = cli.run("start", "-e", "codex", "work", FAKE_CMD=removed, cwd=tree)
    run = cli.record(os.listdir(cli.layout.index_dir)[0].removesuffix(".yaml"))
    warned = [line for line in done.lines if line.startswith("warning: ")]
    assert warned == [f"warning: the engine has removed its work tree '{tree}'"]
    assert (done.status, run.status) == (0, "completed")
    assert f'resume    git agent resume {run.handle} "<message>"' in done.err
    refused = cli.run("resume", run.handle, "x")
    assert (refused.status, refused.lines[0]) == (128, f"fatal: the work tree of run {run.handle} is missing: '{tree}'")
