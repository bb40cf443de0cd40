"""An agent that takes part in the commit whose hook started it. Faults B18."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.cli import Cli

DOOR = "import sys; from git_agent_hooks.entry import main; sys.exit(main())"


def hook(cli: Cli, name: str) -> None:
    path = cli.repo.path / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec '{sys.executable}' -P -c '{DOOR}' run --engine codex --prompt look\n")
    path.chmod(0o700)


def commit(cli: Cli, command: str, *words: str) -> subprocess.CompletedProcess[str]:
    for name in ("mine", "left"):
        (cli.repo.path / name).write_text("1\n")
    cli.repo.git("add", "mine")
    env = cli.environ(FAKE_CMD=command, PERSON=str(cli.repo.path))
    return subprocess.run(
        ("git", "commit", "-q", "-m", "m", *words),
        cwd=cli.repo.path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "did"),
    [
        pytest.param("cd $PERSON; git add left", "changed what is staged", id="staged"),
        pytest.param("cd $PERSON; git reset -q", "changed what is staged", id="unstaged"),
        pytest.param("cd $PERSON; git commit -q --no-verify -m agents", "moved HEAD", id="committed"),
        pytest.param("cd $PERSON; git switch -q -c elsewhere", "moved HEAD", id="switched"),
    ],
)
def test_an_agent_that_takes_part_in_the_commit_fails_it(cli: Cli, command: str, did: str) -> None:
    hook(cli, "pre-commit")
    done = commit(cli, command)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("git-agent: the agent")]
    assert said == [f"git-agent: the agent {did} while git was at a commit: look at it, and commit again"]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        pytest.param("pre-commit", "echo 2 >left", id="a file"),
        pytest.param("post-commit", "git commit -q --no-verify --allow-empty -m agents", id="after the commit"),
    ],
)
def test_what_is_no_part_of_the_commit_passes(cli: Cli, name: str, command: str) -> None:
    before = cli.repo.head()
    hook(cli, name)
    done = commit(cli, command)
    assert (done.returncode, "git-agent: the agent" in done.stderr) == (0, False)
    assert cli.repo.git("rev-list", f"{before}..HEAD") != ""
