"""Tools that take our hooks away, or that would: simple-git-hooks, and `pre-commit install -f`. Agents in hooks F11."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from git_agent_hooks.command import MANAGERS
from git_agent_hooks.install import HOOKS
from support.cli import Cli
from support.runs import leave


def states(cli: Cli) -> dict[str, str]:
    return {hook["name"]: hook["state"] for hook in cli.ok("hooks", "status", "--json").json["hooks"]}


def problems(cli: Cli) -> list[tuple[str, str]]:
    found = cli.run("doctor", "--json").json["problems"]
    return [(one["problem"], one["fix"]) for one in found if one["code"] == "hook_lost"]


def set_up(cli: Cli, programs: Path, hooks: dict[str, str]) -> None:
    """What `npm install` does, each time."""
    (cli.repo.path / "package.json").write_text(json.dumps({"simple-git-hooks": hooks}))
    words = (str(programs / "simple-git-hooks"),)
    subprocess.run(words, cwd=cli.repo.path, env=cli.environ(), check=True, capture_output=True)


def test_simple_git_hooks_is_a_manager(cli: Cli, programs: Path) -> None:
    cli.ok("hooks", "install")
    assert problems(cli) == []
    set_up(cli, programs, {"pre-commit": "true"})
    assert states(cli) == dict.fromkeys(HOOKS, "absent")
    assert {fix for _, fix in problems(cli)} == {"git agent hooks install"}
    done = cli.run("hooks", "install")
    assert (done.status, states(cli)) == (128, dict.fromkeys(HOOKS, "managed"))
    assert "every hook that 'package.json' does not name" in done.err
    assert "in package.json, npx simple-git-hooks, then: git agent hooks status" in done.err
    set_up(cli, programs, json.loads(f"{{{done.out}}}")["simple-git-hooks"])
    assert states(cli) == dict.fromkeys(HOOKS, "installed")
    assert problems(cli) == []
    leave(cli.repo, "aaaaaaaa")
    cli.repo.commit("two", f="2\n")
    assert cli.noted() == ["aaaaaaaa", "aaaaaaaa"]


def test_pre_commit_install_f_is_noticed(cli: Cli) -> None:
    (cli.repo.path / ".pre-commit-config.yaml").write_text("repos: []\n")
    install = (sys.executable, "-m", "pre_commit", "install", "-t", "post-commit")
    cli.ok("hooks", "install")
    for words in (install, (*install, "-f")):
        assert problems(cli) == []
        subprocess.run(words, cwd=cli.repo.path, env=cli.environ(), check=True, capture_output=True)
    ((problem, fix),) = problems(cli)
    assert problem == "our hook post-commit does not run: another tool has removed it"
    assert fix == "git agent hooks install"
    assert cli.run("doctor", "--repair").out.startswith(f"repaired: {problem}\n")
    assert states(cli) == dict.fromkeys(HOOKS, "installed")


def test_hooks_that_were_uninstalled_are_not_missed(cli: Cli) -> None:
    cli.ok("hooks", "install")
    cli.ok("hooks", "uninstall")
    assert problems(cli) == []


@pytest.mark.parametrize("manager", MANAGERS)
def test_print_names_all_our_hooks(cli: Cli, manager: str) -> None:
    before = cli.repo.git("status", "--porcelain", "--ignored")
    printed = cli.ok("hooks", "print", "--manager", manager).out
    assert cli.repo.git("status", "--porcelain", "--ignored") == before
    if manager == "simple-git-hooks":
        assert set(json.loads(f"{{{printed}}}")["simple-git-hooks"]) == set(HOOKS)
    elif manager == "lefthook":
        assert set(YAML(typ="safe").load(printed)) == set(HOOKS)
    elif manager in {"git", "husky"}:
        folder = cli.repo.path / (".husky" if manager == "husky" else ".git/hooks")
        assert printed.splitlines()[::2] == [f"# {folder / name}" for name in HOOKS]
    else:
        config = YAML(typ="safe").load(printed)
        stages = {stage for repo in config["repos"] for hook in repo["hooks"] for stage in hook["stages"]}
        assert stages == set(HOOKS)
        assert set(config["default_install_hook_types"]) == {"pre-commit", *HOOKS}
