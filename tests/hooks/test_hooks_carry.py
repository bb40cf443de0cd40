"""Installed hooks at work: after every way that git makes commits again, the run is noted where it belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.store import notes
from hooks.managers import prepare_worktree
from support.gitrepo import EPOCH, GitRepo, dates
from support.runs import find, leave

HANDLE = "0b01aaaa"


def noted(repo: GitRepo, commit: str = "HEAD") -> list[str]:
    """The runs noted on a commit."""
    oid = repo.git("rev-parse", commit)
    return [note.handle for note in notes.read(repo.facts()).by_commit.get(oid, ())]


@pytest.fixture
def branch(repo: GitRepo) -> GitRepo:
    """On `feature`, a commit of its own that its run is noted on."""
    repo.switch_new("feature")
    repo.commit("three", g="3\n")
    leave(repo, HANDLE)
    return repo


def write(repo: GitRepo, name: str, text: str) -> None:
    (repo.path / name).write_text(text)


def commit_all(repo: GitRepo) -> None:
    write(repo, "g", "3\n4\n")
    repo.git("commit", "-q", "-a", "-m", "four")


def commit_path(repo: GitRepo) -> None:
    write(repo, "g", "3\n4\n")
    repo.git("commit", "-q", "-m", "four", "g")


def reset_and_commit(repo: GitRepo) -> None:
    repo.git("reset", "-q", "--soft", "HEAD~1")
    repo.git("commit", "-q", "-m", "anew", env=dates(EPOCH + 60))


def amend(repo: GitRepo) -> None:
    write(repo, "g", "other\n")
    repo.git("commit", "-q", "-a", "--amend", "-m", "amended")


def rebase(repo: GitRepo) -> None:
    repo.git("switch", "-q", "main")
    repo.commit("beside", h="h\n")
    repo.git("switch", "-q", "feature")
    repo.git("rebase", "-q", "main")


def squash(repo: GitRepo) -> None:
    repo.commit("four", g="3\n4\n")
    editor = {"GIT_SEQUENCE_EDITOR": "sed -i 2s/pick/squash/", "GIT_EDITOR": "true"}
    repo.git("rebase", "-q", "-i", "main", env=editor)


def fixup_reword(repo: GitRepo) -> None:
    repo.commit("four", g="3\n4\n")
    repo.commit("five", g="3\n4\n5\n")
    editor = {"GIT_SEQUENCE_EDITOR": "sed -i -e 2s/pick/fixup/ -e 3s/pick/reword/", "GIT_EDITOR": "true"}
    repo.git("rebase", "-q", "-i", "main", env=editor)


def drop_later(repo: GitRepo) -> None:
    repo.commit("four", h="4\n")
    repo.git("rebase", "-q", "-i", "main", env={"GIT_SEQUENCE_EDITOR": "sed -i 2s/pick/drop/"})


HISTORIES = [commit_all, commit_path, reset_and_commit, amend, rebase, squash, fixup_reword, drop_later]


@pytest.mark.parametrize("history", HISTORIES)
def test_the_run_is_noted_on_the_tip(branch: GitRepo, history: object) -> None:
    """Even where the pointer is lost, the note alone finds it."""
    assert callable(history)
    history(branch)
    assert noted(branch) == [HANDLE]
    assert find(branch).handle == HANDLE
    branch.git("config", "--unset", "branch.feature.agentHandle")
    assert find(branch).handle == HANDLE


def test_cherry_pick(branch: GitRepo) -> None:
    branch.git("switch", "-q", "main")
    branch.git("cherry-pick", "feature")
    assert (noted(branch), noted(branch, "feature")) == ([HANDLE], [HANDLE])


def conflicting(branch: GitRepo) -> None:
    branch.git("switch", "-q", "main")
    branch.commit("clash", g="clash\n")
    with pytest.raises(AssertionError, match="could not apply"):
        branch.git("cherry-pick", "feature")
    write(branch, "g", "both\n")


@pytest.mark.parametrize("words", [("cherry-pick", "--continue"), ("commit", "-q", "-m", "mine")], ids=" ".join)
def test_cherry_pick_with_a_conflict(branch: GitRepo, words: tuple[str, ...]) -> None:
    conflicting(branch)
    branch.git("add", "g")
    branch.git(*words, env={"GIT_EDITOR": "true"})
    picked = branch.head()
    branch.switch_new("other")
    leave(branch, "0b02aaaa", "record pointer")
    branch.commit("work", h="h\n")  # by now git has forgotten what was picked; the first hook that may look finds it
    assert noted(branch, picked) == [HANDLE]


def test_cherry_pick_given_up_leaves_nothing(branch: GitRepo) -> None:
    conflicting(branch)
    branch.git("cherry-pick", "--abort")
    branch.commit("beside", h="h\n")
    assert noted(branch) == []


def test_squash_merge(branch: GitRepo) -> None:
    branch.git("switch", "-q", "main")
    branch.git("merge", "-q", "--squash", "feature")
    branch.git("commit", "-q", "-m", "all of it")
    assert noted(branch) == [HANDLE]


@pytest.mark.parametrize("words", [("--hard",), ("--mixed",), ("--hard", "HEAD")], ids=" ".join)
def test_squash_merge_undone_leaves_nothing(branch: GitRepo, words: tuple[str, ...]) -> None:
    """Not even work of one's own in the same files."""
    branch.git("switch", "-q", "main")
    branch.git("merge", "-q", "--squash", "feature")
    branch.git("reset", "-q", *words)
    branch.commit("mine", g="of my own\n")
    assert noted(branch) == []


