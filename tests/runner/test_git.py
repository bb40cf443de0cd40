"""The door to git and what it says of the repository a command runs in."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner import git
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository
from support.gitrepo import GitRepo, make


def refused(cwd: Path) -> UserError:
    with pytest.raises(UserError) as caught:
        git.discover(str(cwd), os.environ)
    return caught.value


def test_local_environment_is_what_git_says(repo: GitRepo) -> None:
    told = set(repo.git("rev-parse", "--local-env-vars").split("\n"))
    assert told <= set(git.LOCAL_ENV_VARS)


def test_scrubbed_environment_keeps_people_and_drops_repositories() -> None:
    keep = {"GIT_AUTHOR_NAME": "A", "GIT_SSH_COMMAND": "ssh -v", "GIT_EDITOR": "vi", "PATH": "/bin"}
    config = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    drop = {"GIT_DIR": "/x", "GIT_INDEX_FILE": "/y", "GIT_PREFIX": "sub/"}
    assert git.scrubbed({**keep, **config, **drop}) == keep
    assert git.own_environment({**keep, **config, **drop}) == {**keep, **config}


def test_discovers_from_a_subdirectory(repo: GitRepo) -> None:
    (repo.path / "a/b").mkdir(parents=True)
    found = git.discover(str(repo.path / "a/b"), os.environ)
    top = str(repo.path)
    assert found == Repository(top, f"{top}/.git", f"{top}/.git", "main", repo.head())


def test_paths_are_real_behind_a_symbolic_link(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo.path)
    assert git.discover(str(tmp_path / "link"), os.environ).top == str(repo.path)


def test_unborn_branch_has_a_name_and_no_commit(empty_repo: GitRepo) -> None:
    facts = empty_repo.facts()
    assert (facts.branch, facts.head) == ("main", None)


def test_detached_head_has_a_commit_and_no_name(repo: GitRepo) -> None:
    repo.git("checkout", "-q", "--detach")
    facts = repo.facts()
    assert (facts.branch, facts.head) == (None, repo.head())


@pytest.mark.parametrize("name", ["HEAD", "--output=pwn", "a.b/ü", "@", "x'\"$(pwn)"])
def test_branch_with_a_hostile_name(repo: GitRepo, name: str) -> None:
    repo.git("update-ref", f"refs/heads/{name}", "HEAD")
    repo.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
    facts = repo.facts()
    assert (facts.branch, facts.head) == (name, repo.git("rev-parse", "main"))
    assert sorted(path.name for path in repo.path.iterdir()) == [".git", "f"]


def test_linked_worktree_shares_the_common_directory(repo: GitRepo, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "linked", "side")
    facts = linked.facts()
    assert facts.common_dir == f"{repo.path}/.git"
    assert facts.git_dir == f"{repo.path}/.git/worktrees/linked"
    assert (facts.top, facts.branch) == (str(linked.path), "side")


def test_bare_repository_is_refused_and_its_worktree_works(repo: GitRepo, tmp_path: Path) -> None:
    bare = repo.clone(tmp_path / "b.git", "--bare")
    error = refused(bare.path)
    assert (error.message, error.code) == (f"'{bare.path}' is a bare repository", "bare_repository")
    assert error.hints == ("work in a linked worktree of it: git worktree add <path> <branch>",)
    linked = bare.worktree(tmp_path / "linked", "main")
    assert linked.facts().common_dir == str(bare.path)


def test_submodule_has_its_own_common_directory(repo: GitRepo, tmp_path: Path) -> None:
    inner = make(tmp_path / "inner")
    inner.commit("i")
    repo.git("submodule", "--quiet", "add", str(inner.path), "sub")
    facts = GitRepo(repo.path / "sub").facts()
    assert facts.top == f"{repo.path}/sub"
    assert facts.git_dir == facts.common_dir == f"{repo.path}/.git/modules/sub"


def test_sha256_repository(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", "--object-format=sha256")
    head = repo.commit("c")
    assert len(head) == 64
    assert repo.facts().head == head


def test_outside_a_repository(tmp_path: Path) -> None:
    error = refused(tmp_path)
    assert error.code == "not_a_repository"
    assert error.message.startswith("not a git repository")
    assert str(tmp_path) in error.message


def test_inside_the_git_directory(repo: GitRepo) -> None:
    assert refused(repo.path / ".git").code == "no_work_tree"


def test_directory_that_is_gone(tmp_path: Path) -> None:
    error = refused(tmp_path / "nowhere")
    assert (error.code, error.message) == ("directory_gone", f"the directory '{tmp_path}/nowhere' no longer exists")


def test_line_break_in_the_path_is_refused(tmp_path: Path) -> None:
    assert refused(make(tmp_path / "a\nb").path).code == "not_a_repository"


def test_git_that_is_missing(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    error = refused(repo.path)
    assert (error.code, error.message) == ("git_missing", "git was not found on PATH")


def test_dubious_ownership_shows_gits_own_words(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    error = refused(repo.path)
    assert error.code == "dubious_ownership"
    assert f"detected dubious ownership in repository at '{repo.path}'" in error.message
    assert error.hints == (f"git config --global --add safe.directory {repo.path}",)  # faults B17: no tab, a hint


def test_gits_prefix_is_dropped_as_often_as_it_is_there(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """faults B17"""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    error = refused(repo.path)
    assert error.message == f"unable to parse command-line config (in '{repo.path}')"


FACTS_IN_A_HOOK = """
import os
from git_agent_runner.git import discover
print(*discover(os.getcwd(), os.environ)[:4], sep="\\n")
"""


def facts_in_hook(repo: GitRepo, out: Path, before: str = ":") -> list[str]:
    """Top, git directory, common directory and branch as seen in a post-commit hook, with git's own variables."""
    hook = Path(repo.facts().common_dir) / "hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    program = shlex.join(["env", f"PYTHONPATH={os.pathsep.join(sys.path)}", sys.executable, "-c", FACTS_IN_A_HOOK])
    hook.write_text(f"#!/bin/sh\n{before}\n{program} > {shlex.quote(str(out))}\n")
    hook.chmod(0o755)
    repo.commit("fires the hook")
    return out.read_text().split("\n")[:-1]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(":", id="at the top"),
        pytest.param("mkdir -p sub; cd sub", id="in a subdirectory, where GIT_DIR alone would make it the top"),
    ],
)
def test_hook_of_a_linked_worktree(repo: GitRepo, tmp_path: Path, before: str) -> None:
    linked = repo.worktree(tmp_path / "linked", "side")
    common = f"{repo.path}/.git"
    expected = [str(linked.path), f"{common}/worktrees/linked", common, "side"]
    assert facts_in_hook(linked, tmp_path / "out", before) == expected


