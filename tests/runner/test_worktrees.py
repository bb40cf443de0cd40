"""Where a run goes on: real work trees, one branch that must not be mixed up with another."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_runner.attempt.work_tree import RunPlace, place
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import trees
from support.gitrepo import GitRepo
from support.runs import record

HANDLE = "7f3a9c21"
CHOOSE = "or choose the directory yourself with --cwd DIR: codex "


def anywhere(_same_repository: bool) -> bool:
    return True


def only_there(_same_repository: bool) -> bool:
    return False


def take(hints: tuple[str, ...], repo: GitRepo) -> None:
    """Do what the hints say, as a person would who pastes them."""
    for hint in hints:
        program, *words = shlex.split(hint.partition(" && ")[0])  # the run itself is not here to be tied
        if program == "git" and words[0] != "agent":
            repo.git(*words)


def test_same_branch_here_costs_no_git_process(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo.path / "sub").mkdir()
    made, facts = record(repo, HANDLE, cwd=f"{repo.path}/sub"), repo.facts()
    monkeypatch.setenv("PATH", "/nowhere")
    assert place(made, facts, only_there) == RunPlace(f"{repo.path}/sub", None)


def test_called_from_another_worktree_runs_in_its_own(repo: GitRepo, tmp_path: Path) -> None:
    made = record(repo, HANDLE)
    linked = repo.worktree(tmp_path / "linked", "side")
    said = f"running in '{repo.path}', the run's own directory"
    assert place(made, linked.facts(), only_there) == RunPlace(str(repo.path), said)


@pytest.mark.parametrize(("sub", "kept"), [("", ""), ("/sub", "/sub"), ("/untracked", "")])
def test_branch_that_moved_to_another_worktree(repo: GitRepo, tmp_path: Path, sub: str, kept: str) -> None:
    (repo.path / "sub").mkdir()
    repo.switch_new("feat")
    (repo.path / "sub/f").touch()
    repo.commit("s")
    (repo.path / "untracked").mkdir()
    made = record(repo, HANDLE, cwd=f"{repo.path}{sub}")
    repo.git("checkout", "-q", "main")
    linked = repo.worktree(tmp_path / "linked", "feat")
    cwd = f"{linked.path}{kept}"
    found = place(made, repo.facts(), anywhere)
    assert found.cwd == cwd
    assert found.note == f"running in '{cwd}', where 'feat' is checked out now, instead of '{repo.path}{sub}'"


def test_engine_that_resumes_only_in_its_directory_is_not_moved(repo: GitRepo, tmp_path: Path) -> None:
    repo.switch_new("feat")
    made = record(repo, HANDLE)
    repo.git("checkout", "-q", "main")
    linked = repo.worktree(tmp_path / "linked", "feat")
    with pytest.raises(UserError) as caught:
        place(made, linked.facts(), only_there)
    belongs = f"run {HANDLE} belongs to branch 'feat', checked out in '{linked.path}'"
    assert caught.value.code == "branch_elsewhere"
    assert caught.value.message == f"{belongs}, but 'main' is checked out in '{repo.path}'"
    assert caught.value.hints == (
        f"git -C {linked.path} switch --detach",
        f"git -C {repo.path} switch feat",
        "codex resumes a session only in its own directory; with --cwd DIR it would not find it",
    )
    take(caught.value.hints, linked)
    assert place(made, linked.facts(), only_there).cwd == str(repo.path)


@pytest.mark.parametrize(
    ("elsewhere", "then"),
    [(anywhere, (f"{CHOOSE}resumes there too",)), (only_there, ())],
)
def test_other_branch_here_names_both_and_the_ways_on(
    repo: GitRepo, elsewhere: Callable[[bool], bool], then: tuple[str, ...]
) -> None:
    repo.switch_new("feat")
    made = record(repo, HANDLE)
    repo.git("checkout", "-q", "main")
    with pytest.raises(UserError) as caught:
        place(made, repo.facts(), elsewhere)
    assert caught.value.code == "branch_elsewhere"
    assert caught.value.message == f"run {HANDLE} belongs to branch 'feat', but 'main' is checked out here"
    assert caught.value.hints == ("git switch feat", *then)


def test_hint_for_a_deleted_branch_makes_it_anew(repo: GitRepo) -> None:
    repo.switch_new("it's")
    made = record(repo, HANDLE)
    repo.git("checkout", "-q", "--detach", "main")
    repo.git("branch", "-q", "-D", "it's")
    with pytest.raises(UserError) as caught:
        place(made, repo.facts(), anywhere)
    assert (
        caught.value.message == f"run {HANDLE} belongs to branch 'it's', which was deleted, but HEAD is detached here"
    )
    assert caught.value.hints[1] == f"or tie the run to where you are: git agent adopt {HANDLE}"
    name = shlex.quote("it's")
    tied = f"git agent adopt {HANDLE} --branch {name}"
    assert caught.value.hints[0] == f"git switch -c {name} {made.start_commit} && {tied}"


def test_branch_being_rebased_counts_as_checked_out(repo: GitRepo) -> None:
    repo.switch_new("topic", "HEAD~1")
    repo.commit("t", g="1\n")
    made = record(repo, HANDLE)
    repo.git("rebase", "-q", "-i", "main", env={"GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/"})
    assert place(made, repo.facts(), only_there) == RunPlace(str(repo.path), None)


def test_directory_that_is_gone_is_never_replaced(repo: GitRepo) -> None:
    made = record(repo, HANDLE, cwd=f"{repo.path}/gone")
    with pytest.raises(UserError) as caught:
        place(made, repo.facts(), anywhere, default_directory=str(repo.path))
    assert (caught.value.code, caught.value.message) == (
        "directory_gone",
        f"the directory of run {HANDLE} is missing: '{repo.path}/gone'",
    )


@pytest.mark.parametrize("how", ["removed", "deleted"])
def test_removed_worktree(repo: GitRepo, tmp_path: Path, how: str) -> None:
    linked = repo.worktree(tmp_path / "linked", "feat")
    made = record(linked, HANDLE)
    if how == "deleted":
        shutil.rmtree(linked.path)
        repo.git("checkout", "-q", "--ignore-other-worktrees", "feat")
    else:
        repo.git("worktree", "remove", str(linked.path))
        repo.git("checkout", "-q", "feat")
    assert place(made, repo.facts(), anywhere).cwd == str(repo.path)
    with pytest.raises(UserError) as caught:
        place(made, repo.facts(), only_there)
    assert caught.value.code == "directory_gone"
    assert f"'{linked.path}'" in caught.value.message
    take(caught.value.hints, repo)
    assert place(made, repo.facts(), only_there).cwd == str(linked.path)


def test_removed_worktree_that_is_locked(repo: GitRepo, tmp_path: Path) -> None:
    """faults B13: apps that run agents lock theirs."""
    linked = repo.worktree(tmp_path / "linked", "feat")
    made = record(linked, HANDLE, worktree_id=trees.here(linked.facts()))
    repo.git("worktree", "lock", "--reason", "an agent's", str(linked.path))
    shutil.rmtree(linked.path)
    with pytest.raises(UserError) as caught:
        place(made, repo.facts(), anywhere)
    assert caught.value.hints[0] == f"git worktree add -f -f {linked.path} feat"
    take(caught.value.hints[:1], repo)
    assert place(made, repo.facts(), only_there).cwd == str(linked.path)


@pytest.mark.parametrize("how", ["removed", "deleted", "its branch, too"])
def test_removed_worktree_whose_branch_is_checked_out_nowhere(repo: GitRepo, tmp_path: Path, how: str) -> None:
    linked = repo.worktree(tmp_path / "it's", "feat")
    made = record(linked, HANDLE)
    if how == "deleted":
        shutil.rmtree(linked.path)
    else:
        repo.git("worktree", "remove", str(linked.path))
    if how == "its branch, too":
        repo.git("branch", "-q", "-D", "feat")
    with pytest.raises(UserError) as caught:
        place(made, repo.facts(), anywhere)
    assert caught.value.code == "directory_gone"
    assert caught.value.message == f"the work tree of run {HANDLE} is missing: '{linked.path}'"
    take(caught.value.hints[:1], repo)
    assert place(made, repo.facts(), only_there).cwd == str(linked.path)


def test_directory_that_is_no_worktree_any_more(repo: GitRepo, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "linked", "feat")
    made = record(linked, HANDLE)
    repo.git("worktree", "remove", str(linked.path))
    linked.path.mkdir()
    repo.git("checkout", "-q", "feat")
    with pytest.raises(UserError, match=f"but '{linked.path}' is not a work tree of this repository") as caught:
        place(made, repo.facts(), only_there)
    assert caught.value.code == "branch_elsewhere"
    assert [hint for hint in caught.value.hints if hint.startswith("git ")] == []


@pytest.mark.parametrize("wanted", [True, False])
def test_directory_the_person_chose(repo: GitRepo, tmp_path: Path, wanted: bool) -> None:
    repo.switch_new("feat")
    made = record(repo, HANDLE)
    repo.git("checkout", "-q", "main")
    chosen = tmp_path / ("here" if wanted else "gone")
    (tmp_path / "here").mkdir()
    if wanted:
        assert place(made, repo.facts(), only_there, cwd_override=str(chosen)) == RunPlace(str(chosen), None)
    else:
        with pytest.raises(UserError, match="is missing"):
            place(made, repo.facts(), only_there, cwd_override=str(chosen))


@pytest.mark.parametrize("configured", [True, False])
def test_run_without_a_directory(repo: GitRepo, tmp_path: Path, configured: bool) -> None:
    made = record(repo, HANDLE, cwd="")
    default = str(tmp_path) if configured else None
    expected = str(tmp_path if configured else repo.path)
    assert place(made, repo.facts(), only_there, default_directory=default) == RunPlace(expected, None)


def test_run_of_a_detached_head_stays_in_its_directory(repo: GitRepo) -> None:
    repo.git("checkout", "-q", "--detach")
    made = record(repo, HANDLE)
    repo.git("checkout", "-q", "main")
    assert made.branch is None
    assert place(made, repo.facts(), only_there) == RunPlace(str(repo.path), None)
