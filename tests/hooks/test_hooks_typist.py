"""Somebody types while an agent of a hook is at work: all of it is there afterwards. Real managers, stand-in engines.

The agent ends only once so much was typed. Where a manager has put unstaged changes aside, what is typed until its
hooks have ended is lost, whatever they are: there the hook must have ended before the agent does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from hooks.managers import python_package
from support.cli import Cli, wait_for
from support.typist import Typist
from support.waiting import PATIENCE, until

Env = dict[str, str]
CLI = f"'{sys.executable}' -P -m git_agent_runner.cli"
RUN = f"{CLI} hook {{stage}} --engine codex --prompt look"
FIX = f"{CLI} fix -e codex --check 'grep -q good f'"
FIX_BY_GIT = "git agent fix -e codex --check 'grep -q good f' --attempts 3 --timeout 600 'as we do'"
REVIEW = f"{CLI} review -e claude"


def script(cli: Cli, line: str) -> str:
    """A file, so that no manager has to quote it."""
    path = cli.home / "hook"
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o700)
    return str(path)


def by_git(cli: Cli, _programs: Path, stage: str, line: str) -> Env:
    (cli.repo.path / ".git/hooks").mkdir(exist_ok=True)
    (cli.repo.path / ".git/hooks" / stage).symlink_to(script(cli, line))
    return {}


def by_husky(cli: Cli, programs: Path, stage: str, line: str) -> Env:
    (cli.repo.path / ".husky").mkdir()
    (cli.repo.path / ".husky" / stage).write_text(f"{script(cli, line)}\n")
    subprocess.run((str(programs / "husky"),), cwd=cli.repo.path, check=True, capture_output=True)
    return {}


def by_lefthook(cli: Cli, programs: Path, stage: str, line: str) -> Env:
    jobs = {stage: {"jobs": [{"name": "agent", "run": script(cli, line)}]}}
    (cli.repo.path / "lefthook.json").write_text(json.dumps(jobs))
    words = (str(programs / "lefthook"), "install")
    subprocess.run(words, cwd=cli.repo.path, check=True, capture_output=True)
    return {}


def by_pre_commit(cli: Cli, _programs: Path, stage: str, line: str) -> Env:
    return configured(cli, stage, line, (sys.executable, "-m", "pre_commit"), {})


def by_old_pre_commit(cli: Cli, programs: Path, stage: str, line: str) -> Env:
    """In its place, also where git starts it."""
    path = f"{python_package(programs.parents[2], 'pre-commit==3.2.0')}{os.pathsep}{cli.environ()['PYTHONPATH']}"
    return configured(cli, stage, line, (sys.executable, "-m", "pre_commit"), {"PYTHONPATH": path})


def by_prek(cli: Cli, programs: Path, stage: str, line: str) -> Env:
    program = python_package(programs.parents[2], "prek==0.5.11") / "bin/prek"
    return configured(cli, stage, line, (str(program),), {})


def configured(cli: Cli, stage: str, line: str, program: tuple[str, ...], env: Env) -> Env:
    hook: dict[str, object] = {"id": "agent", "name": "agent", "language": "system", "entry": script(cli, line)}
    hook |= {"stages": [stage], "always_run": True, "pass_filenames": False}
    (cli.repo.path / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    words = (*program, "install", "-t", stage)
    subprocess.run(words, cwd=cli.repo.path, env=cli.environ(**env), check=True, capture_output=True)
    return env


MANAGERS: dict[str, Callable[[Cli, Path, str, str], Env]] = {
    "git": by_git,
    "husky": by_husky,
    "lefthook": by_lefthook,
    "pre-commit": by_pre_commit,
    "pre-commit 3.2.0": by_old_pre_commit,
    "prek": by_prek,
}
HOLDING = ("lefthook", "pre-commit", "pre-commit 3.2.0", "prek")


def each(*names: str) -> list[ParameterSet]:
    """All of them at night; otherwise git, and one of the others."""
    return [pytest.param(name, marks=[] if name == "git" else pytest.mark.one_of(name)) for name in names]


def begin(cli: Cli, manager: str, programs: Path, stage: str, line: str) -> Env:
    """`f`, `g` and `h` are tracked, `f` and `staged` are staged, and nothing of them is unstaged."""
    text = "".join(f"{number}\n" for number in range(9))
    for name in ("f", "g", "h"):
        (cli.repo.path / name).write_text(f"bad\n{text}")
    env = MANAGERS[manager](cli, programs, stage, line.replace("{stage}", stage))
    cli.repo.git("add", "-A")
    cli.repo.git("commit", "-q", "--no-verify", "-m", "begin")
    (cli.repo.path / "f").write_text(f"bad\n{text}staged\n")
    (cli.repo.path / "staged").write_text("staged\n")
    cli.repo.git("add", "f", "staged")
    cli.repo.git("init", "-q", "--bare", str(cli.home / "up.git"))
    return env


def command(cli: Cli, stage: str, env: Env) -> subprocess.Popen[str]:
    words = ("push", "-q", str(cli.home / "up.git"), "HEAD:main") if stage == "pre-push" else ("commit", "-qm", "m")
    env = cli.environ(**env, FAKE_CMD=agent(cli), FAKE_REVIEW="bad-word", CI="")
    return subprocess.Popen(
        ("git", *words), cwd=cli.repo.path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def agent(cli: Cli) -> str:
    """It says that it began, changes files, and ends when it is let."""
    return (
        f"sed -i s/bad/good/ f; echo agents > new; : > {cli.home}/began-$$; echo > {cli.home}/began;"
        f" until [ -e {cli.home}/end ]; do sleep 0.05; done"
    )


def typed_on(typist: Typist) -> None:
    """Ten more lines in each file."""
    wanted = {path: len(lines) + 10 for path, lines in typist.typed.items()}
    until(lambda: all(len(lines) >= wanted[path] for path, lines in typist.typed.items()), "lines are typed")


@pytest.mark.parametrize("manager", each(*MANAGERS))
@pytest.mark.parametrize(("stage", "line"), [("pre-commit", FIX), ("commit-msg", RUN), ("pre-push", REVIEW)])
def test_what_is_typed_while_an_agent_works_is_there_afterwards(
    cli: Cli, programs: Path, manager: str, stage: str, line: str
) -> None:
    """Faults of agents in hooks F3: nothing was unstaged when git began, so no manager puts anything aside."""
    env = begin(cli, manager, programs, stage, line)
    with command(cli, stage, env) as running:
        wait_for(cli.home / "began")
        with Typist(cli.repo.path, "f", "g", "staged", "untracked") as typist:
            typed_on(typist)
            (cli.home / "end").touch()
            out, _ = running.communicate(timeout=PATIENCE)
    assert typist.lost() == {}, out
    if line == FIX:
        assert "fixed 2 files: f, new" in out
        assert (cli.repo.path / "f").read_text().startswith("good\n")
        assert cli.repo.git("show", ":f").endswith("8\nstaged")


@pytest.mark.parametrize("manager", each(*HOLDING))
def test_a_hook_does_not_wait_while_a_manager_has_changes_put_aside(cli: Cli, programs: Path, manager: str) -> None:
    """Faults F3, F4: the agent goes on in the background, in its copy, and nothing was typed over."""
    env = begin(cli, manager, programs, "pre-commit", RUN)
    for name in ("f", "g"):
        with (cli.repo.path / name).open("a") as file:
            file.write("unstaged\n")
    with command(cli, "pre-commit", env) as running:
        out, _ = running.communicate(timeout=PATIENCE)  # though the agent has not ended
    assert (running.returncode, cli.repo.git("log", "-1", "--format=%s")) == (0, "m"), out
    wait_for(cli.home / "began")
    with Typist(cli.repo.path, "f", "g", "staged", "untracked") as typist:
        typed_on(typist)
        (cli.home / "end").touch()
        until(lambda: [run for run in listed(cli) if run["status"] == "completed"], "the run ends")
        typed_on(typist)
    assert typist.lost() == {}
    assert "unstaged\n" in (cli.repo.path / "f").read_text()
    (run,) = listed(cli)
    patch = Path(cli.layout.root, "patches", f"{run['handle']}.patch")
    assert "+good" in wait_for(patch)
    until(lambda: not Path(cli.layout.root, "snapshots").exists(), "the copy is gone")


def listed(cli: Cli) -> list[dict[str, str]]:
    runs: list[dict[str, str]] = cli.ok("list", "--all", "--json").json["runs"]
    return runs


@pytest.mark.parametrize("manager", each(*HOLDING))
@pytest.mark.parametrize("line", [FIX_BY_GIT, f"{RUN} --on-failure fail"], ids=["fix", "gate"])
def test_a_gate_starts_nobody_while_changes_are_put_aside(cli: Cli, programs: Path, manager: str, line: str) -> None:
    """Also where git starts it; and the command for later is the same, with all its options."""
    env = begin(cli, manager, programs, "pre-commit", line)
    with (cli.repo.path / "f").open("a") as file:
        file.write("unstaged\n")
    with command(cli, "pre-commit", env) as running:
        out, _ = running.communicate(timeout=PATIENCE)
    assert (running.returncode, cli.calls()) == (1, []), out
    if line == FIX_BY_GIT:
        assert f"to start one: {line}" in out
    assert (cli.repo.path / "f").read_text().endswith("8\nstaged\nunstaged\n")
    assert cli.repo.git("show", ":f").endswith("8\nstaged")
