"""What an attempt did to the files: the line after it, the commits in `show`, and `git agent diff`. Issue 14."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner.git import changes
from support.cli import Cli, Done
from support.gitrepo import make

COMMIT = "git -c user.name=a -c user.email=a@b commit -q -m"


def line(done: Done) -> str | None:
    """The summary's."""
    found = [line for line in done.err.splitlines() if line.startswith("changes ")]
    assert len(found) <= 1
    return found[0].removeprefix("changes").strip() if found else None


def commands(*words: str) -> str:
    return " && ".join(words)


TWO = commands(
    "seq 3 >a", "git add a", f"{COMMIT} first", "seq 2 3 >a", "touch b", "git add .", f"{COMMIT} second", "touch c"
)


@pytest.fixture
def done(cli: Cli) -> Done:
    """A run whose first attempt commits twice and leaves a file, and whose second commits nothing."""
    first = cli.ok("start", "-e", "codex", "begin", FAKE_CMD=TWO)
    cli.ok("resume", "go on")
    return first


def test_the_summary_says_what_was_committed_and_what_was_not(cli: Cli, done: Done) -> None:
    assert line(done) == "2 commits, 2 files +2 -0, 1 uncommitted"
    assert line(cli.ok("resume", "again")) == "1 uncommitted"
    cli.repo.git("add", ".")
    cli.repo.commit("mine")
    assert line(cli.ok("resume", "again")) is None


def test_show_has_the_commits_of_each_attempt(cli: Cli, done: Done) -> None:
    told = cli.ok("show").out.partition("attempt 2")
    second, first = cli.repo.git("log", "--format=%h %s", "-2").splitlines()
    expected = ["commits   2 commits, 2 files +2 -0", second, first]
    lines = [line.strip() for line in told[0].splitlines()]
    at = lines.index(expected[0])
    assert lines[at : at + 3] == expected
    assert "commits" not in told[2]


def test_diff_is_git_s_own_between_the_recorded_heads(cli: Cli, done: Done) -> None:
    """Of the run by its handle, of its branch from another one, and with the person's settings."""
    handle, branch = cli.record().handle, cli.repo.git("branch", "--show-current").strip()
    before, after = cli.attempt().head_before, cli.attempt().head_after
    cli.repo.git("config", "diff.noprefix", "true")
    cli.repo.git("switch", "-q", "-c", "other")
    cli.repo.commit("mine")
    expected = cli.repo.git("diff", str(before), str(after))
    assert "+++ a\n" in expected + "\n"
    for name in (handle, handle[:4], branch):
        found = cli.ok("diff", name)
        assert found.out.strip() == expected.strip()
    assert (
        cli.ok("diff", handle, "--stat").out.strip() == cli.repo.git("diff", "--stat", str(before), str(after)).strip()
    )
    assert cli.ok("diff", handle, "--attempt", "1").out.strip() == expected.strip()
    none = cli.ok("diff", handle, "--attempt", "2")
    assert (none.out, none.lines) == (
        "",
        [f"hint: attempt 2 of run {handle} has committed nothing; what is not committed: git diff HEAD"],
    )


def test_diff_refuses_what_is_not_there(cli: Cli, done: Done) -> None:
    handle = cli.record().handle
    assert cli.run("diff", handle, "--attempt", "9").lines[0] == f"fatal: run {handle} has no attempt 9"
    assert cli.run("diff", "0000").status == 128
    assert cli.run("diff", "no-such-branch").status == 128
    path = Path(cli.layout.attempt(cli.record().run_id, 1), "attempt.yaml")
    path.write_text(path.read_text().replace(str(cli.attempt().head_before), "--output=stolen"))
    assert cli.run("diff", handle).lines[0].endswith("is missing from this repository")
    assert not (cli.repo.path / "stolen").exists()
    cli.ok("show")


def test_a_branch_is_taken_where_a_handle_is(cli: Cli, done: Done) -> None:
    branch = cli.repo.git("branch", "--show-current").strip()
    cli.repo.git("switch", "-q", "--orphan", "cafe")  # its name reads as the beginning of a handle, too
    handle = cli.record().handle
    assert cli.ok("show", branch, "--json").json["handle"] == handle
    objects = [json.loads(line) for line in cli.ok("log", branch, "--json").out.splitlines()]
    assert {one["attempt"] for one in objects} == {1, 2}
    assert cli.run("show", "cafe").lines[0].startswith("fatal: ")


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_the_first_commits_of_a_repository_have_none_before_them(tmp_path: Path, form: str) -> None:
    repo = make(tmp_path / "new", f"--object-format={form}")
    assert changes.between(repo.facts(), None, None) is None
    head = repo.commit("one", a="1\n", b="2\n")
    assert changes.between(repo.facts(), None, head) == changes.Committed(1, 2, 2, 0)
    assert changes.between(repo.facts(), head, head) is None
    assert changes.between(repo.facts(), "0" * len(head), head) is None
