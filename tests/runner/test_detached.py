"""Work trees without a branch: which run is theirs, and whose run they never take."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.git import settings
from git_agent_runner.store import notes
from support.gitrepo import GitRepo, dates, make
from support.runs import START, find, leave

H1, H2, H3 = "7f3a9c21", "0012e345", "12345678"
LATER = "2026-11-28T00:00:00.000Z"


def tree(repo: GitRepo, path: Path, commit: str = "HEAD") -> GitRepo:
    repo.git("worktree", "add", "-q", "--detach", str(path), commit)
    return GitRepo(path)


def refused(repo: GitRepo, **asked: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        find(repo, **asked)
    assert caught.value.code == "no_run"
    return caught.value


def test_another_work_trees_run_is_named_and_never_taken(repo: GitRepo, tmp_path: Path) -> None:
    """faults A1"""
    first, second = tree(repo, tmp_path / "a"), tree(repo, tmp_path / "b")
    made = leave(first, H1, "record note")
    assert find(first).record == made
    assert refused(second).hints[0] == (
        f"run {H1} was skipped: it belongs to '{first.path}';"
        f' if it is the one you mean: git agent resume {H1} "<message>"'
    )


def test_five_work_trees_on_one_commit_have_a_run_each(repo: GitRepo, tmp_path: Path) -> None:
    """faults A1"""
    trees = [tree(repo, tmp_path / str(number)) for number in range(5)]
    handles = [f"0000000{number}" for number in range(5)]
    for one, handle in zip(trees, handles, strict=True):
        leave(one, handle, "record note")
    assert [find(one).handle for one in trees] == handles
    assert [find(one).others for one in trees] == [()] * 5


def test_of_a_work_trees_own_runs_the_newest_that_head_has_counts(repo: GitRepo, tmp_path: Path) -> None:
    one = tree(repo, tmp_path / "a")
    leave(one, H1, "record note")
    one.commit("more")
    leave(one, H2, "record note", updated_at=LATER)
    assert find(one).handle == H2
    one.git("checkout", "-q", "HEAD^")
    assert find(one).handle == H1


@pytest.mark.parametrize("what", ["record", "record note"])
def test_many_commits_later_and_with_the_default_branch_ahead(repo: GitRepo, tmp_path: Path, what: str) -> None:
    """faults A2, F4: the start commit is the default branch's, and without an identity there is no note."""
    one = tree(repo, tmp_path / "a")
    leave(one, H1, what)
    repo.commit("the default branch goes on")
    for number in range(3):
        one.commit(f"c{number}")
    assert find(one).handle == H1


def carried(repo: GitRepo) -> None:
    _, config = settings.load(repo.facts(), {})
    assert not notes.carried(config)
    notes.ensure_config(repo.facts())


def test_through_amend_and_rebase(repo: GitRepo, tmp_path: Path) -> None:
    """faults A2"""
    one = tree(repo, tmp_path / "a")
    one.commit("work", g="1\n")
    leave(one, H1, "record note")
    carried(one)
    one.git("commit", "-q", "--amend", "-m", "other words")
    assert find(one).handle == H1
    repo.commit("base", h="1\n")
    one.git("rebase", "-q", "main")
    assert find(one).handle == H1


def test_while_a_detached_head_is_rebased_or_bisected(repo: GitRepo, tmp_path: Path) -> None:
    one = tree(repo, tmp_path / "a")
    one.commit("work", g="1\n")
    leave(one, H1, "record")
    repo.commit("base", h="1\n")
    one.git("rebase", "-q", "-i", "main", env={"GIT_SEQUENCE_EDITOR": "sed -i 1ibreak"})
    assert one.head() == repo.head()
    assert find(one).handle == H1
    one.git("rebase", "--abort")
    one.git("bisect", "start", "HEAD", "HEAD~2")
    assert one.head() == one.git("rev-parse", "main~1")
    assert find(one).handle == H1


def test_a_commit_that_head_does_not_have(repo: GitRepo, tmp_path: Path) -> None:
    """As after `git submodule update`: the run is named, not taken."""
    one = tree(repo, tmp_path / "a")
    one.commit("work")
    leave(one, H1, "record note")
    one.git("checkout", "-q", "main~1")
    assert refused(one).hints[0] == (
        f"run {H1} was skipped: it began in this work tree, at a commit that is not in HEAD's history;"
        f' if it is the one you mean: git agent resume {H1} "<message>"'
    )


