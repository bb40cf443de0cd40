"""Reviews that nobody waits for: begun after a commit, noted on it, told once, collected at the push, shared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from git_agent_runner.review import noted, outcomes
from git_agent_runner.review.noted import Noted
from git_agent_runner.review.verdict import ReviewFinding, ReviewVerdict
from git_agent_runner.store import notes
from git_agent_runner.store.files import locks
from support.cli import Cli, Done
from support.gitrepo import GitRepo
from support.runs import leave
from support.waiting import until

BAD = "hunter2-is-the-password"
NONE = "0" * 40
FINDING = {"file": "f", "line": 1, "severity": "high", "text": "a password"}
BLOCK = json.dumps({"verdict": "block", "summary": "as seen", "findings": [FINDING]})


def commit(cli: Cli, name: str, text: str, *words: str) -> str:
    (cli.repo.path / name).write_text(text)
    cli.repo.git("add", name)
    cli.repo.git("commit", "-qm", name, *words)
    return cli.repo.git("rev-parse", "HEAD")


def asked(cli: Cli, *words: str, stdin: bytes | None = None, **environ: str) -> Done:
    changes = {"FAKE_REVIEW": BAD, "CI": "", **environ}
    return cli.run("review", "-e", "claude", *words, stdin=stdin, cwd=None, **changes)


def background(cli: Cli, *words: str, **environ: str) -> None:
    """Begin one, and wait until its process has ended."""
    assert asked(cli, "--background", *words, stdin=None, **environ).status == 0
    idle(cli)


def idle(cli: Cli) -> None:
    folder = Path(cli.layout.root, "verdicts", "queue")
    until(lambda: not list(folder.glob("*")) and not _at_work(cli), "the queue is empty")


def _at_work(cli: Cli) -> bool:
    names = os.listdir(f"{cli.layout.root}/locks")
    return any(locks.is_locked(cli.layout.lock(name)) for name in names if name.startswith("reviews-"))


def calls(cli: Cli) -> list[dict[str, Any]]:
    return [call for call in cli.calls() if call["engine"] == "claude"]


def verdicts(cli: Cli, oid: str) -> list[str]:
    found = noted.read(cli.repo.facts(), [oid]).get(oid, [])
    return ["block" if one.verdict.blocks else "pass" for one in found]


def pushed(cli: Cli, old: str, *words: str, **environ: str) -> Done:
    """The gate, for HEAD on top of what the remote has."""
    line = f"refs/heads/main {cli.repo.git('rev-parse', 'HEAD')} refs/heads/main {old}\n"
    return asked(cli, "--push", *words, stdin=line.encode(), **environ)


def test_a_background_review_is_noted_told_once_and_known_at_the_push(cli: Cli) -> None:
    """Agents in hooks W2."""
    old = cli.repo.git("rev-parse", "HEAD")
    bad = commit(cli, "f", f"{BAD}\n")
    background(cli, FAKE_SAY=BLOCK, FAKE_REVIEW="")
    assert verdicts(cli, bad) == ["block"]
    line = f"git-agent: review of {bad[:7]}: block, 1 finding: git agent review --show {bad[:7]}"
    assert [cli.ok("list").err.count(line) for _ in range(2)] == [1, 0]
    (listed,) = cli.ok("reviews", "--unread", "--json").json["reviews"]
    assert (listed["commit"], listed["verdict"], listed["findings"], listed["branch"]) == (bad, "block", 1, "main")
    shown = cli.run("review", "--show", bad[:7])
    assert (shown.status, shown.out.splitlines()[0]) == (1, "f:1: high: a password")
    assert cli.ok("reviews", "--unread", "--json").json["reviews"] == []
    assert pushed(cli, old).status == 1
    assert cli.run("review", "--range", f"{old}..HEAD").status == 1  # no engine has to be chosen for what is known
    assert len(calls(cli)) == 1
    assert verdicts(cli, old) == []


def test_it_begins_in_a_session_of_its_own_and_returns_at_once(cli: Cli) -> None:
    """The reviewer is at work when the command has returned; a terminal that is closed does not end its session."""
    oid = commit(cli, "f", f"{BAD}\n")
    go = cli.home / "go"
    pid = cli.home / "pid"
    tool = f"echo $PPID > {pid}.new; mv {pid}.new {pid}; while [ ! -e {go} ]; do sleep 0.05; done"
    begun = asked(cli, "--background", FAKE_CMD=tool, GIT_AGENT_HANDLE="", PRE_COMMIT="")
    assert (begun.status, begun.out, begun.err) == (0, "", "")
    until(pid.exists, "the engine's tool")
    worker = _worker(int(pid.read_text()))
    assert os.getsid(worker) == worker
    assert [one["state"] for one in cli.ok("reviews", "--json").json["reviews"]] == ["reviewing"]
    go.touch()
    idle(cli)
    assert verdicts(cli, oid) == ["block"]


def _worker(engine: int) -> int:
    return int(Path(f"/proc/{engine}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_newer_commit_of_the_branch_takes_the_place_of_a_queued_one(cli: Cli) -> None:
    first = commit(cli, "f", "one\n")
    go, came = cli.home / "go", cli.home / "came"
    tool = f"touch {came}; while [ ! -e {go} ]; do sleep 0.05; done"
    assert asked(cli, "--background", FAKE_CMD=tool).status == 0
    until(came.exists, "the engine's tool")
    second = commit(cli, "g", "two\n")
    assert asked(cli, "--background").status == 0
    third = commit(cli, "h", "three\n")
    assert asked(cli, "--background").status == 0
    states = {one["commit"]: one["state"] for one in cli.ok("reviews", "--json").json["reviews"]}
    assert states == {first: "reviewing", third: "queued"}
    go.touch()
    idle(cli)
    assert [verdicts(cli, oid) for oid in (first, second, third)] == [["pass"], [], ["pass"]]
    old = cli.repo.git("rev-parse", f"{first}^")
    done = pushed(cli, old, "--json")
    assert [one["cached"] for one in done.json["reviews"]] == [True, True, False], done
    assert (done.status, len(calls(cli))) == (0, 3)
    assert "+two" in calls(cli)[-1]["stdin"]
    assert "+three" not in calls(cli)[-1]["stdin"].partition("last round")[0].partition("the change")[2]


def test_what_a_killed_reviewer_was_at_is_reviewed_by_the_next(cli: Cli) -> None:
    oid = commit(cli, "f", "one\n")
    pid = cli.home / "pid"
    tool = f"echo $PPID > {pid}.new; mv {pid}.new {pid}; exec sleep 600"
    assert asked(cli, "--background", FAKE_CMD=tool).status == 0
    until(pid.exists, "the engine's tool")
    engine = int(pid.read_text())
    os.kill(_worker(engine), signal.SIGKILL)
    until(lambda: not _at_work(cli), "it is dead")
    with suppress(ProcessLookupError):
        os.killpg(engine, signal.SIGKILL)
    assert cli.ok("reviews").out == "no reviews yet: git agent review --commit HEAD\n"
    cli.repo.git("switch", "-qc", "other")
    other = commit(cli, "g", "two\n")
    assert asked(cli, "--background").status == 0
    idle(cli)
    assert [verdicts(cli, one) for one in (oid, other)] == [["pass"], ["pass"]]


def test_the_gate_waits_for_the_reviewer_and_no_longer_than_asked(cli: Cli) -> None:
    old = cli.repo.git("rev-parse", "HEAD")
    commit(cli, "f", f"{BAD}\n")
    go, came = cli.home / "go", cli.home / "came"
    tool = f"touch {came}; while [ ! -e {go} ]; do sleep 0.05; done"
    assert asked(cli, "--background", FAKE_CMD=tool).status == 0
    until(came.exists, "the engine's tool")
    late = pushed(cli, old, "--wait", "1", "--on-error", "fail")
    assert late.status == 3
    assert any("is still running" in line for line in late.lines), late
    gate = cli.start_into(subprocess.PIPE, "review", "-e", "claude", "--range", f"{old}..HEAD", "--wait", "10m")
    assert gate.stderr
    assert b"waiting for the review" in gate.stderr.readline()
    go.touch()
    gate.communicate()
    assert gate.returncode == 1
    idle(cli)
    assert len(calls(cli)) == 1


def test_a_verdict_follows_an_amend_only_where_the_content_is_the_same(cli: Cli) -> None:
    """Faults of agents in hooks F7: amend twice, one review; another content is another question."""
    commit(cli, "f", "one\n")
    background(cli)
    cli.repo.git("commit", "--amend", "-qm", "another message")
    same = cli.repo.git("rev-parse", "HEAD")
    background(cli)
    assert (verdicts(cli, same), len(calls(cli))) == (["pass"], 1)
    other = commit(cli, "f", "two\n", "--amend")
    cli.repo.git("notes", "--ref", noted.REVIEWS.name, "copy", same, other)
    assert asked(cli, "--trust", "--range", f"{other}^..{other}").status == 0
    assert len(calls(cli)) == 2


def test_white_space_is_content(cli: Cli) -> None:
    """Git's patch ids leave it out; a block that is indented differently is another program."""
    commit(cli, "f", "if x:\n    a\n    b\n")
    background(cli)
    commit(cli, "f", "if x:\n    a\nb\n", "--amend")
    background(cli)
    assert len(calls(cli)) == 2


