"""The five stories of docs/hooks.md, each carried out as it stands there, by real pre-commit, husky and lefthook."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import docs
from support.cli import Cli
from support.pre_commit import PreCommit
from support.reviewing import BAD

PAGE = (docs.ROOT / "docs/hooks.md").read_text()
MANAGERS = ("pre-commit", "husky", "lefthook")
Story = Callable[[str, str], None]


def of_each(story: str) -> pytest.MarkDecorator:
    """The gate draws one manager."""
    return pytest.mark.parametrize(
        "manager", [pytest.param(name, marks=pytest.mark.one_of(story)) for name in MANAGERS]
    )


@pytest.fixture
def set_up(cli: Cli, programs: Path, request: pytest.FixtureRequest) -> Story:
    """What the story has for the manager is written into its files and installed, for a busy machine."""

    def write(story: str, manager: str) -> None:
        text = docs.section(PAGE, story).replace("30s", "10m").replace("2m", "10m")
        pre_commit, lefthook = docs.blocks(text, "yaml")
        if manager == "husky":
            shell(cli, shlex.quote(str(programs / "husky")))
            names = re.findall(r"`\.husky/([a-z-]+)`", text)
            for name, line in zip(names, docs.blocks(text, "sh"), strict=False):
                (cli.repo.path / ".husky" / name).write_text(line)
        elif manager == "lefthook":
            (cli.repo.path / "lefthook.yml").write_text(lefthook)
            shell(cli, f"{shlex.quote(str(programs / 'lefthook'))} install")
        else:
            release: PreCommit = request.getfixturevalue("pre_commit")
            named = re.sub(r"repo: \S+\n  rev: \S+", f"repo: {release.url}\n  rev: {release.rev}", pre_commit)
            (cli.repo.path / ".pre-commit-config.yaml").write_text(named)
            cli.repo.git("add", ".pre-commit-config.yaml")
            shell(cli, "pre-commit install")
        cli.repo.git("add", "--all")
        cli.repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "set up")

    return write


def shell(cli: Cli, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """With `git agent` and pre-commit on PATH; must succeed."""
    done = tried(cli, script, **environ)
    assert done.returncode == 0, done
    return done


def tried(cli: Cli, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{cli.environ()['PATH']}"
    env = {**cli.environ(), "PATH": path, "PYTHONPATH": "", "CI": "", **environ}
    words = ("sh", "-e", "-c", script)
    return subprocess.run(words, cwd=cli.repo.path, env=env, capture_output=True, text=True, check=False)


def engines(cli: Cli) -> list[Any]:
    return [call["engine"] for call in cli.calls()]


@of_each("reviews")
def test_a_team_that_reviews_before_a_push(cli: Cli, tmp_path: Path, set_up: Story, manager: str) -> None:
    (cli.repo.path / "review-rules.md").write_text("no passwords\n")
    set_up("A team that reviews before a push", manager)
    upstream = cli.repo.clone(tmp_path / "upstream", "--bare")
    cli.repo.git("remote", "add", "origin", str(upstream.path))
    before = cli.repo.head()
    (cli.repo.path / "f").write_text(f"1\n2\n{BAD}\n")
    shell(cli, "git commit -q -a -m bad", FAKE_REVIEW=BAD)
    done = tried(cli, "git push -q origin main", FAKE_REVIEW=BAD)
    assert (done.returncode != 0, upstream.git("rev-parse", "main")) == (True, before), done
    assert BAD in done.stdout + done.stderr
    (cli.repo.path / "f").write_text("1\n2\n")
    shell(cli, "git commit -q -a --amend -m good", FAKE_REVIEW="none")
    shell(cli, "git push -q origin main", FAKE_REVIEW="none")
    assert upstream.git("rev-parse", "main") == cli.repo.head()
    asked = [call["stdin"] for call in cli.calls()]
    assert [BAD in text.rpartition("the change")[2] for text in asked] == [True, False]
    assert all("no passwords" in text for text in asked)


@of_each("fixes")
def test_a_team_that_fixes_lint(cli: Cli, set_up: Story, manager: str) -> None:
    set_up("A team that fixes lint", manager)
    cli.repo.git("config", "agent.claude.args", "--permission-mode acceptEdits")
    (cli.repo.path / "one.py").write_text("import os\n")
    cli.repo.git("add", "one.py")
    fix = {"FAKE_CMD": "echo 'X = 1' > one.py; echo typed >> \"$TYPED\"", "TYPED": str(cli.repo.path / "f")}
    done = tried(cli, "git commit -q -m one", **fix)
    assert done.returncode != 0, done
    assert (cli.repo.git("show", ":one.py"), (cli.repo.path / "f").read_text()) == ("X = 1", "1\ntyped\n")
    (call,) = cli.calls()
    assert "F401" in call["stdin"]
    cli.repo.git("checkout", "-q", "f")
    shell(cli, "git commit -q -m one")
    assert (cli.repo.git("show", "HEAD:one.py"), len(cli.calls())) == ("X = 1", 1)


@of_each("messages")
def test_messages(cli: Cli, set_up: Story, manager: str) -> None:
    set_up("Messages", manager)
    (cli.repo.path / "g").write_text("1\n")
    cli.repo.git("add", "g")
    shell(cli, "git commit -q", GIT_EDITOR="true", FAKE_SAY="Add g")
    assert (cli.repo.git("log", "-1", "--format=%s"), engines(cli)) == ("Add g", ["claude"])


@of_each("merges")
def test_after_merges_and_ci(cli: Cli, set_up: Story, manager: str) -> None:
    set_up("After merges and CI", manager)
    cli.repo.switch_new("feature/retry")
    begun = cli.begin()
    cli.repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "on it")
    cli.repo.git("switch", "-q", "main")
    cli.repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "beside")
    shell(cli, "git merge -q --no-edit feature/retry && git reset -q --hard HEAD~1")
    assert len(cli.calls()) == 1  # main is the default branch, and none of them
    shell(cli, "git switch -q feature/retry && git merge -q --no-edit main")
    told = cli.calls()[-1]
    assert (len(cli.calls()), told["argv"][-2:]) == (2, [begun.session.value, "-"])
    assert told["stdin"].startswith("run the tests and fix what the merge broke\n\nA merge was made: commits ")
    by_ci = docs.blocks(docs.section(PAGE, "After merges and CI"), "sh")[-1]
    gh = cli.home / "bin/gh"
    gh.parent.mkdir(exist_ok=True)
    gh.write_text('#!/bin/sh\n[ "$*" = "run view 7 --log-failed" ] && echo "FAILED test_a"\n')
    gh.chmod(0o755)
    shell(cli, f"PATH={gh.parent}:$PATH; {by_ci}", RUN="7")
    asked = cli.calls()[-1]["stdin"]
    assert (asked.partition("\n")[0], "\nFAILED test_a\n" in asked) == ("CI failed; fix it", True)


@of_each("agents")
def test_agents_that_commit(cli: Cli, set_up: Story, manager: str) -> None:
    set_up("Agents that commit", manager)
    # Without its own command: a reviewer is a stand-in as well.
    first = f"unset FAKE_CMD; echo {BAD} > f; git commit -q -a -m bad"
    agent = f"{first} || {{ echo good > f; FAKE_REVIEW=none git commit -q -a -m good; }}"
    shell(cli, "git agent start -e codex 'write f'", FAKE_CMD=agent, FAKE_REVIEW=BAD)
    assert (cli.repo.git("log", "-2", "--format=%s"), cli.repo.git("show", "HEAD:f")) == ("good\nset up", "good")
    assert engines(cli) == ["codex", "claude", "claude"]