@pytest.mark.parametrize("how", ["remove", "prune", "force"])
def test_a_path_that_is_used_again_inherits_nothing(repo: GitRepo, tmp_path: Path, how: str) -> None:
    """faults A20; beside it another work tree has a run, so that none is the only one left."""
    one = tree(repo, tmp_path / "a")
    leave(one, H1, "record note")
    leave(one, H2, "record note")
    if how == "remove":
        repo.git("worktree", "remove", str(one.path))
    else:
        one.path.rename(tmp_path / "gone")
    if how == "prune":
        repo.git("worktree", "prune")
    repo.git("worktree", "add", "-q", *(["-f"] if how == "force" else []), "--detach", str(one.path))
    assert [hint.split("; ")[1] for hint in refused(one).hints[:2]] == [
        f"to adopt it: git agent adopt {handle}" for handle in (H1, H2)
    ]


def test_a_new_work_tree_at_its_path_does_not_inherit_the_only_run_left(repo: GitRepo, tmp_path: Path) -> None:
    """faults A20"""
    one = tree(repo, tmp_path / "a")
    leave(one, H1, "record note")
    repo.git("worktree", "remove", str(one.path))
    repo.git("worktree", "add", "-q", "--detach", str(one.path))
    assert refused(one).hints[0] == (
        f"run {H1} was skipped: it is that of an earlier work tree at this path; to adopt it: git agent adopt {H1}"
    )


def test_a_work_tree_that_was_moved_is_the_same(repo: GitRepo, tmp_path: Path) -> None:
    one = tree(repo, tmp_path / "a")
    leave(one, H1, "record note")
    repo.git("worktree", "move", str(one.path), str(tmp_path / "b"))
    assert find(GitRepo(tmp_path / "b")).handle == H1


def test_only_run_without_a_work_tree_counts_and_is_said(repo: GitRepo, tmp_path: Path) -> None:
    one = tree(repo, tmp_path / "a")
    leave(one, H1, "record note")
    leave(repo, H2, "record note pointer")
    commit = repo.head()[:12]
    repo.git("worktree", "remove", str(one.path))
    found = find(tree(repo, tmp_path / "b"))
    assert (found.handle, found.says) == (
        H1,
        (f"run {H1}, noted on commit {commit}, no longer has a work tree: it continues in this one",),
    )
    assert found.record
    assert found.record.worktree == str(tmp_path / "b")


def checkout(repo: GitRepo, path: Path, *words: str) -> GitRepo:
    """As a build server makes one: shallow, detached, then the notes."""
    clone = make(path)
    clone.git(
        "fetch", "-q", *words, repo.path.as_uri(), f"+{repo.head()}:refs/remotes/pull/7", f"{notes.REF}:{notes.REF}"
    )
    clone.git("checkout", "-q", "--detach", "refs/remotes/pull/7")
    return clone


@pytest.mark.parametrize("depth", [(), ("--depth=1",)], ids=["whole", "shallow"])
def test_checkout_of_a_build_server(repo: GitRepo, tmp_path: Path, depth: tuple[str, ...]) -> None:
    repo.git("checkout", "-q", "--detach")
    leave(repo, H1, "note")
    leave(repo, H2, "note", branch="main")
    found = find(checkout(repo, tmp_path / "clone", *depth))
    assert (found.handle, found.record) == (H1, None)


def test_checkout_of_a_build_server_with_two_candidates(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "--detach")
    leave(repo, H1, "note")
    leave(repo, H2, "note")
    hints = refused(checkout(repo, tmp_path / "clone")).hints
    assert {hint.partition(";")[0] for hint in hints[:2]} == {
        f"run {handle} was skipped: it is one of 2 without a work tree" for handle in (H1, H2)
    }


def test_work_trees_beside_a_bare_repository(repo: GitRepo, tmp_path: Path) -> None:
    """A `.git` file that names the bare repository beside it."""
    top = tmp_path / "project"
    top.mkdir()
    repo.clone(top / ".bare", "--bare")
    (top / ".git").write_text("gitdir: ./.bare\n")
    first, second = tree(GitRepo(top), top / "a"), tree(GitRepo(top), top / "b")
    leave(first, H1, "record note")
    leave(second, H2, "record note")
    first.commit("more")
    assert (find(first).handle, find(second).handle) == (H1, H2)