def test_a_commit_that_mends_an_earlier_one_lets_both_through(cli: Cli) -> None:
    old = cli.repo.git("rev-parse", "HEAD")
    bad = commit(cli, "f", f"{BAD}\n")
    background(cli)
    commit(cli, "f", "fixed\n")
    background(cli, FAKE_REVIEW="", FAKE_SAY="pass: fixed")
    done = pushed(cli, old, "--fresh")
    assert done.status == 0, done
    assert any(f"commit {bad[:12]} alone is blocked" in line for line in done.lines)
    again = len(calls(cli))
    assert pushed(cli, old).status == 0
    assert len(calls(cli)) == again


def test_rebase_and_cherry_pick_ask_nobody(cli: Cli) -> None:
    """Agents in hooks, done when 3: with the hook in place, rebase and cherry-pick of 5; the push knows the content."""
    old = cli.repo.git("rev-parse", "HEAD")
    hook = Path(cli.layout.common_dir, "hooks", "post-commit")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexec git-agent review -e claude --background\n")
    hook.chmod(0o755)
    cli.repo.git("switch", "-qc", "work")
    env = {**cli.environ(FAKE_REVIEW=BAD, CI=""), "GIT_EDITOR": ":"}

    def git(*words: str) -> None:
        subprocess.run(("git", *words), cwd=cli.repo.path, env=env, check=True, capture_output=True)

    for number in range(5):
        (cli.repo.path / f"f{number}").write_text(f"{number}\n")
        git("add", "-A")
        git("commit", "-qm", str(number))
        idle(cli)
    assert len(calls(cli)) == 5
    cli.repo.git("switch", "-q", "main")
    hook.rename(f"{hook}.off")
    commit(cli, "main", "on\n")
    Path(f"{hook}.off").rename(hook)
    cli.repo.git("switch", "-q", "work")
    git("rebase", "-q", "main")
    git("switch", "-qc", "picked", old)
    git("cherry-pick", *cli.repo.git("rev-list", "--reverse", "main..work").split())
    idle(cli)
    assert len(calls(cli)) == 5
    done = asked(cli, "--range", f"{old}..picked", "--json")
    assert [one["cached"] for one in done.json["reviews"]] == [True] * 5, done
    assert len(calls(cli)) == 5


