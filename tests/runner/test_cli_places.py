"""Repositories of every kind, and what cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import GitRepo, make


def test_an_unborn_branch(empty_repo: GitRepo, isolated: Path) -> None:
    """Case B09: a record, no note, one line; after the first commit it is found by its branch."""
    cli = Cli(empty_repo, isolated)
    done = cli.ok("start", "-e", "codex", "x")
    record = cli.record()
    assert (record.branch, record.start_commit) == ("main", None)
    assert [line for line in done.lines if line.startswith("warning")] == [
        "warning: the note could not be written: there is no commit yet"
    ]
    assert "branch    main @ unborn" in done.err
    empty_repo.commit("c1", f="a\n")
    cli.repo.git("config", "--unset", "branch.main.agentHandle")
    cli.ok("resume", "go on")
    assert (cli.record().attempts, cli.noted()) == (2, [record.handle])


def test_a_commit_made_on_an_unborn_branch(empty_repo: GitRepo, isolated: Path) -> None:
    cli = Cli(empty_repo, isolated)
    done = cli.ok("start", "-e", "codex", "x", FAKE_CMD="git commit -q --allow-empty -m first")
    attempt = cli.attempt()
    assert (attempt.head_before, attempt.head_after) == (None, empty_repo.head())
    assert (cli.noted(), f"branch    main @ {empty_repo.head()[:7]}" in done.err) == ([cli.record().handle], True)


def test_a_detached_head(cli: Cli) -> None:
    cli.repo.git("checkout", "-q", "--detach")
    begun = cli.begin()
    assert (begun.branch, cli.pointers(), cli.noted()) == (None, {}, [begun.handle])
    done = cli.ok("resume", "go on")
    assert (cli.record().attempts, cli.record().branch) == (2, None)
    assert "branch    (detached) @" in done.err
    assert 'resume    git agent resume "<message>"' in done.err
    cli.repo.git("checkout", "-q", "main")
    cli.ok("resume", begun.handle, "from a branch that it is not of")
    assert (cli.record().branch, cli.pointers()) == (None, {})


def test_in_the_middle_of_a_rebase(cli: Cli) -> None:
    """HEAD is detached, but it is the branch's own work."""
    cli.repo.switch_new("feature", "HEAD^")
    cli.repo.commit("c3", f="other\n")
    with pytest.raises(AssertionError, match="conflict"):
        cli.repo.git("rebase", "main")
    begun = cli.begin()
    assert (begun.branch, cli.pointers()) == ("feature", {"feature": begun.handle})
    cli.ok("resume", "go on")
    assert cli.record().attempts == 2


def test_a_linked_worktree_of_a_bare_repository(repo: GitRepo, isolated: Path, tmp_path: Path) -> None:
    bare = repo.clone(tmp_path / "bare.git", "--bare")
    refused = Cli(bare, isolated).run("list")
    assert (refused.status, refused.lines) == (
        128,
        [
            f"fatal: '{bare.path}' is a bare repository",
            "hint: work in a linked worktree of it: git worktree add <path> <branch>",
        ],
    )
    cli = Cli(bare.worktree(tmp_path / "tree", "feature"), isolated)
    begun = cli.begin("claude")
    cli.ok("resume", "go on")
    assert (cli.record().attempts, cli.pointers(), cli.layout.common_dir) == (
        2,
        {"feature": begun.handle},
        str(bare.path),
    )


def test_a_submodule(repo: GitRepo, isolated: Path, tmp_path: Path) -> None:
    outer = make(tmp_path / "outer")
    outer.git("submodule", "add", "-q", str(repo.path), "sub")
    cli = Cli(GitRepo(outer.path / "sub"), isolated)
    begun = cli.begin()
    cli.ok("resume", "go on")
    assert (cli.record().attempts, begun.worktree, cli.layout.common_dir) == (
        2,
        str(outer.path / "sub"),
        str(outer.path / ".git/modules/sub"),
    )


def test_a_sha256_repository(isolated: Path, tmp_path: Path) -> None:
    repo = make(tmp_path / "long", "--object-format=sha256")
    repo.commit("c1", f="a\n")
    cli = Cli(repo, isolated)
    begun = cli.begin()
    cli.ok("resume", "go on")
    assert (begun.start_commit, cli.noted()) == (repo.head(), [begun.handle])
    assert f"main from {repo.head()[:7]} c1" in cli.ok("show").out
    assert cli.ok("list").out.count(repo.head()[:7]) == 1


def test_without_an_identity(cli: Cli) -> None:
    """Case B07: the engine's work counts, one warning says why there is no note."""
    nobody = {name: "" for name in os.environ if name.startswith(("GIT_AUTHOR_N", "GIT_COMMITTER_N"))}
    nobody |= {"GIT_AUTHOR_EMAIL": "", "GIT_COMMITTER_EMAIL": "", "EMAIL": ""}
    cli.repo.git("config", "user.useConfigOnly", "true")
    done = cli.run("start", "-e", "codex", "x", stdin=None, cwd=None, FAKE_EXIT="3", **nobody)
    assert done.status == 3
    why = "git does not know who you are; set user.name and user.email"
    assert [line for line in done.lines if "warning" in line] == [f"warning: the note could not be written: {why}"]
    cli.ok("resume", "go on")
    assert cli.run("doctor", stdin=None, cwd=None, **nobody).out.startswith("problem: git has no name and e-mail")


