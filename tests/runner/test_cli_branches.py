"""`git agent start --branch`: one prompt on several branches, each in its own work tree, none where a name is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.cli import Cli, Done


def made(cli: Cli, *names: str) -> None:
    for name in names:
        cli.repo.git("branch", name)


def started(done: Done) -> dict[str, str]:
    return {one["branch"]: one["status"] for one in done.json["started"]}


def test_each_branch_gets_a_work_tree_and_the_prompt(cli: Cli) -> None:
    made(cli, "one", "feature/two")
    done = cli.ok(
        "start", "-e", "codex", "--branch", "one", "--branch", "feature/two", "--json", "fix it", FAKE_ID="new"
    )
    beside = Path(f"{cli.repo.path}.worktrees")
    assert started(done) == {"one": "completed", "feature/two": "completed"}
    assert {(call["cwd"], call["stdin"]) for call in cli.calls()} == {
        (str(beside / "one"), "fix it"),
        (str(beside / "feature-two"), "fix it"),
    }
    assert {one["branch"]: one["handle"] for one in done.json["started"]} == cli.pointers()
    assert cli.repo.git("-C", str(beside / "feature-two"), "branch", "--show-current") == "feature/two"


def test_a_work_tree_that_is_there_is_used(cli: Cli, tmp_path: Path) -> None:
    cli.repo.git("worktree", "add", "-q", "-b", "there", str(tmp_path / "there"))
    done = cli.ok("start", "-e", "codex", "--branch", "there", "--branch", "main", "--json", "x", FAKE_ID="new")
    assert {one["worktree"] for one in done.json["started"]} == {str(tmp_path / "there"), str(cli.repo.path)}
    assert not Path(f"{cli.repo.path}.worktrees").exists()


def test_branches_come_from_a_file_too(cli: Cli, tmp_path: Path) -> None:
    made(cli, "one", "two")
    names = tmp_path / "names"
    names.write_text("# tonight\none\n\n  two  \none\n")
    done = cli.ok("start", "-e", "codex", "--branches-from", str(names), "--json", "x", FAKE_ID="new")
    assert started(done) == {"one": "completed", "two": "completed"}


def test_branches_come_from_standard_input_too(cli: Cli) -> None:
    made(cli, "one", "two")
    done = cli.run(
        "start", "-e", "codex", "--branches-from", "-", "--json", "x", stdin=b"one\ntwo\n", cwd=None, FAKE_ID="new"
    )
    assert started(done) == {"one": "completed", "two": "completed"}
    assert {call["stdin"] for call in cli.calls()} == {"x"}


@pytest.mark.parametrize(
    ("file", "prompt", "said"),
    [
        pytest.param(
            "missing", "x", "cannot read the list of branches from 'missing': No such file or directory", id="no file"
        ),
        pytest.param("bytes", "x", "the list of branches from 'bytes' is not UTF-8 (byte 1)", id="no text"),
        pytest.param("blank", "x", "no branch is named", id="blank"),
        pytest.param("-", "-", "standard input holds the prompt or the branches, not both", id="both"),
    ],
)
def test_branches_that_cannot_be_read(cli: Cli, file: str, prompt: str, said: str) -> None:
    (cli.repo.path / "bytes").write_bytes(b"\xff\n")
    (cli.repo.path / "blank").write_text("\n \n")
    done = cli.run("start", "-e", "codex", "--branches-from", file, prompt, stdin=b"one\n")
    assert (done.status, done.lines[0]) == (129, f"fatal: {said}")


def test_flags_reach_every_engine(cli: Cli) -> None:
    made(cli, "one")
    cli.ok("start", "-e", "codex", "--branch", "one", "--timeout", "50", "x", "--", "--model", "gpt-5")
    argv = cli.calls()[0]["argv"]
    assert argv[argv.index("--model") + 1] == "gpt-5"


def test_start_or_resume_on_each(cli: Cli) -> None:
    made(cli, "one")
    cli.ok("start", "-e", "codex", "--branch", "one", "x")
    done = cli.ok(
        "start", "-e", "codex", "--resume", "--branch", "one", "--branch", "main", "--json", "y", FAKE_ID="new"
    )
    assert {one["branch"]: one["kind"] for one in done.json["started"]} == {"one": "resume", "main": "start"}


def test_one_that_fails_ends_no_other(cli: Cli) -> None:
    made(cli, "one", "two")
    log = Path(f"{cli.repo.path}.worktrees")
    end = f'case "$PWD" in *one) kill -9 $PPID;; esac; test -d "{log}"'
    done = cli.run("start", "-e", "codex", "--branch", "one", "--branch", "two", "x", FAKE_ID="new", FAKE_CMD=end)
    assert done.status == 1
    rows = {line.split()[0]: line.split(maxsplit=2)[2] for line in done.out.splitlines()[1:]}
    assert rows == {"one": "interrupted, attempt 1", "two": "completed, attempt 1"}


BAD = {
    "unknown": ("nowhere", "branch_unknown"),
    "a flag": ("-f", "branch_invalid"),
    "no ref": ("a..b", "branch_invalid"),
    "an expression": ("@{-1}", "branch_invalid"),
    "a path out": ("../x", "branch_invalid"),
    "an escape": ("a\x1b[31m", "branch_invalid"),
    "empty": ("", "branch_invalid"),
}


@pytest.mark.parametrize(("name", "code"), BAD.values(), ids=BAD)
def test_nothing_begins_where_a_name_is_wrong(cli: Cli, name: str, code: str) -> None:
    made(cli, "one")
    done = cli.run("start", "-e", "codex", "--branch", "one", f"--branch={name}", "--json", "x")
    assert done.json["error"]["code"] == code
    assert (cli.calls(), Path(f"{cli.repo.path}.worktrees").exists()) == ([], False)
    assert "\x1b" not in done.err


def test_a_directory_of_somebody_else_is_not_taken(cli: Cli) -> None:
    made(cli, "one")
    place = Path(f"{cli.repo.path}.worktrees/one")
    place.mkdir(parents=True)
    done = cli.run("start", "-e", "codex", "--branch", "one", "--json", "x")
    assert done.json["error"]["code"] == "worktree_taken"
    assert list(place.iterdir()) == []


def test_a_branch_that_git_takes_for_head(cli: Cli) -> None:
    """It would be checked out without any branch, and the agent's commits be nobody's."""
    cli.repo.git("update-ref", "refs/heads/HEAD", "HEAD")
    done = cli.run("start", "-e", "codex", "--branch", "HEAD", "--json", "x")
    assert (done.json["error"]["code"], cli.calls()) == ("branch_invalid", [])


@pytest.mark.parametrize("name", ["a-b", "c"], ids=["two of one name", "one that is gone"])
def test_the_place_of_another_work_tree(cli: Cli, name: str) -> None:
    """No work tree is made where not all can be."""
    for other in ("a/b", name):
        cli.repo.git("branch", other)
    if name == "c":
        cli.ok("start", "-e", "codex", "--branch", name, "x")
        shutil.rmtree(f"{cli.repo.path}.worktrees")
    before, calls = cli.repo.git("worktree", "list"), cli.calls()
    done = cli.run("start", "-e", "codex", "--branch", "a/b", "--branch", name, "--json", "x")
    assert done.json["error"]["code"] == "worktree_taken"
    assert (cli.repo.git("worktree", "list"), cli.calls()) == (before, calls)


USAGE = {
    "terminal form": (["-i", "--branch", "main"], "-i and --branch cannot be used together"),
    "raw": (["--raw", "--branch", "main", "x"], "--raw and --branch cannot be used together"),
    "jobs alone": (["--jobs", "2", "x"], "--jobs needs --branch or --branches-from"),
    "stdin for both": (["--branches-from", "-", "-"], "standard input holds the prompt or the branches, not both"),
    "no prompt": (["--branch", "main"], "no prompt"),
}


@pytest.mark.parametrize(("words", "text"), USAGE.values(), ids=USAGE)
def test_usage(cli: Cli, words: list[str], text: str) -> None:
    done = cli.run("start", "-e", "codex", *words)
    assert (done.status, text in done.lines[0]) == (129, True), done
