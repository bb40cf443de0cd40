"""Where policies come from: git's configuration, the person's files, and tracked ones once they were allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.cli import Cli
from support.watching import policies

CRASH = "kill -9 $PPID"
LIMITED = str(Path(__file__).parents[2] / "fixtures/recordings/codex/0.171.0/14a-ratelimit/stdout")
LIMITED_ID = "00000000-0001-7abc-8def-000000000001"


SETTINGS = {
    "a word": ("agent.onDead", "resume", 2),
    "a table": ("agent.onDead", '{ action = "resume", attempts = 2 }', 2),
    "wins over the file": ("agent.onDead", "fail", 1),
}


@pytest.mark.parametrize(("key", "value", "attempts"), SETTINGS.values(), ids=SETTINGS)
def test_git_config_has_policies_too(cli: Cli, key: str, value: str, attempts: int) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = "resume"' if value == "fail" else 'on_dead = "fail"')
    cli.repo.git("config", key, value)
    cli.run("watch")
    assert cli.record().attempts == attempts


def test_each_value_of_on_error_is_a_rule(cli: Cli) -> None:
    """Those of the last file that has any; the person's own count no more then."""
    global_config = cli.home / "gitconfig"
    global_config.write_text('[agent]\n\tonError = "{ match = \\"rate_limited\\", action = \\"fail\\" }"\n')
    for rule in (
        '{ match = "auth_failed", action = "fail" }',
        '{ match = "rate_limited", action = "recover", message = "by config", append = true }',
    ):
        cli.repo.git("config", "--add", "agent.onError", rule)
    cli.begin(FAKE_OUT=LIMITED, FAKE_ID=LIMITED_ID, FAKE_EXIT="1")
    done = cli.ok("watch", GIT_CONFIG_GLOBAL=str(global_config))
    assert [call["stdin"] for call in cli.calls()] == ["begin", "by config"]
    where = f"agent.onError in '{cli.repo.path}/.git/config'"
    assert f"git-agent: policy: {where}" in done.lines
    assert f"warning: {where}: on_error[0]: `recover` is now called `resume`" in done.lines


def test_a_setting_of_the_command_line_counts_first(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    cli.repo.git("config", "agent.onDead", "resume")
    done = cli.run("watch", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="agent.onDead", GIT_CONFIG_VALUE_0="nudge")
    assert done.lines[0] == (
        "fatal: agent.onDead on the command line: on_dead.action: expected one of done, fail, resume, escalate, gate,"
        " not 'nudge' (a dead agent cannot be nudged: resume it)"
    )


def test_a_tracked_file_that_another_branch_lacks_says_nothing_there(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    (cli.repo.path / "team.toml").write_text('on_dead = "resume"')
    policies(cli, 'on_dead = "done"')
    cli.ok("allow", "team.toml")
    (cli.repo.path / "team.toml").unlink()
    cli.ok("watch")
    assert cli.record().attempts == 1
    (cli.repo.path / "team.toml").write_text('on_dead = "resume"')
    cli.run("resume", "x", FAKE_CMD=CRASH)
    cli.ok("watch")
    assert cli.record().attempts == 3


def test_a_policy_of_the_repository_wins_over_the_persons(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    policies(cli, 'on_dead = "fail"\non_error = "fail"')
    (Path(cli.layout.root) / "policies.toml").write_text('on_dead = "resume"')
    cli.ok("watch")
    assert cli.record().attempts == 2


def test_a_tracked_file_counts_once_it_was_allowed(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    path = cli.repo.path / "team.toml"
    path.write_text('on_dead = { action = "resume", message = "as the team says", append = true }')
    assert cli.run("watch", "--json").json["error"]["code"] == "no_policy"
    shown = cli.ok("allow", "team.toml")
    assert shown.out == 'on_dead: resume, sends: "as the team says"\n'
    cli.ok("watch")
    assert cli.calls()[1]["stdin"] == "as the team says"


def test_all_that_an_allowed_file_would_do_is_said(cli: Cli) -> None:
    (cli.repo.path / "team.toml").write_text(
        'on_dead = { action = "resume", message = "anew", attempts = "forever", cooldown = "90s" }\n'
        'on_error = [ { match = "auth_failed", action = "gate", run = ["ask", "it\'s me"], attempts = 3 } ]\n'
    )
    assert cli.ok("allow", "team.toml").out == (
        'on_dead: resume, sends in a new session: "anew", attempts: forever, cooldown: 90 s\n'
        "on_error auth_failed: gate, runs: ask 'it'\"'\"'s me', attempts: 3\n"
    )


def test_a_tracked_file_that_changed_counts_no_more(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    path = cli.repo.path / "team.toml"
    path.write_text('on_dead = "fail"')
    cli.ok("allow", "team.toml")
    path.write_text('on_dead = { action = "gate", run = ["curl", "evil.invalid"] }')
    done = cli.run("watch")
    assert (done.status, done.lines) == (
        128,
        [
            "fatal: 'team.toml' has changed since you approved it",
            "hint: read it, then: git agent allow team.toml",
            "hint: or do without it: git agent allow --none",
        ],
    )
    cli.ok("allow", "--none")
    assert cli.run("watch", "--json").json["error"]["code"] == "no_policy"


def test_a_link_into_the_work_tree_is_no_way_around(cli: Cli) -> None:
    cli.begin(FAKE_CMD=CRASH)
    (cli.repo.path / "team.toml").write_text('on_dead = "resume"')
    os.symlink(cli.repo.path / "team.toml", Path(cli.layout.root) / "policies.toml")
    assert cli.run("watch", "--json").json["error"]["code"] == "policy_in_repository"
    assert cli.record().attempts == 1


def test_settings_of_an_included_tracked_file_are_refused(cli: Cli) -> None:
    (cli.repo.path / "team.config").write_text("[agent]\n\tonDead = resume\n")
    cli.repo.git("config", "include.path", "../team.config")
    assert cli.run("watch", "--json").json["error"]["code"] == "untrusted_setting"


MISTAKES: dict[str, tuple[list[str], int, str]] = {
    "nothing": (["allow"], 129, "give the file to allow, or --none"),
    "both": (["allow", "--none", "x"], 129, "give the file to allow, or --none"),
    "no file": (["allow", "missing.toml"], 128, "No such file or directory"),
    "a folder": (["allow", "."], 128, "Is a directory"),
    "elsewhere": (["allow", "/etc/hostname"], 128, "is not in this work tree"),
}


@pytest.mark.parametrize(("words", "status", "text"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_with_allow(cli: Cli, words: list[str], status: int, text: str) -> None:
    done = cli.run(*words)
    assert (done.status, text in done.lines[0]) == (status, True), done