def test_submodule(repo: GitRepo, tmp_path: Path) -> None:
    """faults A2: git leaves a submodule detached."""
    outer = make(tmp_path / "outer")
    outer.git("submodule", "--quiet", "add", str(repo.path), "sub")
    outer.commit("with it")
    clone = outer.clone(tmp_path / "clone", "--recurse-submodules")
    inner = GitRepo(clone.path / "sub")
    assert inner.facts().branch is None
    leave(inner, H1, "record note")
    inner.commit("more")
    assert find(inner).handle == H1


AFTER = int(datetime.fromisoformat(START).timestamp()) + 100
NOW = {"GIT_COMMITTER_DATE": f"{AFTER} +0000"}


@pytest.mark.parametrize("asked", [{}, {"handle": H1}], ids=["by branch", "by handle"])
@pytest.mark.parametrize("words", ["switch -c feat/x", "checkout -b feat/x", "branch feat/x; switch feat/x"])
def test_a_branch_made_in_the_work_tree_takes_its_run_along(
    repo: GitRepo, tmp_path: Path, words: str, asked: dict[str, str]
) -> None:
    """faults A3"""
    one = tree(repo, tmp_path / "a")
    leave(one, H1, "record note")
    for command in words.split("; "):
        one.git(*command.split(), env=NOW)
    one.commit("more", when=AFTER)
    found = find(one, **asked)
    assert (found.handle, found.says, found.record and found.record.branch) == (H1, (), "feat/x")
    assert found.ties == f"run {H1} began in this work tree without a branch; from now on it belongs to 'feat/x'"


BESIDE = {
    "a branch that was there before": [["branch", "feat"], ["checkout", "--detach"], ["checkout", "feat"]],
    "one made from another branch": [["checkout", "main"], ["checkout", "-b", "feat"]],
    "one without its commit": [["checkout", "-b", "feat", "HEAD^"]],
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_branch_that_is_only_visited_gets_no_run(repo: GitRepo, name: str) -> None:
    first, *others = BESIDE[name]
    repo.git("checkout", "-q", "--detach")
    if first[0] == "branch":
        repo.git(*first)
        first = others.pop(0)
    repo.commit("work")
    leave(repo, H1, "record")
    if "there before" in name:
        repo.git("branch", "-f", "feat")
    for words in (first, *others):
        repo.git(words[0], "-q", *words[1:], env=NOW)
    assert repo.facts().branch == "feat"
    refused(repo)


JJ = "change by change"


@pytest.mark.parametrize("how", ["described", "squashed into", "rebased"])
def test_jujutsu_rewrites_commits_and_leaves_notes_behind(repo: GitRepo, how: str) -> None:
    """faults A2: HEAD is detached in a colocated repository, and moved by another program than git."""
    repo.git("checkout", "-q", "--detach")
    repo.commit("work", when=1_700_000_500, g="1\n")
    leave(repo, H1, "record note")
    env = {"GIT_AUTHOR_DATE": dates(1_700_000_500)["GIT_AUTHOR_DATE"], "GIT_COMMITTER_DATE": "1700000900 +0000"}
    words, parent = (JJ, "HEAD^") if how == "described" else ("work", "HEAD^")
    if how == "squashed into":
        (repo.path / "g").write_text("2\n")
        repo.git("add", "g")
    if how == "rebased":
        parent = repo.git("commit-tree", "-p", "main", "-m", "base", "main^{tree}")
    new = repo.git("commit-tree", "-p", parent, "-m", words, repo.git("write-tree"), env=env)
    repo.git("update-ref", "--no-deref", "-m", "export from jj", "HEAD", new)
    repo.git("update-ref", "-m", "export from jj", "refs/heads/topic", new)
    assert find(repo).handle == H1


def test_a_sibling_by_the_same_author_is_no_rewritten_commit(repo: GitRepo) -> None:
    repo.git("checkout", "-q", "--detach")
    repo.commit("work", g="1\n")
    leave(repo, H1, "record note")
    repo.git("checkout", "-q", "--detach", "main")
    repo.commit("other work", g="2\n")
    refused(repo)