def test_squash_merge_undone_path_by_path(branch: GitRepo) -> None:
    branch.git("switch", "-q", "main")
    branch.git("merge", "-q", "--squash", "feature")
    branch.git("restore", "--staged", "--worktree", ".")
    branch.commit("beside", h="h\n")
    assert noted(branch) == []


def test_squash_merge_undone_and_done_again_on_a_new_branch(branch: GitRepo) -> None:
    branch.git("switch", "-q", "main")
    branch.git("merge", "-q", "--squash", "feature")
    branch.git("reset", "-q", "--hard")
    branch.git("merge", "-q", "--squash", "feature")
    branch.git("switch", "-q", "-c", "landing")
    branch.commit("all of it, and more", g="edited\n")
    assert noted(branch) == [HANDLE]


def test_without_rewrite_ref_the_hook_carries(branch: GitRepo) -> None:
    """As in a clone where nobody has run `git agent init`."""
    assert branch.git("config", "--get", "--default=none", "notes.rewriteRef") == "none"
    branch.git("config", "--unset", "branch.feature.agentHandle")
    rebase(branch)
    assert noted(branch) == [HANDLE]


def test_amend_in_a_linked_worktree(branch: GitRepo, tmp_path: Path, programs: Path) -> None:
    linked = branch.worktree(tmp_path / "linked", "other")
    prepare_worktree(linked, programs)
    leave(linked, "0b02aaaa")
    linked.git("commit", "-q", "--amend", "-m", "amended")
    assert set(noted(linked)) == {HANDLE, "0b02aaaa"}  # the commit before held both
    assert find(linked).handle == "0b02aaaa"


def test_pull_rebase(branch: GitRepo, tmp_path: Path) -> None:
    upstream = branch.clone(tmp_path / "upstream", "--bare")
    branch.git("remote", "add", "origin", str(upstream.path))
    other = upstream.clone(tmp_path / "other", "--branch", "feature")
    other.commit("theirs", h="h\n")
    other.git("push", "-q", "origin", "feature")
    branch.commit("ours", g="3\n4\n")
    branch.git("pull", "-q", "--rebase", "origin", "feature")
    assert noted(branch) == [HANDLE]
    assert find(branch).handle == HANDLE


def test_a_branch_without_a_run_is_left_alone(repo: GitRepo) -> None:
    repo.commit("three", g="3\n")
    assert notes.read(repo.facts()).by_commit == {}
    assert not (repo.path / ".git/agent/runs").exists()


def test_several_picks_with_a_conflict_among_them(branch: GitRepo) -> None:
    first = branch.head()
    leave(branch, "0b02aaaa", "record")
    branch.commit("four", when=EPOCH + 60, h="4\n")
    branch.git("switch", "-q", "main")
    branch.commit("clash", when=EPOCH + 120, g="clash\n")
    with pytest.raises(AssertionError, match="could not apply"):
        branch.git("cherry-pick", first, "feature")
    write(branch, "g", "both\n")
    branch.git("add", "g")
    branch.git("cherry-pick", "--continue", env={"GIT_EDITOR": "true"})
    assert noted(branch, "HEAD~1") == [HANDLE]


def test_several_picks_with_a_conflict_in_the_middle(branch: GitRepo) -> None:
    """Each pick has its own run's note, the one with the conflict too."""
    picks = []
    for number, files in enumerate([{"h": "4\n"}, {"g": "theirs\n"}, {"i": "5\n"}]):
        branch.commit(f"pick {number}", when=EPOCH + 60 * number, **files)
        leave(branch, f"0b0{number + 2}aaaa", "note")
        picks.append(branch.head())
    branch.git("switch", "-q", "main")
    branch.commit("clash", when=EPOCH + 600, g="clash\n")
    with pytest.raises(AssertionError, match="could not apply"):
        branch.git("cherry-pick", *picks)
    write(branch, "g", "both\n")
    branch.git("add", "g")
    branch.git("cherry-pick", "--continue", env={"GIT_EDITOR": "true"})
    for place, number in (("HEAD~2", 0), ("HEAD~1", 1), ("HEAD", 2)):
        assert f"0b0{number + 2}aaaa" in noted(branch, place)


def test_a_pick_without_a_commit_whose_message_is_taken_over(branch: GitRepo) -> None:
    branch.git("switch", "-q", "-c", "other", "main")
    leave(branch, "0b02aaaa", "record pointer")
    branch.git("cherry-pick", "-n", "feature")
    branch.git("commit", "-q", "-C", "feature")
    assert set(noted(branch)) == {HANDLE, "0b02aaaa"}
