"""Agents of `git-agent-run` work in a copy while git is at work, and what they change comes back as a patch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner.git.put_aside import pid_of
from git_agent_runner.review.fixing.held import Process, hold, in_hook
from support.cli import Cli, wait_for
from support.runs import leave
from support.waiting import PATIENCE, until

RUN = f"'{sys.executable}' -P -m git_agent_runner.cli hook ${{0##*/}} --engine codex --prompt look"


def hook(cli: Cli, name: str, line: str) -> None:
    path = cli.repo.path / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o700)


def git(cli: Cli, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = cli.environ(PERSON=str(cli.repo.path), GIT_EDITOR=":", **environ)
    return subprocess.run(("git", *words), cwd=cli.repo.path, env=env, capture_output=True, text=True, check=False)


def staged(cli: Cli) -> None:
    """One line of `f` is staged, one is not; `new` is untracked."""
    (cli.repo.path / "f").write_text("1\nstaged\n")
    cli.repo.git("add", "f")
    (cli.repo.path / "f").write_text("1\nstaged\ntyped\n")
    (cli.repo.path / "new").write_text("untracked\n")


BEFORE = {
    "pre-commit": ("commit", "-qm", "m"),
    "prepare-commit-msg": ("commit", "-qm", "m"),
    "commit-msg": ("commit", "-qm", "m"),
    "pre-merge-commit": ("merge", "-q", "--no-ff", "side"),
    "pre-push": ("push", "-q", "up.git", "HEAD:main"),
    "pre-rebase": ("rebase", "-q", "--autostash", "side"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_before_the_fact_it_works_in_a_copy(cli: Cli, name: str) -> None:
    """Faults of agents in hooks F3, F4, F5: it used to work in the files that git was at, and took the branch over."""
    mine = leave(cli.repo, "aaaaaaaa")
    cli.repo.git("branch", "side")
    cli.repo.git("init", "-q", "--bare", "up.git")
    (cli.repo.path / ".git/info").mkdir(exist_ok=True)
    (cli.repo.path / ".git/info/exclude").write_text("up.git\n")
    if name in {"pre-merge-commit", "pre-rebase"}:
        cli.repo.git("switch", "-q", "side")
        cli.repo.commit("theirs", theirs="1\n")
        cli.repo.git("switch", "-q", "main")
        (cli.repo.path / "new").write_text("untracked\n")
    else:
        staged(cli)
    before = {path: path.read_bytes() for path in cli.repo.path.iterdir() if path.is_file()}
    hook(cli, name, f'{RUN} -- "$@"')
    done = git(cli, *BEFORE[name], FAKE_CMD="echo agents > f; rm -f new; git add -A; git commit -qm agents")
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert "agents" not in cli.repo.git("log", "--all", "--format=%s").split()
    (call,) = cli.calls()
    assert call["cwd"].startswith(f"{cli.layout.root}/snapshots/")
    (record,) = [cli.record(handle) for handle in cli_handles(cli) if handle != mine.handle]
    assert (record.role, cli.pointers()) == ("hook", {"main": mine.handle})
    line = next(line for line in done.stderr.splitlines() if "changed" in line)
    assert line.endswith(f" 1 file in its copy: git apply --3way .git/agent/patches/{record.handle}.patch")
    assert "+agents" in Path(cli.layout.root, "patches", f"{record.handle}.patch").read_text()
    assert cli.repo.git("worktree", "list", "--porcelain").count("worktree ") == 1


def cli_handles(cli: Cli) -> list[str]:
    return [run["handle"] for run in cli.ok("list", "--all", "--json").json["runs"]]


@pytest.mark.parametrize(
    ("name", "words"), [("post-commit", ("commit", "-qm", "m")), ("post-merge", ("merge", "-q", "--no-ff", "side"))]
)
def test_after_the_fact_it_works_in_the_work_tree(cli: Cli, name: str, words: tuple[str, ...]) -> None:
    """With a role of its own: the branch's session stays the branch's."""
    mine = leave(cli.repo, "aaaaaaaa")
    cli.repo.git("switch", "-qc", "side")
    cli.repo.commit("theirs", theirs="1\n")
    cli.repo.git("switch", "-q", "main")
    (cli.repo.path / "f").write_text("1\nstaged\n")
    cli.repo.git("add", "f") if name == "post-commit" else cli.repo.git("checkout", "-q", "f")
    hook(cli, name, f'{RUN} -- "$@"; echo $? > status')
    assert git(cli, *words, FAKE_CMD="echo agents > made").returncode == 0
    assert (cli.repo.path / "made").read_text() == "agents\n"
    (call,) = cli.calls()
    assert (call["cwd"], cli.pointers()) == (str(cli.repo.path), {"main": mine.handle})


def test_the_branch_s_session_goes_on_after_the_fact_only(cli: Cli) -> None:
    cli.begin()
    hook(cli, "pre-commit", f"{RUN} --resume")
    hook(cli, "post-commit", f"{RUN} --resume")
    staged(cli)
    done = git(cli, "commit", "-qm", "m")
    assert "git-agent: --resume is only for hooks that run after the fact" in done.stderr
    _, before, after = cli.calls()
    assert ["resume" in call["argv"] for call in (before, after)] == [False, True]
    assert after["cwd"] == str(cli.repo.path)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_the_engine_ends_with_the_git_that_waits_for_it(cli: Cli, how: signal.Signals) -> None:
    """Fault F4b: it used to work on, and to be paid for, for a commit that nobody made."""
    staged(cli)
    hook(cli, "pre-commit", f"{RUN}; true")
    env = cli.environ(FAKE_CMD=f"echo $$ > {cli.home}/engine; exec sleep 600")
    with subprocess.Popen(("git", "commit", "-qm", "m"), cwd=cli.repo.path, env=env, stderr=subprocess.DEVNULL) as run:
        engine = int(wait_for(cli.home / "engine"))
        os.kill(run.pid, how)
        run.wait(timeout=PATIENCE)
        until(lambda: not Path(f"/proc/{engine}").exists(), "the engine is gone")
    (handle,) = cli_handles(cli)
    assert until(lambda: cli.record(handle).status, "it is settled") == "interrupted"
    until(lambda: not os.path.exists(f"{cli.layout.root}/snapshots"), "its copy is gone")
    assert (cli.repo.path / "f").read_text() == "1\nstaged\ntyped\n"
    assert cli.repo.git("show", ":f") == "1\nstaged"


def test_a_killed_hook_leaves_no_copy_behind_the_next_command(cli: Cli) -> None:
    staged(cli)
    hook(cli, "pre-commit", f"echo $$ > {cli.home}/us; exec {RUN}")
    env = cli.environ(FAKE_CMD=f"echo $$ > {cli.home}/engine; exec sleep 600")
    with subprocess.Popen(("git", "commit", "-qm", "m"), cwd=cli.repo.path, env=env, stderr=subprocess.DEVNULL) as run:
        engine = int(wait_for(cli.home / "engine"))
        os.kill(int(wait_for(cli.home / "us")), signal.SIGKILL)
        run.wait(timeout=PATIENCE)
    assert os.listdir(f"{cli.layout.root}/snapshots")
    cli.ok("list")
    assert not os.path.exists(f"{cli.layout.root}/snapshots")
    assert cli.repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    os.kill(engine, signal.SIGKILL)


GIT = Process(7, 0.0, ("git", "commit", "-m", "agent"))


def test_a_hold_is_that_of_a_manager_above_us(tmp_path: Path) -> None:
    """pre-commit and prek name their file after their process, and never delete it."""
    for folder, name in (("pc", "patch1795931589-41"), ("prek/patches", "1795931649416-42.patch")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_text("x")
    env = {"PRE_COMMIT": "1", "PRE_COMMIT_HOME": str(tmp_path / "pc"), "PREK_HOME": str(tmp_path / "prek")}
    git_dir = str(tmp_path)

    def held(pid: int, began: float, **environ: str) -> str | None:
        found = hold({**env, **environ}, git_dir, git_dir, (Process(pid, began, ("manager",)), GIT))
        return found and found.manager

    assert (held(41, 0.0), held(42, 0.0), held(43, 0.0)) == ("pre-commit", "prek", None)
    assert (held(41, 4e9), held(41, 0.0, PRE_COMMIT="0")) == (None, None)
    assert pid_of("/x/pool.patch") is None


@pytest.mark.parametrize(
    ("words", "inside"),
    [
        (("git", "push"), True),
        (("git", "agent", "fix"), False),
        (("bash",), False),
    ],
)
def test_a_hook_is_told_from_a_person(words: tuple[str, ...], inside: bool) -> None:
    assert in_hook({}, "", (Process(8, 0.0, ("sh",)), Process(7, 0.0, words))) is inside
