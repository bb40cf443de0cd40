"""Which run belongs to this branch, in real repositories."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from git_agent_runner import git
from git_agent_runner.core.errors import UserError
from git_agent_runner.find import candidates
from git_agent_runner.store import notes
from support.gitrepo import GitRepo
from support.runs import START, find, leave, record

H1, H2, H3 = "7f3a9c21", "0012e345", "12345678"
RUN_TIME = int(datetime.fromisoformat(START).timestamp())
BEFORE, AFTER = RUN_TIME - 100, RUN_TIME + 100
ENDED = "2026-11-27T10:16:40.750Z"
LATER = "2026-11-28T00:00:00.000Z"


def refused(repo: GitRepo, **asked: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        find(repo, **asked)
    return caught.value


def test_pointer(repo: GitRepo) -> None:
    made = leave(repo, H1)
    found = find(repo)
    assert (found.record, found.note, found.how) == (made, None, "the pointer branch.main.agentHandle")
    assert (found.others, found.says) == ((), ())


def test_pointer_costs_three_git_processes(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """rev-parse, config, and the reflog for the branch's birth."""
    leave(repo, H1)
    spawn, calls = git._spawn, []

    def counted(words: Any, *rest: Any) -> git.Result:
        calls.append(words)
        return spawn(words, *rest)

    monkeypatch.setattr(git, "_spawn", counted)
    assert find(repo).handle == H1
    names = [next(word for word in words if not word.startswith("-")) for words in calls]
    assert [name for name in names if name != "rev-parse"] == ["config", "log"]


@pytest.mark.parametrize("name", ["--output=pwn", "a.b/ü", "x'\"$(pwn)", "HEAD"])
def test_branch_with_a_hostile_name(repo: GitRepo, name: str) -> None:
    repo.git("update-ref", f"refs/heads/{name}", "HEAD")
    repo.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
    leave(repo, H1)
    for missing in ("pointer", "note", "record"):
        found = find(repo)
        assert found.handle == H1, missing
        if missing == "pointer":
            repo.git("config", "--unset", f"branch.{name}.agentHandle")
        elif missing == "note":
            repo.git("update-ref", "-d", notes.REF)
    assert sorted(path.name for path in repo.path.iterdir()) == [".git", "f"]


@pytest.mark.parametrize("text", [H1, H1[:4], H1[:7]])
def test_explicit_handle_or_unique_prefix(repo: GitRepo, text: str) -> None:
    leave(repo, H2)
    made = leave(repo, H1, "record")
    found = find(repo, handle=text)
    assert (found.record, found.how) == (made, "the handle given")


@pytest.mark.parametrize("text", ["zzzz", "7f3", "", "--yolo", "../../../etc", "7f3a9c2100", "\x1b[31m"])
def test_unknown_handle(repo: GitRepo, text: str) -> None:
    leave(repo, H1)
    error = refused(repo, handle=text)
    assert (error.code, error.message) == ("unknown_handle", f"no run has the handle {text!a}")


def test_ambiguous_prefix_names_the_handles(repo: GitRepo) -> None:
    for handle in ("7f3a9c21", "7f3a0000"):
        leave(repo, handle, "record")
    error = refused(repo, handle="7f3a")
    assert (error.code, error.message) == ("ambiguous_handle", "'7f3a' is ambiguous: 2 handles start with it")
    assert error.hints == ("git agent show 7f3a0000", "git agent show 7f3a9c21")


def test_handle_that_only_a_note_knows(repo: GitRepo) -> None:
    leave(repo, H1, "note")
    found = find(repo, handle="7f3a")
    assert found.record is None
    assert found.note is not None
    assert (found.handle, found.note.commit) == (H1, repo.head())


def test_handle_of_a_renamed_branch_knows_the_new_name(repo: GitRepo) -> None:
    leave(repo, H1)
    repo.git("branch", "-m", "main", "trunk")
    assert find(repo, handle=H1).record == record(repo, H1, branch="trunk")