def test_verdicts_are_shared_and_count_only_where_they_are_trusted(cli: Cli, tmp_path: Path) -> None:
    """Agents in hooks W2: a note comes from anyone who can push."""
    old = cli.repo.git("rev-parse", "HEAD")
    bare = tmp_path / "bare"
    cli.repo.git("clone", "-q", "--bare", str(cli.repo.path), str(bare))
    cli.repo.git("remote", "add", "origin", str(bare))
    commit(cli, "f", f"{BAD}\n")
    background(cli, FAKE_REVIEW="never")
    cli.repo.git("push", "-q", "origin", "main")
    sent = cli.ok("push", "--json").json
    assert (sent["pushedReviews"], sent["fetchedReviews"]) == (1, 0)
    cli.repo.git("clone", "-q", str(bare), str(tmp_path / "other"))
    there = Cli(GitRepo(tmp_path / "other"), cli.home)
    assert there.ok("fetch", "--json").json["fetchedReviews"] == 1
    assert there.repo.git("config", "notes.agent-reviews.mergeStrategy") == "cat_sort_uniq"
    span = ("--range", f"{old}..HEAD")
    absent = asked(there, "-e", "gemini", *span, FAKE_EXIT="1", FAKE_WORDS="boom", CI="1")
    assert absent.status == 3
    untrusted = asked(there, *span, FAKE_EXIT="1", FAKE_WORDS="boom", CI="1")
    assert (untrusted.status, any("--trust" in line for line in untrusted.lines)) == (3, True), untrusted
    before = len(calls(cli))
    trusted = asked(there, *span, "--trust", "--json")
    assert (trusted.status, trusted.json["reviews"][0]["host"]) == (0, os.uname().nodename)
    there.repo.git("config", "agent.reviewTrust", "true")
    assert asked(there, *span).status == 0
    assert len(calls(cli)) == before
    assert asked(there, *span, "--rules", "f", CI="1").status == 1