def test_calls_ignore_the_index_and_directory_of_a_hook(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = repo.facts()
    other = make(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert git.in_repo(facts, "rev-parse", "HEAD").out == f"{facts.head}\n"
    assert git.run(("ls-files", "-z"), git_dir=facts.git_dir, cwd=facts.top).out == "f\0"


def test_git_dir_and_work_tree_of_the_caller_are_honoured(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(repo.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo.path))
    assert git.discover(str(tmp_path), os.environ).top == str(repo.path)


def test_failure_carries_gits_reason(repo: GitRepo) -> None:
    with pytest.raises(git.GitError) as caught:
        git.in_repo(repo.facts(), "cat-file", "-p", "0" * 40)
    assert caught.value.message == f"git cat-file failed: Not a valid object name {'0' * 40}"
    assert caught.value.result.status == 128


def test_bytes_that_are_no_text_survive(repo: GitRepo) -> None:
    data = b"\xff\xfe raw \x80\r\n"
    facts = repo.facts()
    oid = git.in_repo(facts, "hash-object", "-w", "--stdin", stdin=data.decode("utf-8", "surrogateescape")).out
    out = git.in_repo(facts, "cat-file", "blob", oid.strip()).out
    assert out.encode("utf-8", "surrogateescape") == data


def test_a_work_tree_that_git_takes_for_bare(repo: GitRepo, tmp_path: Path) -> None:
    """Faults B17: `core.bare` in the shared configuration counts in every work tree; the hint is followed."""
    linked = repo.worktree(tmp_path / "linked", "side")
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "core.bare", "true")
    error = refused(linked.path)
    assert error.code == "bare_repository"
    assert "git worktree add" not in error.hints[0]
    subprocess.run(error.hints[0].rpartition(": ")[2].split(), cwd=linked.path, check=True)
    assert git.discover(str(linked.path), os.environ).top == str(linked.path)


def test_gits_own_reason_once(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults B17: git prints two lines, each with a prefix of its own."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    assert not refused(repo.path).message.startswith(("fatal:", "error:"))
    assert "fatal:" not in refused(repo.path).message
