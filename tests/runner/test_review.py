"""`git agent review`: what the reviewer is shown, what its answer comes to, and what nobody loses by it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from git_agent_runner.core.secrets import MARK, redacted
from git_agent_runner.review import verdict
from git_agent_runner.review.content import unquoted
from support.cli import Cli, Done
from support.gitrepo import GitRepo
from support.reviewing import BAD, FINDING, answer, asked, calls, install, write
from support.runs import leave

KEY = "sk-proj-" + "Ab1" * 12
RATE_LIMIT = Path(__file__).parents[2] / "fixtures/recordings/claude/2.1.332/rate-limit/stdout"


@pytest.mark.parametrize(
    ("message", "blocks", "findings"),
    [
        (answer(), True, 1),
        (answer("pass", findings=[]), False, 0),
        (f"I looked.\n```json\n{answer('pass')}\n```\nand again\n```json\n{answer()}\n```\n", True, 1),
        ("block: a password\nmore", True, 0),
        ("pass: fine", False, 0),
    ],
)
def test_a_verdict_is_read(message: str, blocks: bool, findings: int) -> None:
    """Faults of agents in hooks F1."""
    found = verdict.read(message)
    assert found is not None
    assert (found.blocks, len(found.findings)) == (blocks, findings)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "looks good",
        "I would say pass: all is fine",
        "Pass: fine",
        answer("maybe"),
        answer(findings=[{**FINDING, "severity": "dreadful"}]),
        answer(findings=[{**FINDING, "line": "3"}]),
        answer(findings=None),
        f"```json\n{answer('pass')[:-1]}\n```",
        f"pass: fine\n```json\n{answer('perhaps')}\n```",
        "{" + '"a":[' * 100_000,
    ],
)
def test_anything_else_is_no_verdict(message: str) -> None:
    assert verdict.read(message) is None


@pytest.mark.parametrize(("level", "blocked"), [(None, True), ("low", True), ("high", True), ("critical", False)])
def test_severities_block_from_a_level_on(level: str | None, blocked: bool) -> None:
    found = verdict.read(answer())
    assert found is not None
    assert found.blocked(level) is blocked


def test_a_block_without_findings_blocks_at_every_level() -> None:
    assert verdict.ReviewVerdict(True, "no").blocked("critical")


def test_secrets_are_left_out_of_text() -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    assert redacted(f"a {KEY} b\n{pem}\nc") == f"a {MARK} b\n{MARK}\nc"


def test_names_are_read_as_git_quotes_them() -> None:
    assert unquoted(r'"a\nb\303\251\"c"') == 'a\nbé"c'
    assert unquoted("plain é") == "plain é"


def test_a_block_is_exit_status_1(cli: Cli) -> None:
    """Faults of agents in hooks F1: the reviewer's `block:` used to be a hook that passed."""
    write(cli.repo, "f", f"{BAD}\n")
    cli.repo.git("add", "f")
    done = asked(cli)
    assert (done.status, done.out.splitlines()[0].startswith(f"block: {BAD} (claude, run ")) == (1, True), done
    write(cli.repo, "f", "harmless\n")
    cli.repo.git("add", "f")
    done = asked(cli, "--fresh")
    assert (done.status, done.out.startswith("pass: fine")) == (0, True), done


