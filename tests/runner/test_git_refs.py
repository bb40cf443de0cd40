"""Branches, work trees and commits as real git tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.git import refs
from support.gitrepo import EPOCH, GitRepo, make

LATER = EPOCH + 1000
HOSTILE = ["--output=pwn", "a.b/c", "ü/ñ", "x'\"$(pwn)", "HEAD"]


def test_branches_with_their_tips(repo: GitRepo) -> None:
    for name in HOSTILE:
        repo.git("update-ref", f"refs/heads/{name}", "HEAD~1")
    found = refs.branches(repo.facts(), None)
    parent = repo.git("rev-parse", "main~1")
    assert found.heads == {"main": repo.git("rev-parse", "main"), **dict.fromkeys(HOSTILE, parent)}


@pytest.mark.parametrize(
    ("names", "configured", "expected"),
    [
        pytest.param(["trunk", "master"], "trunk", "trunk", id="init.defaultBranch first"),
        pytest.param(["master", "topic"], "trunk", "master", id="a configured branch that does not exist"),
        pytest.param(["master", "main"], None, "main", id="main before master"),
        pytest.param(["topic"], None, None, id="nothing tells"),
    ],
)
def test_default_branch(repo: GitRepo, names: list[str], configured: str | None, expected: str | None) -> None:
    repo.git("checkout", "-q", "--detach")
    repo.git("branch", "-q", "-D", "main")
    for name in names:
        repo.git("branch", name)
    found = refs.branches(repo.facts(), configured)
    assert found.default == expected
    assert found.bases == ((repo.head(),) if expected else ())


def test_default_branch_of_a_clone_is_its_remotes(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("branch", "-q", "-m", "trunk")
    clone = repo.clone(tmp_path / "clone")
    clone.commit("local")
    found = refs.branches(clone.facts(), "main")
    assert (found.default, found.bases) == ("trunk", (clone.head(), repo.head()))


def test_worktrees_skip_bare_and_vanished_ones(repo: GitRepo, tmp_path: Path) -> None:
    bare = repo.clone(tmp_path / "b.git", "--bare")
    kept = bare.worktree(tmp_path / "a\nb", "main")
    gone = bare.worktree(tmp_path / "gone", "side")
    gone.path.rename(tmp_path / "moved")
    assert refs.worktrees(kept.facts()) == [refs.Worktree(str(kept.path), "main")]


def test_worktree_of_a_submodule_is_where_it_is(repo: GitRepo, tmp_path: Path) -> None:
    inner = make(tmp_path / "inner")
    inner.commit("i")
    repo.git("submodule", "--quiet", "add", str(inner.path), "sub")
    sub = GitRepo(repo.path / "sub")
    own = refs.Worktree(str(sub.path), "main")
    assert refs.worktrees(sub.facts()) == [own]
    linked = sub.worktree(tmp_path / "linked", "side")
    assert refs.worktrees(linked.facts()) == [own, refs.Worktree(str(linked.path), "side")]


def stop_in_rebase(repo: GitRepo, *words: str) -> None:
    """`topic` is in the middle of a rebase onto main."""
    repo.switch_new("topic", "HEAD~1")
    repo.commit("t1", g="1\n")
    repo.commit("t2", g="2\n")
    repo.git("rebase", "-q", "-i", *words, "main", env={"GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/"})


def test_branch_being_rebased_here_and_elsewhere(repo: GitRepo, tmp_path: Path) -> None:
    stop_in_rebase(repo)
    facts = repo.facts()
    assert facts.branch is None
    assert refs.busy_branch(facts.git_dir) == "topic"
    linked = repo.worktree(tmp_path / "linked", "side")
    expected = [refs.Worktree(str(repo.path), "topic"), refs.Worktree(str(linked.path), "side")]
    assert refs.worktrees(linked.facts()) == expected


def test_branch_being_rebased_by_the_apply_backend(repo: GitRepo) -> None:
    repo.switch_new("topic", "HEAD~1")
    repo.commit("conflict", f="x\n")
    with pytest.raises(AssertionError, match="Failed to merge"):
        repo.git("rebase", "--apply", "main")
    assert refs.busy_branch(repo.facts().git_dir) == "topic"


@pytest.mark.parametrize(("start", "expected"), [("main", "main"), ("main^0", None)])
def test_branch_being_bisected(repo: GitRepo, start: str, expected: str | None) -> None:
    repo.commit("c3")
    repo.git("checkout", "-q", start)
    repo.git("bisect", "start", "HEAD", "HEAD~2")
    facts = repo.facts()
    assert facts.branch is None
    assert refs.busy_branch(facts.git_dir) == expected


def test_nothing_in_progress(repo: GitRepo) -> None:
    assert refs.busy_branch(repo.facts().git_dir) is None


@pytest.mark.parametrize(
    ("revision", "parent"),
    [
        pytest.param("main", "main", id="branch"),
        pytest.param("HEAD~1", "main~1", id="parent"),
        pytest.param("v1", "main~1", id="annotated tag is peeled"),
        pytest.param("nope", None, id="unknown"),
        pytest.param("HEAD:f", None, id="blob"),
        pytest.param("--output=pwn", None, id="looks like an option"),
    ],
)
def test_commit_of(repo: GitRepo, revision: str, parent: str | None) -> None:
    repo.git("tag", "-a", "-m", "v1", "v1", "HEAD~1")
    assert refs.commit_of(repo.facts(), revision) == (parent and repo.git("rev-parse", parent))


def test_reachable_and_missing_commits(repo: GitRepo) -> None:
    base, parent = repo.head(), repo.git("rev-parse", "HEAD~1")
    repo.switch_new("side", "HEAD~1")
    side = repo.commit("s")
    facts, gone = repo.facts(), "1" * 40
    asked = [gone, base, parent, side, "--output=pwn", "HEAD"]
    assert refs.reachable(facts, asked, base) == {base, parent}
    assert refs.reachable(facts, asked, side) == {side, parent}
    assert refs.reachable(facts, [gone], side) == set()
    assert refs.missing(facts, [gone, base, side, gone]) == {gone}


def test_history_leaves_out_the_base_and_stops_at_the_limit(repo: GitRepo) -> None:
    base = repo.head()
    repo.switch_new("topic")
    first, second = repo.commit("t1", EPOCH + 1), repo.commit("t2", EPOCH + 2)
    facts = repo.facts()
    assert refs.history(facts, second, (base,)) == [second, first]
    assert refs.history(facts, second, (base,), limit=1) == [second]
    assert refs.history(facts, second, (second,)) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_reflog_of_a_branch_with_a_hostile_name(repo: GitRepo, name: str) -> None:
    repo.git("update-ref", "--create-reflog", "-m", "branch: Created from main", f"refs/heads/{name}", "HEAD")
    made = [refs.ReflogEntry(EPOCH, "branch: Created from main")]
    facts = repo.facts()
    assert refs.reflog(facts, name) == made
    assert refs.reflogs(facts)[name] == made
    assert refs.reflogs(facts, [name]) == {name: made}
    assert refs.heads(facts, [name, "no-such-branch"]) == {name}
    assert refs.reflog(facts, "no-such-branch") is None


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_commit_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    repo = make(tmp_path / "r", f"--object-format={form}")
    oid = repo.commit("Add ü\n\nbody")
    facts = repo.facts()
    monkeypatch.setenv("GIT_DIR", str(make(tmp_path / "other").path / ".git"))
    assert refs.commit_summary(facts, oid) == refs.CommitSummary(oid, "Add ü", "A. Author", EPOCH)
    assert refs.commit_summary(facts, "1" * len(oid)) is None
    assert refs.commit_summary(facts, "--output=pwn") is None


def test_a_commit_summary_is_utf_8_and_of_a_commit(repo: GitRepo) -> None:
    repo.git("config", "i18n.logOutputEncoding", "ISO-8859-1")
    oid = repo.commit("Add ü")
    facts = repo.facts()
    found = refs.commit_summary(facts, oid)
    assert found is not None
    assert found.subject == "Add ü"
    assert refs.commit_summary(facts, repo.git("rev-parse", f"{oid}^{{tree}}")) is None