def test_environment_comes_before_the_pointer(repo: GitRepo) -> None:
    leave(repo, H1)
    made = leave(repo, H2, "record")
    found = find(repo, environ_handle=H2)
    assert (found.record, found.how) == (made, "GIT_AGENT_HANDLE")
    assert found.says == (f"taking run {H2}, which GIT_AGENT_HANDLE names, not that of branch 'main'",)
    assert find(repo, environ_handle=H2, branch="main").handle == H1
    assert find(repo, environ_handle=H2, handle=H1).handle == H1


@pytest.mark.parametrize("value", ["", "0000abcd", "../../x", "7f3a"])
def test_environment_of_another_repository_is_passed_over(repo: GitRepo, value: str) -> None:
    leave(repo, H1)
    assert find(repo, environ_handle=value).handle == H1


def test_renamed_branch_keeps_its_run_and_the_old_name_does_not(repo: GitRepo) -> None:
    """anthropics/claude-code#94045: names go stale on `git branch -m`; a re-used name is another branch."""
    repo.switch_new("feat", when=BEFORE)
    leave(repo, H1)
    repo.git("branch", "-m", "feat/renamed")
    found = find(repo)
    assert found.record is not None
    assert (found.handle, found.record.branch) == (H1, "feat/renamed")
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "feat/renamed")
    repo.switch_new("feat", "HEAD~1", when=AFTER)
    assert refused(repo).code == "no_run"


@pytest.mark.parametrize("start", ["main", "main~1"])
def test_new_branch_with_a_dead_branchs_name(repo: GitRepo, start: str) -> None:
    repo.switch_new("feat", when=BEFORE)
    repo.commit("work")
    leave(repo, H1)
    tip = repo.head()
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "feat")
    repo.switch_new("feat", start, when=AFTER)
    repo.git("reset", "-q", "--hard", tip)  # even with the dead branch's own commits
    error = refused(repo)
    assert error.message == "no run found for branch 'feat'"
    assert error.hints[0] == (
        f"run {H1} was skipped: it is older than this branch 'feat'; to adopt it: git agent adopt {H1}"
    )


def test_pointer_that_outlived_its_branch(repo: GitRepo) -> None:
    """`git update-ref -d` and the like leave the configuration behind."""
    repo.switch_new("feat", when=BEFORE)
    leave(repo, H1)
    repo.git("checkout", "-q", "main")
    repo.git("update-ref", "-d", "refs/heads/feat")
    repo.switch_new("feat", when=AFTER)
    assert refused(repo).code == "no_run"


def test_run_resumed_by_name_after_the_branchs_birth_belongs_to_it(repo: GitRepo) -> None:
    repo.switch_new("feat", when=AFTER)
    leave(repo, H1, updated_at=LATER)
    assert find(repo).handle == H1


def test_birth_in_the_future_proves_nothing(repo: GitRepo) -> None:
    repo.switch_new("feat", when=4_000_000_000)
    leave(repo, H1)
    assert find(repo).handle == H1


@pytest.mark.parametrize("pieces", ["record note", "note", "record"])
def test_branch_made_anew_in_the_second_in_which_its_run_ended(repo: GitRepo, pieces: str) -> None:
    repo.switch_new("feat", when=BEFORE)
    leave(repo, H1, pieces + " pointer", updated_at=ENDED)
    repo.git("checkout", "-q", "main")
    repo.git("branch", "-q", "-D", "feat")
    repo.switch_new("feat", when=int(datetime.fromisoformat(ENDED).timestamp()))
    assert refused(repo).code == "no_run"


def test_same_second_is_not_older(repo: GitRepo) -> None:
    repo.switch_new("feat", when=RUN_TIME)
    leave(repo, H1, "record note")
    assert find(repo).handle == H1


def test_copied_branch_does_not_take_the_run_along(repo: GitRepo) -> None:
    leave(repo, H1)
    repo.git("branch", "-c", "main", "copy")
    assert find(repo).handle == H1
    repo.git("checkout", "-q", "copy")
    error = refused(repo)
    assert "it is the run of branch 'main', which 'copy' was copied from" in error.hints[0]
    repo.git("branch", "-q", "-D", "main")
    assert find(repo).record == record(repo, H1, branch="copy")


