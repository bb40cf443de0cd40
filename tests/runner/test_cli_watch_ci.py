"""`on_ci`: what `git agent watch` does with the runs of branches whose CI fails. The CI is a file that `cat` prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_agent_runner import context
from git_agent_runner.core.errors import UserError
from git_agent_runner.store.records.listing import work
from git_agent_runner.unattended.policies import ci, form
from git_agent_runner.unattended.policies.model import Action
from support.cli import Cli
from support.gitrepo import GitRepo
from support.runs import leave
from support.watching import kept, messages, ours, policies

AGAIN = "git commit -q --allow-empty -m again"


def says(cli: Cli, *found: dict[str, object]) -> None:
    (cli.home / "ci.json").write_text(json.dumps(found))


def on_ci(cli: Cli, more: str = "") -> None:
    policies(cli, f"[on_ci]\nrun = {json.dumps(['cat', str(cli.home / 'ci.json')])}\n{more}\n")


def test_a_failed_job_is_the_sessions_next_message(cli: Cli) -> None:
    begun = cli.begin()
    (cli.home / "log-7").write_text("token ghp_0123456789abcdefABCDEF0123456789abcd\n\x1b[31mFAILED\x1b[0m test_a\n")
    says(cli, {"headSha": cli.repo.head(), "conclusion": "failure", "databaseId": 7})
    on_ci(cli, f'message = "CI failed"\nlog = ["cat", "{cli.home}/log-{{databaseId}}"]')
    done = cli.ok("watch")
    _, sent = messages(cli)
    assert sent.startswith("CI failed\n\nBetween the two lines that hold DATA-")
    assert sent.rstrip("\n").split("\n")[4:-1] == ["token [redacted]", "FAILED test_a"]
    assert (cli.attempt(2).resumed, cli.record().handle) == ("yes", begun.handle)
    assert ours(done)[1] == f"{begun.handle} main: CI failed: resume"
    assert cli.ok("watch").out == ""  # the same commit again
    assert len(cli.calls()) == 2


def test_it_is_given_up_after_so_many_commits_that_fail(cli: Cli) -> None:
    cli.begin()
    on_ci(cli, "attempts = 2")
    for number in (2, 3):
        says(cli, {"headSha": cli.repo.head(), "conclusion": "failure"})
        cli.ok("watch", FAKE_CMD=AGAIN)
        assert cli.record().attempts == number
    assert messages(cli)[-1] == (
        f"CI says failure for commit {cli.repo.git('rev-parse', 'HEAD~1')} of this branch. Find out why, and fix it."
    )
    says(cli, {"headSha": cli.repo.head(), "conclusion": "failure"})
    done = cli.run("watch")
    assert (done.status, cli.record().attempts) == (1, 3)
    assert "CI failed, and resume was tried 2 times" in done.out
    found = kept(cli)
    assert found is not None
    assert (found.end, found.commit) == ("escalated", cli.repo.head())


@pytest.mark.parametrize(
    ("found", "more"),
    [
        pytest.param({"conclusion": "success"}, "", id="success"),
        pytest.param({"conclusion": "failure"}, 'when = "timed_out"', id="another result"),
        pytest.param({"conclusion": "failure", "headSha": "0" * 40}, "", id="another commit"),
        pytest.param({"conclusion": ["failure"], "headSha": 1e999}, "", id="no such form"),
    ],
)
def test_no_other_result_starts_anything(cli: Cli, found: dict[str, object], more: str) -> None:
    leave(cli.repo, "7f3a9c21", status="completed")
    says(cli, {"headSha": cli.repo.head(), **found})
    on_ci(cli, more)
    assert cli.ok("watch").out == ""
    assert cli.calls() == []


def test_what_the_command_cannot_say_is_told(cli: Cli) -> None:
    leave(cli.repo, "7f3a9c21", status="completed")
    policies(cli, 'on_ci = { run = ["sh", "-c", "exit 3"] }')
    assert ours(cli.ok("watch", "--once"))[1:] == ["7f3a9c21 main: 'sh' of on_ci ended with 3"]


def asked(repo: GitRepo, action: Action, monkeypatch: pytest.MonkeyPatch) -> ci.Ci:
    monkeypatch.chdir(repo.path)
    monkeypatch.setattr(ci, "EVERY", 0.0)
    return ci.Ci(context.load(), action)


def test_a_pending_result_is_waited_for(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(repo, "7f3a9c21", status="completed")
    file = tmp_path / "ci.json"
    found = asked(repo, Action("resume", run=("cat", str(file)), when="failure"), monkeypatch)
    rows = work(context.load().layout, 0.0).rows
    states = []
    for conclusion in (None, "", "failure"):
        file.write_text(json.dumps({"headSha": repo.head(), "conclusion": conclusion}))
        answer = found.ask(rows)
        states.append((answer and answer.state, found.waits()))
    assert states == [("pending", True), ("pending", True), ("failed", False)]
    assert found.ask(rows) is None


def test_only_a_pushed_commit_gets_a_result(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(repo, "7f3a9c21", status="completed")
    found = asked(repo, Action("resume", run=("echo", "[]"), when="failure"), monkeypatch)
    rows = work(context.load().layout, 0.0).rows
    found.ask(rows)
    assert not found.waits()
    repo.git("update-ref", "refs/remotes/origin/main", "main")
    found.ask(rows)
    assert found.waits()
    monkeypatch.setattr(ci, "COMES", 0.0)
    found.ask(rows)
    assert not found.waits()


def test_a_command_that_fails_is_asked_three_times(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(repo, "7f3a9c21", status="completed")
    found = asked(repo, Action("resume", run=("false",), when="failure"), monkeypatch)
    rows = work(context.load().layout, 0.0).rows
    assert [bool(found.ask(rows)) for _ in range(4)] == [True, True, True, False]
    assert not found.waits()


def test_a_value_of_the_ci_is_one_word_and_no_flag(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(repo, "7f3a9c21", status="completed")
    row = {"headSha": repo.head(), "conclusion": "failure", "id": "--repo=evil", "name": "a b", "ok": 7}
    (tmp_path / "ci.json").write_text(json.dumps([row]))
    action = Action(
        "resume", run=("cat", str(tmp_path / "ci.json")), when="failure", log=("echo", "{id} {name} {ok} {branch}")
    )
    found = asked(repo, action, monkeypatch)
    answer = found.ask(work(context.load().layout, 0.0).rows)
    assert answer
    assert "\n{id} {name} 7 main\n" in found.message(answer)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param('on_ci = "resume"', "on_ci: expected a table", id="a word"),
        pytest.param("on_ci = {}", "on_ci.run: expected the command that prints the results", id="no command"),
        pytest.param('on_ci = { run = "gh" }', "on_ci.run: expected a command as a list", id="shell"),
        pytest.param('on_ci = { run = ["gh"], log = "x" }', "on_ci.log: expected a command as a list", id="log"),
        pytest.param('on_ci = { run = ["gh"], when = 1 }', "on_ci.when: expected a conclusion", id="when"),
        pytest.param('on_ci = { run = ["gh"], action = "nudge" }', "on_ci.action: expected one of fail", id="action"),
        pytest.param('on_ci = { run = ["gh"], cooldown = "1s" }', "on_ci.cooldown: expected one of the keys", id="key"),
    ],
)
def test_a_mistake_in_it_is_named(text: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        form.read(text, "p", lambda _: None)
    assert complaint in caught.value.message


def test_git_config_has_it_on_one_line(cli: Cli) -> None:
    leave(cli.repo, "7f3a9c21", status="completed")
    cli.repo.git("config", "agent.onCi", "on_ci = 1")
    assert "agent.onCi in " in cli.run("watch").err
    cli.repo.git("config", "agent.onCi", '{ run = ["true"] }')
    assert ours(cli.ok("watch", "--once"))[1:] == ["7f3a9c21 main: 'true' of on_ci printed no JSON"]