@pytest.fixture
def nobody_may_write(cli: Cli) -> None:
    """root may write everywhere, so the folder is a file."""
    (cli.repo.path / ".git/agent").write_text("")


@pytest.mark.usefixtures("nobody_may_write")
def test_what_cannot_be_written_is_a_plain_refusal(cli: Cli) -> None:
    for words in (["start", "-e", "codex", "x"], ["start", "-e", "codex", "--json", "x"]):
        done = cli.run(*words)
        assert (done.status, cli.calls(), len(done.lines) >= 1) == (128, [], True)
        assert done.lines[0].startswith("fatal: cannot ")
        assert str(cli.repo.path / ".git/agent") in done.lines[0]


def test_notes_that_cannot_be_configured(cli: Cli) -> None:
    """A run is worth more than where its note goes later."""
    (cli.repo.path / ".git/config.lock").write_text("")
    done = cli.ok("start", "-e", "codex", "x")
    assert [line for line in done.lines if line.startswith("warning: notes.rewriteRef could not be written")]
    assert cli.record().status == "completed"


def test_an_engine_that_removes_its_own_worktree(cli: Cli, tmp_path: Path) -> None:
    tree = cli.repo.worktree(tmp_path / "linked", "feature")
    there = Cli(tree, cli.home)
    there.run("start", "-e", "codex", "x", FAKE_CMD=f"cd / && rm -rf {tree.path}")
    record, attempt = cli.record(), cli.attempt()
    assert (record.status, attempt.dirty, attempt.head_after) == ("completed", None, cli.repo.head())
    done = cli.run("resume", record.handle, "go on")
    assert (done.status, done.lines[0]) == (
        128,
        f"fatal: the work tree of run {record.handle} is missing: '{tree.path}'",
    )


def test_a_worktree_that_was_moved(cli: Cli, tmp_path: Path) -> None:
    tree = cli.repo.worktree(tmp_path / "linked", "feature")
    begun = Cli(tree, cli.home).begin("codex")
    cli.repo.git("worktree", "move", str(tree.path), str(tmp_path / "moved"))
    done = cli.ok("resume", begun.handle, "go on")
    assert cli.calls()[-1]["cwd"] == str(tmp_path / "moved")
    assert any("running in" in line for line in done.lines)


def test_names_that_are_not_utf8(cli: Cli) -> None:
    folder = os.fsencode(cli.repo.path) + b"/caf\xe9"
    os.mkdir(folder)
    begun = cli.begin("codex", "--", "-c", "x='\udce9'", cwd=Path(os.fsdecode(folder)))
    cli.ok("resume", "go on")
    assert [os.fsencode(call["cwd"]) for call in cli.calls()] == [folder, folder]
    assert os.fsencode(begun.cwd) == folder
    assert cli.ok("list").out.count(begun.handle) == 1
    assert "caf\\udce9" in cli.ok("show").out


def test_a_hostile_branch_name(cli: Cli) -> None:
    """Case D09: a name that looks like a flag, and one that moves the cursor."""
    for name in ("--output=pwn", "a\u009b2Jb", "b'c;$(touch${IFS}pwn)"):
        cli.repo.git("update-ref", f"refs/heads/{name}", "HEAD")
        cli.repo.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
        begun = cli.begin(FAKE_ID="new")
        cli.ok("resume", "go on")
        assert (cli.record(begun.handle).branch, cli.pointers()[name]) == (name, begun.handle)
        printed = cli.ok("status").out + cli.ok("list").out
        assert "\u009b" not in printed
    assert not (cli.repo.path / "pwn").exists()


def test_a_work_tree_inside_of_another(cli: Cli) -> None:
    """What is noted and asked is the inner one's; nothing of a run of `main` may work there."""
    inner = cli.repo.worktree(cli.repo.path / "trees/feature", "feature")
    done = cli.run("start", "-e", "codex", "x", "--", "-C", "trees/feature")
    assert (done.status, done.lines[0], cli.calls()) == (
        128,
        f"fatal: '{inner.path}' is outside this work tree",
        [],
    )
    begun = Cli(inner, cli.home).begin()
    cli.ok("resume", begun.handle, "go on", FAKE_CMD="git commit -q --allow-empty -m inner; touch untracked")
    attempt = cli.attempt(2)
    assert (attempt.head_after, attempt.dirty, cli.calls()[-1]["cwd"]) == (inner.head(), True, str(inner.path))
    (inner.path / "untracked").unlink()
    cli.ok("resume", begun.handle, "go on")
    assert cli.attempt(3).dirty is False


def test_a_directory_of_the_engines_own_flag(cli: Cli) -> None:
    (cli.repo.path / "sub").mkdir()
    begun = cli.begin("codex", "--", "-C", "sub")
    cli.ok("resume", "go on")
    assert (begun.launch_args, [call["cwd"] for call in cli.calls()]) == ((), [str(cli.repo.path / "sub")] * 2)


def test_a_record_that_names_no_directory(cli: Cli) -> None:
    """faults F5: such as one that another tool wrote; agent.defaultDirectory says where it resumes."""
    begun = cli.begin()
    (cli.repo.path / "src").mkdir()
    file = cli.repo.path / f".git/agent/index/{begun.handle}.yaml"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("cwd:")))
    cli.repo.git("config", "agent.defaultDirectory", "src")
    cli.ok("resume", "go on")
    assert cli.calls()[-1]["cwd"] == str(cli.repo.path / "src")
