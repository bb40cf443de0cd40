"""Agents that commit while hooks start agents: each ends, with one clear message, and nothing is lost."""

from __future__ import annotations

import subprocess

from support.cli import PROGRAM, Cli


def hook(cli: Cli, name: str, *lines: str) -> None:
    path = cli.repo.path / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


START = f"{' '.join(PROGRAM)} start -e codex 'from a hook'"


def commit(cli: Cli, message: str, **environ: str) -> subprocess.CompletedProcess[str]:
    (cli.repo.path / "f").write_text(message)
    return subprocess.run(
        ("git", "commit", "-q", "-a", "-m", message),
        cwd=cli.repo.path,
        env=cli.environ(**environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_agent_that_amends_from_post_commit(cli: Cli) -> None:
    """Case C12: 451 hook calls in a minute without a guard."""
    for name in ("post-commit", "post-rewrite"):
        hook(cli, name, f"echo {name} >>count", START)
    done = commit(cli, "two", FAKE_CMD="git commit -q --amend --no-edit --allow-empty")
    assert done.returncode == 0
    handle = cli.record().handle
    refusals = [line for line in done.stderr.splitlines() if line.startswith("fatal:")]
    why = f"fatal: this is a hook inside run {handle}: an agent's own commits start no other agent"
    assert set(refusals) == {why}
    assert (cli.repo.path / "count").read_text().split() == ["post-commit", "post-commit", "post-rewrite"]
    assert cli.repo.git("log", "--format=%s") == "two\none"


def test_an_agent_that_commits_inside_pre_commit(cli: Cli) -> None:
    """What git makes of it is git's: the agent's commit takes the staged files, and the person's has none left."""
    hook(cli, "pre-commit", f'[ -n "$GIT_AGENT_HANDLE" ] || {START}')
    done = commit(cli, "mine", FAKE_CMD="git commit -q -a -m agents")
    assert cli.record().status == "completed"
    assert cli.repo.git("show", "HEAD:f") == "mine"
    assert cli.repo.git("status", "--porcelain") == ""
    assert done.stderr.count("fatal: ") <= 1


def test_an_agent_may_start_another_itself(cli: Cli) -> None:
    """Not from a hook: that is the agent's own doing, and ends as it does."""
    work = f'[ -n "$INNER" ] || INNER=1 {START} 2>inner.txt; echo $? >inner'
    cli.ok("start", "-e", "codex", "outer", FAKE_CMD=work)
    assert (cli.repo.path / "inner").read_text() == "0\n", (cli.repo.path / "inner.txt").read_text()
    assert len(cli.noted()) == 2


def test_a_hook_that_refuses_the_agents_commit(cli: Cli) -> None:
    """Case C14: the agent says that it has committed, and has not. Nothing claims that it did."""
    cli.ok("hooks", "install")
    cli.repo.git("config", "agent.trailer", "true")
    hook(cli, "pre-commit", "exit 1")
    head = cli.repo.head()
    cli.ok("start", "-e", "codex", "work", FAKE_CMD="echo z >>f; git commit -q -a -m agents || true")
    attempt = cli.attempt()
    assert (cli.repo.head(), attempt.head_before, attempt.head_after, attempt.dirty) == (head, head, head, True)
    assert cli.repo.git("log", "-1", "--format=%(trailers)") == ""
    assert "agents" not in cli.ok("show").out
    hook(cli, "pre-commit", "exit 0")
    cli.ok("resume", "and again", FAKE_CMD="git commit -q -a -m agents")
    again = cli.attempt(2)
    assert (again.head_before, again.head_after, again.dirty) == (head, cli.repo.head(), False)
    assert cli.repo.head() != head