@pytest.mark.parametrize("path", ["amend", "rebase", "side branch moved on"])
def test_rewritten_commits_keep_the_run_without_a_pointer(repo: GitRepo, path: str) -> None:
    repo.switch_new("feat", "HEAD~1", when=BEFORE)
    repo.commit("work", g="1\n")
    notes.ensure_config(repo.facts())
    leave(repo, H1, "note")
    if path == "amend":
        repo.git("commit", "-q", "--amend", "-m", "reworded")
    elif path == "rebase":
        repo.git("rebase", "-q", "main")
    else:
        repo.commit("more")
    found = find(repo)
    assert (found.handle, found.record) == (H1, None)
    assert found.how.startswith("the note on commit ")


def test_squashed_runs_the_newest_wins_and_the_other_is_named(repo: GitRepo) -> None:
    """git-ai#1079: the note of a fixup joins two runs with a blank line between."""
    notes.ensure_config(repo.facts())
    repo.commit("work", g="1\n")
    leave(repo, H1, "record note", updated_at=LATER)
    repo.commit("fixup! work", g="2\n")
    leave(repo, H2, "record note")
    repo.git("rebase", "-q", "-i", "--autosquash", "HEAD~2")
    found = find(repo)
    assert (found.handle, found.others) == (H1, (H2,))


def test_nearest_note_of_the_branch_itself_counts(repo: GitRepo) -> None:
    leave(repo, H3, "note", branch="feat")  # on main's commits, so not feat's own
    repo.switch_new("feat", when=BEFORE)
    repo.commit("f1")
    leave(repo, H1, "note")
    repo.commit("f2")
    leave(repo, H2, "note", branch="other")
    repo.commit("f3")
    assert find(repo).handle == H1


def test_note_beyond_the_first_commits(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "FIRST_COMMITS", 1)
    leave(repo, H1, "note")
    repo.commit("c3")
    assert find(repo).handle == H1


def test_note_on_commits_of_another_branch_is_named_only(repo: GitRepo) -> None:
    repo.switch_new("side", when=BEFORE)
    repo.commit("s")
    leave(repo, H1, "note", branch="main")
    repo.git("checkout", "-q", "main")
    error = refused(repo)
    assert error.hints[0] == (
        f"run {H1} was skipped: it is noted on {repo.git('rev-parse', 'side')[:12]}, which is not unique"
        f' to this branch; if it is the one you mean: git agent resume {H1} "<message>"'
    )


@pytest.mark.parametrize("what", ["record pointer", "note pointer", "record note pointer"])
def test_run_that_another_branchs_pointer_names(repo: GitRepo, what: str) -> None:
    leave(repo, H1, what)
    repo.git("branch", "-m", "main", "trunk")
    repo.git("branch", "main")
    repo.git("checkout", "-q", "main")
    error = refused(repo)
    assert f"run {H1} was skipped: it is the run of branch 'trunk'" in error.hints[0]


def test_old_note_of_a_run_that_moved_on(repo: GitRepo) -> None:
    leave(repo, H1, "note")
    leave(repo, H1, "record", branch="elsewhere")
    assert "its record shows that it is the run of branch 'elsewhere'" in refused(repo).hints[0]


def test_index_records_reachable_from_the_tip(repo: GitRepo) -> None:
    start = repo.head()
    leave(repo, H1, "record")
    leave(repo, H2, "record", updated_at=LATER)
    leave(repo, H3, "record", updated_at="2026-12-01T00:00:00.000Z", start_commit="1" * 40)
    repo.commit("c3")
    found = find(repo)
    assert (found.handle, found.others) == (H2, (H1,))
    assert found.how == "the newest record of branch 'main'"
    repo.git("reset", "-q", "--hard", f"{start}~1")
    assert refused(repo).code == "no_run"


def test_after_squash_merge_and_reset_the_record_answers(repo: GitRepo) -> None:
    repo.switch_new("feat", when=BEFORE)
    leave(repo, H1, "record")
    repo.commit("work", g="1\n")
    repo.git("reset", "-q", "--soft", "main")
    repo.commit("squashed by hand")
    assert find(repo).handle == H1