def test_a_note_of_anybody_is_read_with_suspicion(cli: Cli) -> None:
    """Hostile: what is not a verdict of ours is skipped, and what it says is shown, not sent."""
    oid = commit(cli, "f", "one\n")
    good = Noted("ab" * 20, "claude", "0123abcd", "2026-11-29T00:00:00.000Z", "h", ReviewVerdict(True, "\x1b[2Jno", ()))
    lines = [
        noted.render(good),
        noted.render(good).replace("0123abcd", "../../x!"),
        noted.render(good).replace('"h"', '"h\\u001b"'),
        '- {"schema":1}',
        "- {" + '"a":[' * 5000,
        "- {" + "x" * (64 << 10),
        "text",
    ]
    (cli.home / "note").write_text("\n".join(lines))
    cli.repo.git("notes", "--ref", noted.REVIEWS.name, "add", "-F", str(cli.home / "note"), oid)
    assert noted.read(cli.repo.facts(), [oid])[oid] == [noted.parse_line(lines[0])]
    done = cli.run("review", "--show", "HEAD")
    assert (done.status, "\x1b" in done.out + done.err) == (1, False)
    assert cli.ok("reviews").out.count("block") == 1
    assert notes.read(cli.repo.facts()).problems == ()


def test_a_long_verdict_fits_into_a_line_and_holds_no_secret() -> None:
    key = "sk-proj-" + "Ab1" * 12
    findings = tuple(ReviewFinding("f\x85" * 9, number, "high", f"{key} " * 200) for number in range(500))
    line = noted.render(
        Noted("ab" * 20, "claude", "0123abcd", "2026-11-29T00:00:00.000Z", "h", ReviewVerdict(True, key, findings))
    )
    back = noted.parse_line(line)
    assert back
    assert 0 < len(back.verdict.findings) < 500
    assert (key in line, "\n" in line) == (False, False)


def test_the_findings_go_to_the_session_of_the_branch(cli: Cli) -> None:
    """`--fix` resumes who wrote the change, not the reviewer; what the reviewer said is data."""
    mine = cli.begin("claude")
    oid = commit(cli, "f", f"{BAD}\n")
    background(cli, FAKE_SAY=BLOCK, FAKE_REVIEW="", FAKE_ID="new")
    done = cli.run("review", "--fix", oid[:9], FAKE_ID="")
    assert done.status == 0, done
    call = calls(cli)[-1]
    assert mine.session.value in call["argv"]
    assert '"text": "a password"' in call["stdin"]
    assert "It is data" in call["stdin"]
    assert cli.record(mine.handle).attempts == 2
    nothing = cli.run("review", "--fix", "HEAD~1")
    assert (nothing.status, nothing.lines[0]) == (
        128,
        f"fatal: {cli.repo.git('rev-parse', '--short=7', 'HEAD~1')} was not reviewed",
    )


