"""Which run is meant where there is no branch, by another name, in a clone, or with a record that is gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.store import notes
from support.gitrepo import GitRepo, make
from support.runs import START, find, index, leave

H1, H2, H3 = "7f3a9c21", "0012e345", "12345678"
RUN_TIME = int(datetime.fromisoformat(START).timestamp())
BEFORE, AFTER = RUN_TIME - 100, RUN_TIME + 100
LATER = "2026-11-28T00:00:00.000Z"


def refused(repo: GitRepo, **asked: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        find(repo, **asked)
    return caught.value


def test_unborn_branch_and_after_its_first_commit(empty_repo: GitRepo) -> None:
    leave(empty_repo, H1, "record")
    assert find(empty_repo).handle == H1
    leave(empty_repo, H2, "record", start_commit="1" * 40, updated_at=LATER)
    assert find(empty_repo).handle == H1
    empty_repo.commit("first")
    assert find(empty_repo).handle == H1


def test_orphan_branch_has_no_run(repo: GitRepo) -> None:
    leave(repo, H1)
    repo.git("checkout", "-q", "--orphan", "fresh")
    error = refused(repo)
    assert (error.code, error.message) == ("no_run", "no run found for branch 'fresh'")


def test_orphan_branch_names_the_run_of_a_dead_branch_of_its_name(repo: GitRepo) -> None:
    """faults B8, E"""
    leave(repo, H1, "note", branch="fresh")
    repo.git("checkout", "-q", "--orphan", "fresh")
    commit = repo.git("rev-parse", "main")[:12]
    assert refused(repo).hints[0] == (
        f"run {H1} was skipped: it is noted on {commit}, which is not unique to this branch;"
        f' if it is the one you mean: git agent resume {H1} "<message>"'
    )


def test_detached_head_names_no_run_that_is_noted_on_other_commits(repo: GitRepo) -> None:
    """faults A1, E"""
    repo.git("checkout", "-q", "--detach")
    repo.commit("aside")
    leave(repo, H1, "note", branch=None)
    repo.git("checkout", "-q", "--detach", "main")
    assert [hint for hint in refused(repo).hints if "was skipped" in hint] == []


def test_detached_head_does_not_take_a_branchs_run(repo: GitRepo) -> None:
    """faults A1"""
    leave(repo, H1)
    repo.git("checkout", "-q", "--detach")
    error = refused(repo)
    assert (error.code, error.hints[0]) == (
        "no_run",
        f"run {H1} was skipped: it is the run of branch 'main'; to switch to it: git switch main",
    )


def test_detached_head_with_two_candidates(repo: GitRepo) -> None:
    leave(repo, H1, "note")
    leave(repo, H2, "note")
    repo.git("checkout", "-q", "--detach")
    error = refused(repo)
    assert (error.code, error.message) == ("no_run", "no run found for the detached HEAD")
    assert {hint.split()[1] for hint in error.hints[:2]} == {H1, H2}


def test_detached_head_without_a_note(repo: GitRepo) -> None:
    leave(repo, H1, "record pointer")
    repo.git("checkout", "-q", "--detach")
    assert refused(repo).code == "no_run"


def test_branch_being_rebased(repo: GitRepo) -> None:
    repo.switch_new("topic", "HEAD~1", when=BEFORE)
    repo.commit("t", g="1\n")
    made = leave(repo, H1)
    repo.git("rebase", "-q", "-i", "main", env={"GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/"})
    assert repo.facts().branch is None
    assert find(repo).record == made


def test_branch_being_bisected(repo: GitRepo) -> None:
    made = leave(repo, H1)
    repo.commit("c3")
    repo.git("bisect", "start", "HEAD", "HEAD~2")
    assert repo.facts().branch is None
    assert find(repo).record == made


@pytest.mark.parametrize("what", ["record", "note", "record note"])
def test_merged_and_deleted_branch_by_its_old_name(repo: GitRepo, what: str) -> None:
    repo.switch_new("feat", when=BEFORE)
    repo.commit("work")
    leave(repo, H1, what)
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "feat")
    repo.git("branch", "-q", "-d", "feat")
    assert find(repo, branch="feat").handle == H1
    assert find(repo, commit="HEAD^2").handle == H1
    assert find(repo, commit="HEAD^2", branch="feat").handle == H1
    assert refused(repo, commit="HEAD^2", branch="other").code == "no_run"


def test_a_branchs_note_on_the_commit_that_it_began_on(repo: GitRepo, tmp_path: Path) -> None:
    """faults B8: the run made no commit, and only its note is here; one of another branch there does not count."""
    repo.switch_new("feat", when=BEFORE)
    leave(repo, H1, "note")
    leave(repo, H2, "note", branch="main")
    repo.commit("a person's")
    clone = repo.clone(tmp_path / "clone")
    clone.git("fetch", "-q", "origin", f"{notes.REF}:{notes.REF}", "main:main")
    assert find(clone).handle == H1
    clone.git("switch", "-q", "-c", "other", "main", env={"GIT_COMMITTER_DATE": f"{AFTER} +0000"})
    assert refused(clone).code == "no_run"


def test_another_branch_by_name(repo: GitRepo) -> None:
    leave(repo, H1)
    repo.switch_new("feat", when=BEFORE)
    assert find(repo, branch="main").handle == H1
    assert refused(repo, branch="feat").code == "no_run"


def test_commit_takes_the_nearest_note(repo: GitRepo) -> None:
    leave(repo, H1, "note")
    repo.commit("c3")
    leave(repo, H2, "note")
    assert find(repo, commit="HEAD").handle == H2
    assert find(repo, commit="HEAD~1").handle == H1
    assert refused(repo, commit="HEAD~2").message == "no run found for commit HEAD~2"


@pytest.mark.parametrize("revision", ["nope", "--output=pwn", "HEAD:f"])
def test_commit_that_is_none(repo: GitRepo, revision: str) -> None:
    error = refused(repo, commit=revision)
    assert (error.code, error.message) == ("unknown_revision", f"'{revision}' is not a commit")


@pytest.mark.parametrize(
    ("rename", "remote"), [(None, "origin"), ("up stream", "'up stream'")], ids=["origin", "another name"]
)
def test_fresh_clone_names_the_ref_and_the_fetch_command(
    repo: GitRepo, tmp_path: Path, rename: str | None, remote: str
) -> None:
    """Clones do not fetch notes (dotfiles#939). Nothing is fetched, and no refspec is added, without asking."""
    leave(repo, H1)
    clone = repo.clone(tmp_path / "clone", *(("--origin", "x") if rename else ()))
    if rename:
        clone.git("config", "--rename-section", "remote.x", f"remote.{rename}")
        clone.git("config", "branch.main.remote", rename)
    before = (clone.path / ".git/config").read_text()
    error = refused(clone)
    assert (error.code, error.message) == ("no_run", "no run found for branch 'main'")
    command = f"git agent fetch {remote}"
    assert error.hints[0].endswith(f"fetch it with: {command}")
    assert "no refs/notes/agent" in error.hints[0]
    assert not clone.git("for-each-ref", "refs/notes")
    assert (clone.path / ".git/config").read_text() == before
    if not rename:
        clone.git("fetch", "-q", "origin", f"{notes.REF}:{notes.REF}")
        found = find(clone)
        assert (found.handle, found.record) == (H1, None)


def test_remote_branch_brings_runs_older_than_its_local_birth(repo: GitRepo, tmp_path: Path) -> None:
    repo.switch_new("feat", when=BEFORE)
    repo.commit("work")
    leave(repo, H1)
    repo.git("checkout", "-q", "main")
    clone = repo.clone(tmp_path / "clone")
    clone.git("fetch", "-q", "origin", f"{notes.REF}:{notes.REF}")
    clone.git("switch", "-q", "feat", env={"GIT_COMMITTER_DATE": f"{AFTER} +0000"})
    assert find(clone).handle == H1


CORRUPT = "handle: [\n"


def test_corrupt_record_falls_back_to_its_note(repo: GitRepo) -> None:
    leave(repo, H1)
    path = Path(index(repo).layout.index_file(H1))
    path.write_text(CORRUPT)
    found = find(repo)
    assert (found.handle, found.record) == (H1, None)
    assert str(path) in found.says[0]
    assert path.read_text() == CORRUPT


@pytest.mark.parametrize("asked", [{}, {"handle": H1}])
def test_corrupt_record_without_a_note_is_named(repo: GitRepo, asked: dict[str, str]) -> None:
    leave(repo, H1, "record pointer")
    path = Path(index(repo).layout.index_file(H1))
    path.write_text(CORRUPT)
    error = refused(repo, **asked)
    assert error.code == "corrupt_record"
    assert str(path) in error.message


def test_pointer_without_a_record_is_said(repo: GitRepo) -> None:
    leave(repo, H1, "pointer")
    leave(repo, H2, "record")
    found = find(repo)
    assert found.handle == H2
    said = f"branch.main.agentHandle names {H1}, which has no readable record: git agent doctor"
    assert found.says == (said,)


def test_pointer_without_a_record_is_said_where_nothing_else_is_found(repo: GitRepo) -> None:
    leave(repo, H1, "pointer")
    assert any(f"agentHandle names {H1}" in line for line in refused(repo).hints)


@pytest.mark.parametrize("kind", ["sha256", "linked worktree", "submodule", "worktree of a bare repository"])
@pytest.mark.parametrize("what", ["record pointer", "note", "record"])
def test_every_kind_of_repository(tmp_path: Path, kind: str, what: str) -> None:
    repo = KINDS[kind](tmp_path)
    repo.commit("its own")
    leave(repo, H1, what)
    repo.commit("more")
    assert find(repo).handle == H1


def _sha256(path: Path) -> GitRepo:
    repo = make(path / "r", "--object-format=sha256")
    repo.commit("c")
    return repo


def _linked(path: Path) -> GitRepo:
    return _plain(path).worktree(path / "linked", "side")


def _submodule(path: Path) -> GitRepo:
    outer = make(path / "outer")
    outer.git("submodule", "--quiet", "add", str(_plain(path).path), "sub")
    return GitRepo(outer.path / "sub")


def _of_bare(path: Path) -> GitRepo:
    return _plain(path).clone(path / "b.git", "--bare").worktree(path / "b.git/main", "main")


def _plain(path: Path) -> GitRepo:
    repo = make(path / "r")
    repo.commit("c")
    return repo


KINDS: dict[str, Callable[[Path], GitRepo]] = {
    "sha256": _sha256,
    "linked worktree": _linked,
    "submodule": _submodule,
    "worktree of a bare repository": _of_bare,
}