def test_the_reviewer_sees_what_is_committed_and_the_person_loses_nothing(cli: Cli) -> None:
    """Faults of agents in hooks F2, F3, F4, F5: a work tree of its own, and a run that is nobody's."""
    mine = leave(cli.repo, "aaaaaaaa")
    write(cli.repo, "f", f"{BAD}\n")
    cli.repo.git("add", "f")
    write(cli.repo, "f", "typed since\n")
    write(cli.repo, "new", "untracked\n")
    before = (cli.repo.git("status", "--porcelain"), cli.repo.git("write-tree"), cli.repo.git("rev-parse", "HEAD"))
    notes = cli.repo.git("rev-parse", "refs/notes/agent")
    vandal = "rm -f f new; echo spoilt > f; git add -A; git commit -qm spoilt"
    done = asked(cli, FAKE_CMD=f"ls > {cli.home}/seen; cat f >> {cli.home}/seen; {vandal}")
    assert done.status == 1, done
    assert BAD in (cli.home / "seen").read_text()
    assert (
        cli.repo.git("status", "--porcelain"),
        cli.repo.git("write-tree"),
        cli.repo.git("rev-parse", "HEAD"),
    ) == before
    assert (cli.repo.path / "f").read_text() == "typed since\n"
    assert cli.repo.git("rev-parse", "refs/notes/agent") == notes
    assert cli.pointers() == {"main": mine.handle}
    assert cli.ok("show", "--json").json["handle"] == mine.handle
    shown = [run["handle"] for run in cli.ok("list", "--json").json["runs"]]
    every = {run["handle"]: run["role"] for run in cli.ok("list", "--all", "--json").json["runs"]}
    assert shown == [mine.handle]
    assert sorted(every.values()) == ["review", "work"]
    assert cli.repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert not [name for name in os.listdir(cli.layout.root + "/reviews") if not name.endswith(".json")]


@pytest.mark.parametrize("words", [["-a"], ["f"], ["--amend", "-a"]], ids=" ".join)
def test_a_commit_that_has_an_index_of_its_own(cli: Cli, words: list[str]) -> None:
    """Faults of agents in hooks F2: the reviewer used to be shown nothing, or the wrong file."""
    write(cli.repo, "f", "begun\n")
    write(cli.repo, "other", "begun\n")
    cli.repo.git("add", "f", "other")
    cli.repo.git("commit", "-qm", "begin")
    write(cli.repo, "other", "staged, of another commit\n")
    cli.repo.git("add", "other")
    write(cli.repo, "f", f"{BAD}\n")
    install(cli, "pre-commit", "exec git-agent review -e claude")
    head = cli.repo.git("rev-parse", "HEAD")
    done = _git_commit(cli, *words)
    assert done.status == 1, done
    assert cli.repo.git("rev-parse", "HEAD") == head
    (call,) = calls(cli)
    assert ("of another commit" in call["stdin"]) is (words != ["f"])


