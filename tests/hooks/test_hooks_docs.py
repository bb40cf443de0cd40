"""docs/hooks.md: each set-up in it is carried out as it stands there, and works."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ruamel.yaml import YAML

from git_agent_hooks.install import HOOKS
from git_agent_hooks.lines import call
from support import docs
from support.cli import Cli
from support.pre_commit import PreCommit
from support.runs import leave

# Below the stories, which test_hooks_stories carries out.
PAGE = (docs.ROOT / "docs/hooks.md").read_text().partition("\n## Notes that follow history\n")[2]
LEFTHOOK, KEEPING, LEFTHOOK_RUN, RUNNING, _ = docs.blocks(PAGE, "yaml")
(SIMPLE,) = docs.blocks(PAGE, "json")
PLAIN, HUSKY, INSTALL, RUN, _, PUSH = docs.blocks(PAGE, "sh")


def shell(cli: Cli, script: str, **environ: str) -> str:
    """What the script prints, in the repository, with `git agent` and pre-commit on PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{cli.environ()['PATH']}"
    env = {**cli.environ(), "PATH": path, "PYTHONPATH": "", **environ}
    words = ("sh", "-e", "-c", script)
    return subprocess.run(words, cwd=cli.repo.path, env=env, capture_output=True, text=True, check=True).stdout


def commit(cli: Cli, **environ: str) -> None:
    shell(cli, "git commit -q --allow-empty -m work", **environ)


def test_without_a_manager(cli: Cli) -> None:
    cli.begin()
    assert "installed" in shell(cli, PLAIN)
    commit(cli)
    assert len(cli.noted()) == 2


def test_husky(cli: Cli, programs: Path) -> None:
    cli.begin()
    shell(cli, shlex.quote(str(programs / "husky")))
    cli.run("hooks", "install")
    assert HUSKY.rstrip("\n") == call("post-commit")
    (cli.repo.path / ".husky/post-commit").write_text(HUSKY)
    commit(cli)
    assert len(cli.noted()) == 2


def test_lefthook(cli: Cli, programs: Path) -> None:
    cli.begin()
    (cli.repo.path / "lefthook.yml").write_text(LEFTHOOK)
    assert tuple(sorted(YAML(typ="safe").load(LEFTHOOK))) == tuple(sorted(HOOKS))
    assert cli.ok("hooks", "install").out.startswith("installed ")
    shell(cli, f"{shlex.quote(str(programs / 'lefthook'))} install")
    commit(cli)
    assert len(cli.noted()) == 2


def test_simple_git_hooks(cli: Cli, programs: Path) -> None:  # agents in hooks F11
    cli.begin()
    (cli.repo.path / "package.json").write_text(f"{{{SIMPLE}}}")
    assert set(json.loads(f"{{{SIMPLE}}}")["simple-git-hooks"]) == set(HOOKS)
    shell(cli, shlex.quote(str(programs / "simple-git-hooks")))
    assert cli.ok("hooks", "install").out.startswith("installed ")
    commit(cli)
    assert len(cli.noted()) == 2


def released(pre_commit: PreCommit, text: str) -> str:
    """With the release of this checkout in place of the page's."""
    named = re.sub(r"repo: \S+\n  rev: \S+", f"repo: {pre_commit.url}\n  rev: {pre_commit.rev}", text)
    assert named != text
    return named


def test_pre_commit(pre_commit: PreCommit, cli: Cli) -> None:
    (cli.repo.path / ".pre-commit-config.yaml").write_text(released(pre_commit, KEEPING))
    cli.repo.git("add", ".pre-commit-config.yaml")
    shell(cli, INSTALL)
    cli.begin()
    commit(cli)
    assert len(cli.noted()) == 2


LOOK = 'look at what is pushed; change nothing\n\nAbout to push "refs/heads/main" to "refs/heads/main": '


def pushed(cli: Cli, tmp_path: Path) -> str:
    """What the agent was told of the first push, and that of a second commit."""
    upstream = cli.repo.clone(tmp_path / "upstream", "--bare")
    cli.repo.git("remote", "add", "origin", str(upstream.path))
    cli.repo.git("fetch", "-q", "origin")
    old, new = cli.repo.head(), cli.repo.commit("two", f="2\n")
    shell(cli, "git push -q origin main")
    (call,) = cli.calls()
    assert call["stdin"] == f"{LOOK}commits {old}..{new}"
    assert call["engine"] == "claude"
    return str(upstream.path)


def test_an_agent_before_a_push(pre_commit: PreCommit, cli: Cli, tmp_path: Path) -> None:
    (cli.repo.path / ".pre-commit-config.yaml").write_text(released(pre_commit, RUNNING))
    shell(cli, "pre-commit install --hook-type pre-push")
    pushed(cli, tmp_path)


def test_an_agent_before_a_push_by_husky(cli: Cli, tmp_path: Path, programs: Path) -> None:  # agents in hooks F14
    shell(cli, shlex.quote(str(programs / "husky")))
    (cli.repo.path / ".husky/pre-push").write_text(RUN)
    pushed(cli, tmp_path)


def test_an_agent_before_a_push_by_lefthook(cli: Cli, tmp_path: Path, programs: Path) -> None:  # agents in hooks F14
    (cli.repo.path / "lefthook.yml").write_text(LEFTHOOK_RUN)
    shell(cli, f"{shlex.quote(str(programs / 'lefthook'))} install")
    pushed(cli, tmp_path)


def test_a_hook_that_pushes_notes_in_two_clones(cli: Cli, tmp_path: Path) -> None:  # faults F11
    upstream = cli.repo.clone(tmp_path / "upstream", "--bare")
    clones = [Cli(upstream.clone(tmp_path / name), cli.home) for name in ("one", "two")]
    for clone, handle in zip(clones, ("aaaaaaaa", "bbbbbbbb"), strict=True):
        clone.repo.switch_new(handle)
        leave(clone.repo, handle)
        hook = clone.repo.path / ".git/hooks/pre-push"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{PUSH}")
        hook.chmod(0o755)
        shell(clone, f"git push -q origin {handle}")
    assert sorted(clones[1].noted()) == ["aaaaaaaa", "bbbbbbbb"]
    assert upstream.git("rev-parse", "refs/notes/agent") == clones[1].repo.git("rev-parse", "refs/notes/agent")


def test_the_ids_are_those_of_the_file() -> None:
    offered = YAML(typ="safe").load((docs.ROOT / ".pre-commit-hooks.yaml").read_text())
    table = docs.rows(docs.section(PAGE, "pre-commit"))
    assert [row[0].strip("`") for row in table] == [hook["id"] for hook in offered]
    for row, hook in zip(table, offered, strict=True):
        assert all(stage in row[1] for stage in hook["stages"])


def test_hooks_that_wait_for_an_agent_show_what_it_did() -> None:
    """pre-commit hides what a hook prints that passes."""
    offered = YAML(typ="safe").load((docs.ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in offered if hook.get("verbose")] == ["git-agent-run", "git-agent-fix"]