def test_what_the_background_could_not_review_is_told_and_listed(cli: Cli) -> None:
    """Faults of agents in hooks F8: no terminal, no manager that shows it: a record, and a line at the next command."""
    oid = commit(cli, "f", "one\n")
    background(cli, "-e", "cluade")
    assert f"git-agent: {oid[:7]} was not reviewed: unknown engine 'cluade'" in cli.ok("list").err.splitlines()
    (listed,) = cli.ok("reviews", "--json").json["reviews"]
    assert (listed["state"], listed["error"]["code"]) == ("failed", "engine_unknown")


def test_outcomes_that_are_damaged_are_passed_over(cli: Cli) -> None:
    oid = cli.repo.git("rev-parse", "HEAD")
    folder = Path(cli.layout.root, "verdicts", "commits")
    folder.mkdir(parents=True)
    for text in ("", "[]", "{}", '{"error":[1],"verdict":null}', '{"branch":1,"at":null,"verdict":null,"error":null}'):
        (folder / f"{oid}.json").write_text(text)
        assert outcomes.read(cli.layout, oid) is None
    assert cli.ok("reviews").out == "no reviews yet: git agent review --commit HEAD\n"


def test_what_could_not_be_noted_is_noted_at_the_push(cli: Cli) -> None:
    """The verdict stands meanwhile."""
    old = cli.repo.git("rev-parse", "HEAD")
    oid = commit(cli, "f", "one\n")
    cli.repo.git("symbolic-ref", noted.REVIEWS.name, "refs/heads/main")
    background(cli)
    assert cli.run("review", "--show", "HEAD").status == 0
    cli.repo.git("symbolic-ref", "-d", noted.REVIEWS.name)
    assert pushed(cli, old).status == 0
    assert (verdicts(cli, oid), len(calls(cli))) == (["pass"], 1)


@pytest.mark.parametrize("inside", [(), ("--inside-runs",)], ids=["not asked for", "asked for"])
def test_what_an_agent_commits_is_reviewed_where_that_is_asked_for(cli: Cli, inside: tuple[str, ...]) -> None:
    """Agents in hooks W10; by another session, one level deep."""
    mine = leave(cli.repo, "aaaaaaaa")
    folder = cli.layout.run(mine.run_id)
    os.makedirs(folder, exist_ok=True)
    (cli.repo.path / "f").write_text(f"{BAD}\n")
    cli.repo.git("add", "f")
    run = {
        "GIT_AGENT_HANDLE": mine.handle,
        "GIT_AGENT_RUN_DIR": folder,
        "GIT_INDEX_FILE": f"{cli.layout.common_dir}/index",
    }
    done = asked(cli, *inside, stdin=None, **run)
    assert (done.status, len(calls(cli))) == ((1, 1) if inside else (0, 0)), done
    if not inside:
        assert done.lines == [f"git-agent: inside run {mine.handle}: not reviewed without --inside-runs"]
        return
    reviewer = next(one for one in cli.ok("list", "--all", "--json").json["runs"] if one["role"] == "review")
    deeper = {**run, "GIT_AGENT_HANDLE": reviewer["handle"], "GIT_AGENT_RUN_DIR": cli.layout.run(reviewer["runId"])}
    assert asked(cli, *inside, "--again", stdin=None, **deeper).status == 0
    assert len(calls(cli)) == 1


def test_no_line_of_a_push_is_passed_over(cli: Cli) -> None:
    """A name may have blanks, or what Python takes for one, or for the end of a line."""
    old = cli.repo.git("rev-parse", "HEAD")
    new = commit(cli, "f", f"{BAD}\n")
    for name in ("HEAD^{/fix bug}", "refs/heads/a\u3000b", "refs/heads/a\u2028b"):
        done = asked(cli, "--push", stdin=f"{name} {new} refs/heads/x {old}\n".encode())
        assert done.status == 1, name
    assert asked(cli, "--push", stdin=b"three words only\n").status == 128
