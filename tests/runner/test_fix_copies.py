"""Where an agent's copy is, and that none stays behind: claude changes nothing below a `.git`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from git_agent_runner import context
from git_agent_runner.review.fixing.snapshot import snapshot
from git_agent_runner.store.spare_trees import snapshots
from support.gitrepo import GitRepo


def trees(repo: GitRepo) -> int:
    return repo.git("worktree", "list", "--porcelain").count("worktree ")


@pytest.mark.parametrize(("engine", "below"), [("claude", False), ("codex", True), (None, True)])
def test_it_is_where_the_engine_may_write(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, engine: str | None, below: bool
) -> None:
    monkeypatch.chdir(repo.path)
    ctx = context.load()
    with snapshot(ctx, repo.head(), engine) as snap:
        assert (".git" in Path(snap.path).parts, os.path.exists(f"{snap.path}/.git"), trees(repo)) == (below, True, 2)
        assert os.listdir(snapshots(ctx.layout))
    assert (os.path.exists(snap.path), os.path.exists(snapshots(ctx.layout)), trees(repo)) == (False, False, 1)


def test_the_next_command_takes_away_what_a_killed_one_left(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But nothing that a link of somebody else leads to."""
    monkeypatch.chdir(repo.path)
    links = Path(snapshots(context.load().layout))
    links.mkdir(parents=True)
    left, gone, precious = tmp_path / "copies/0123456789abcdef", tmp_path / "copies/89abcdef", tmp_path / "precious"
    repo.git("worktree", "add", "-q", "--detach", str(left))
    precious.mkdir()
    for place in (left, gone, precious):
        (links / place.name).symlink_to(place)
    context.load()
    assert (left.exists(), precious.exists(), links.exists(), trees(repo)) == (False, True, False, 1)


def test_a_link_takes_away_no_copy_of_another_repository(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository may be copied, links and all, while an agent works for the first one; and links can be planted."""
    working, planted = tmp_path / "copies/0123456789abcdef", tmp_path / "copies/photos"
    repo.git("worktree", "add", "-q", "--detach", str(working))
    planted.mkdir()
    (planted / ".git").write_bytes(b"gitdir: \0")
    monkeypatch.chdir(repo.path)
    links = Path(snapshots(context.load().layout))
    links.mkdir(parents=True)
    for place in (working, planted):
        (links / place.name).symlink_to(place)
    shutil.copytree(repo.path, tmp_path / "another", symlinks=True)
    for place in (working, planted):
        (links / place.name).unlink()
    monkeypatch.chdir(tmp_path / "another")
    context.load()
    assert (working.exists(), planted.exists()) == (True, True)
    assert not (tmp_path / "another" / links.relative_to(repo.path)).exists()