def _git_commit(cli: Cli, *words: str) -> Done:
    env = {**cli.environ(FAKE_REVIEW=BAD), "CI": "", "GIT_EDITOR": ":"}
    done = subprocess.run(
        ("git", "commit", "-m", "x", *words), cwd=cli.repo.path, env=env, capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_same_content_asks_nobody_again(cli: Cli) -> None:
    """Faults of agents in hooks F7: block as well as pass; --again asks, other rules ask."""
    write(cli.repo, "f", f"{BAD}\n")
    cli.repo.git("add", "f")
    first = asked(cli, "--json")
    second = asked(cli, "--json")
    assert (first.status, second.status, len(calls(cli))) == (1, 1, 1)
    assert [one.json["reviews"][0]["cached"] for one in (first, second)] == [False, True]
    write(cli.repo, "rules", "be kind\n")
    assert asked(cli, "--rules", "rules").status == 1
    assert asked(cli, "--again").status == 1
    assert len(calls(cli)) == 3


def test_the_next_round_goes_on_with_the_first(cli: Cli) -> None:
    """The branch's own review session is resumed, with what it said and what has changed; --fresh begins again."""
    write(cli.repo, "f", f"{BAD}\n")
    cli.repo.git("add", "f")
    assert asked(cli).status == 1
    write(cli.repo, "f", "fixed\n")
    cli.repo.git("add", "f")
    assert asked(cli, FAKE_REVIEW="never said").status == 0
    first, second = calls(cli)
    assert first["argv"][first["argv"].index("--session-id") + 1] in second["argv"]
    assert f'block", "summary": "{BAD}' in second["stdin"]
    assert f"-{BAD}\n+fixed" in second["stdin"]
    write(cli.repo, "f", "fixed again\n")
    cli.repo.git("add", "f")
    assert asked(cli, "--fresh", FAKE_REVIEW="never said").status == 0
    assert "fixed again" in calls(cli)[-1]["stdin"]
    assert "last round" not in calls(cli)[-1]["stdin"]


def test_nothing_staged_asks_nobody(cli: Cli) -> None:
    done = asked(cli)
    assert (done.status, done.out, calls(cli)) == (0, "pass: the staged change contains nothing to review\n", [])


def test_commits_ranges_and_pushes(cli: Cli) -> None:
    """A merge base for a range; of what is pushed each branch, no deletion and no tag."""
    old = cli.repo.git("rev-parse", "HEAD")
    write(cli.repo, "f", f"{BAD}\n")
    cli.repo.git("add", "f")
    cli.repo.git("commit", "-qm", "bad")
    new, none = cli.repo.git("rev-parse", "HEAD"), "0" * 40
    assert asked(cli, "--commit", "HEAD").status == 1
    assert asked(cli, "--range", f"{old}..HEAD").status == 1
    assert asked(cli, "--fresh", "--commit", "HEAD~1").status == 0
    lines = f"(delete) {none} refs/heads/gone {old}\nrefs/tags/v1 {new} refs/tags/v1 {none}\n"
    words = ("review", "-e", "claude", "--fresh", "--push", "origin", "url")
    quiet = cli.run(*words, stdin=lines.encode(), FAKE_REVIEW=BAD)
    loud = cli.run(*words, stdin=f"{lines}refs/heads/main {new} refs/heads/main {none}\n".encode(), FAKE_REVIEW=BAD)
    assert (quiet.status, loud.status) == (0, 1), (quiet, loud)
    assert asked(cli, "--commit", "nowhere").status == 128


def test_the_first_commit_of_a_repository(empty_repo: GitRepo, isolated: Path) -> None:
    cli = Cli(empty_repo, isolated)
    write(cli.repo, "f", f"{BAD}\n")
    cli.repo.git("add", "f")
    assert asked(cli).status == 1


def test_sarif(cli: Cli, tmp_path: Path) -> None:
    write(cli.repo, "f", "x\n")
    cli.repo.git("add", "f")
    assert asked(cli, "--sarif", str(tmp_path / "out"), FAKE_SAY=answer(), FAKE_REVIEW="").status == 1
    (result,) = json.loads((tmp_path / "out").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["level"], place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("error", "f", 3)


def test_a_merge_is_shown_with_what_it_brings(cli: Cli) -> None:
    """Both parents are there; the index that is reviewed is the merged one."""
    cli.repo.git("switch", "-qc", "side")
    write(cli.repo, "s", f"{BAD}\n")
    cli.repo.git("add", "s")
    cli.repo.git("commit", "-qm", "side")
    cli.repo.git("switch", "-q", "main")
    cli.repo.git("commit", "-q", "--allow-empty", "-m", "main")
    cli.repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
    done = asked(cli, FAKE_CMD=f"git rev-parse HEAD^@ > {cli.home}/parents")
    assert done.status == 1, done
    parents = (cli.home / "parents").read_text().split()
    assert parents == [cli.repo.git("rev-parse", name) for name in ("main", "side")]


def test_a_conflict_is_not_reviewed_and_said_so(cli: Cli) -> None:
    for branch in ("side", "main"):
        cli.repo.git("switch", "-qC" if branch == "side" else "-q", branch)
        write(cli.repo, "f", f"of {branch}\n")
        cli.repo.git("add", "f")
        cli.repo.git("commit", "-qm", branch)
    subprocess.run(("git", "merge", "-q", "side"), cwd=cli.repo.path, capture_output=True, check=False)
    done = asked(cli, "--on-error", "fail")
    assert (done.status, len(done.lines), calls(cli)) == (3, 1, []), done
    assert done.lines[0].startswith("warning: the staged change was not reviewed: git write-tree failed")


def test_a_range_that_pre_commit_was_given(cli: Cli) -> None:
    """Faults of agents in hooks F9: `--from-ref` and `--to-ref`, and a push under pre-commit."""
    old = cli.repo.git("rev-parse", "HEAD")
    write(cli.repo, "f", f"{BAD}\n")
    cli.repo.git("add", "f")
    cli.repo.git("commit", "-qm", "bad")
    assert asked(cli, PRE_COMMIT_FROM_REF=old, PRE_COMMIT_TO_REF="HEAD").status == 1
    assert asked(cli, "--staged", PRE_COMMIT_FROM_REF=old, PRE_COMMIT_TO_REF="HEAD").status == 0
