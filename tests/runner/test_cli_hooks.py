"""Started from a hook, a script or another tool: git's variables, an open pipe for stdin, no terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.cli import PROGRAM, Cli
from support.gitrepo import GitRepo, make


def local_variables(repo: GitRepo) -> set[str]:
    return set(repo.git("rev-parse", "--local-env-vars").split("\n"))


def test_the_engine_sees_no_variable_that_names_a_repository(cli: Cli, tmp_path: Path) -> None:
    other = make(tmp_path / "other")
    index = other.path / ".git/index"
    cli.ok(
        "start",
        "-e",
        "codex",
        "x",
        GIT_DIR=str(cli.repo.path / ".git"),
        GIT_WORK_TREE=str(cli.repo.path),
        GIT_INDEX_FILE=str(index),
        GIT_PREFIX="sub/",
        GIT_OBJECT_DIRECTORY=str(cli.repo.path / ".git/objects"),
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="user.name",
        GIT_CONFIG_VALUE_0="x",
    )
    env = cli.calls()[0]["env"]
    named = {name for name in env if name.startswith(("GIT_CONFIG_KEY", "GIT_CONFIG_VALUE"))}
    assert (local_variables(cli.repo) & set(env), named) == (set(), set())
    record = cli.record()
    assert env["GIT_AGENT_HANDLE"] == record.handle
    assert env["GIT_AGENT_RUN_DIR"] == cli.layout.run(record.run_id)
    assert not index.exists()


@pytest.mark.parametrize("words", [["start", "-e", "{}", "x"], ["resume", "go on"]])
@pytest.mark.parametrize("engine", ["codex", "iflow"])
def test_a_pipe_that_nobody_closes(cli: Cli, words: list[str], engine: str) -> None:
    """Case C10: our own stdin may stay open for ever; the engine's is the message, or nothing."""
    if words[0] == "resume":
        cli.begin(engine)
    reader, writer = os.pipe()
    try:
        done = subprocess.run(
            [*PROGRAM, *(word.format(engine) for word in words)],
            cwd=cli.repo.path,
            env=cli.environ(),
            stdin=reader,
            capture_output=True,
            start_new_session=True,  # and no /dev/tty either
            timeout=60,
            check=False,
        )
    finally:
        os.close(reader)
        os.close(writer)
    kind = cli.calls()[-1]["stdin_kind"]
    assert (done.returncode, kind) == (0, {"codex": "file", "iflow": "null"}[engine])


@pytest.mark.parametrize("hook", ["pre-commit", "post-commit"])
def test_from_a_hook_in_a_linked_worktree(cli: Cli, hook: str, tmp_path: Path) -> None:
    """Case C01: the engine works in a repository of its own, and the person's commit holds what was staged."""
    tree = cli.repo.worktree(tmp_path / "linked", "feature")
    inner = make(tmp_path / "inner")
    path = cli.repo.path / ".git/hooks" / hook
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} start -e codex "from a hook" >&2\n')
    path.chmod(0o755)
    (tree.path / "staged").write_text("s\n")
    (tree.path / "left").write_text("l\n")
    tree.git("add", "staged")
    work = f"cd {inner.path} && echo i > i && git add i && git commit -q -m inner"
    tree.git("commit", "-q", "-m", "outer", env=cli.environ(FAKE_CMD=work))
    assert tree.git("show", "--name-only", "--format=%s", "HEAD") == "outer\n\nstaged"
    assert inner.git("log", "--format=%s", "--name-only") == "inner\n\ni"
    assert tree.git("status", "--porcelain") == "?? left"
    record = cli.record()
    assert (record.branch, record.cwd, record.status) == ("feature", str(tree.path), "completed")
    assert cli.pointers() == {"feature": record.handle}
