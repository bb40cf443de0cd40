"""A commit message that an agent proposes: real git and pre-commit, stand-in engines."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys

import pytest

from git_agent_hooks import message as message_hook
from git_agent_hooks.fired import Fired
from git_agent_runner.core.errors import UserError
from support import docs
from support.cli import Cli
from support.pre_commit import PreCommit

SAID = "```\nAdd g\n\n# since \x1b[31mf is not enough\n```"
PAGE = (docs.ROOT / "docs/hooks.md").read_text().partition("\n## Notes that follow history\n")[2]
(HOOK,) = [block for block in docs.blocks(PAGE, "sh") if "--propose" in block]
(HOOKS,) = [block for block in docs.blocks(PAGE, "yaml") if "git-agent-message" in block]


@pytest.fixture
def here(cli: Cli) -> Cli:
    """`g` is staged, and the hook is git's own."""
    hook = cli.repo.path / ".git/hooks/prepare-commit-msg"
    hook.parent.mkdir(exist_ok=True)
    line = HOOK.replace("claude", "codex --timeout 10m --prompt 'as we do'")
    hook.write_text(f"#!/bin/sh\n{line}")
    hook.chmod(0o700)
    stage(cli)
    return cli


def stage(cli: Cli) -> None:
    (cli.repo.path / "g").write_text("staged\n")
    cli.repo.git("add", "g")


def commit(cli: Cli, *words: str, edit: str = "true", **environ: str) -> subprocess.CompletedProcess[str]:
    """The editor shows the person the file, which is saved as `seen`, and then does `edit`."""
    editor = f'sh -c \'cp "$1" {cli.home}/seen; {edit} "$1"\' x'
    env = cli.environ(GIT_EDITOR=editor, FAKE_SAY=SAID, **environ)
    words = ("git", "commit", "-q", *words)
    return subprocess.run(words, cwd=cli.repo.path, env=env, capture_output=True, text=True, check=False)


def seen(cli: Cli) -> list[str]:
    return (cli.home / "seen").read_text().splitlines()


def message(cli: Cli) -> str:
    return cli.repo.git("log", "-1", "--format=%B")


def test_an_agent_proposes_the_message(here: Cli) -> None:
    """Issue 12, W6: it is shown the change and the last subjects, and works in a copy, with a role of its own."""
    done = commit(here, FAKE_CMD="echo agents > g; git add g")
    assert done.returncode == 0, done
    assert message(here) == "Add g\n\n # since [31mf is not enough\n"
    assert seen(here)[:5] == ["Add g", "", " # since [31mf is not enough", "", seen(here)[4]]
    assert seen(here)[4].startswith("# Please enter the commit message")
    (call,) = here.calls()
    assert call["stdin"].startswith("as we do\nWrite the message ")
    assert "\n+staged\n" in call["stdin"]
    assert "\none\n" in call["stdin"]
    assert call["cwd"].startswith(f"{here.layout.root}/snapshots/")
    assert (here.repo.git("show", "HEAD:g"), here.repo.git("status", "--porcelain")) == ("staged", "")
    assert here.pointers() == {}
    (run,) = here.ok("list", "--all", "--json").json["runs"]
    assert run["role"] == "message"


@pytest.mark.parametrize(
    ("config", "above", "below"),
    [
        pytest.param((), "", "# Please enter", id="stripped"),
        pytest.param(("core.commentChar", ";"), "", "; Please enter", id="another sign"),
        pytest.param(("commit.cleanup", "scissors"), "# ---", "# Do not modify", id="scissors"),
    ],
)
def test_without_a_message_a_comment_says_why(here: Cli, config: tuple[str, ...], above: str, below: str) -> None:
    """It is not part of the commit, whatever git takes for a comment."""
    if config:
        here.repo.git("config", *config)
    done = commit(here, edit="sed -i 1iown", FAKE_OUT="/dev/null")
    assert (done.returncode, message(here)) == (0, "own\n"), done
    lines = ["", *seen(here)]
    (place,) = [place for place, line in enumerate(lines) if "git-agent: no message: codex, run " in line]
    assert lines[place].startswith(below[0])
    assert lines[place - 1].startswith(above)
    assert lines[place + 1].startswith(below)


@pytest.mark.parametrize(
    ("words", "environ"),
    [(("-m", "m"), {}), (("--amend",), {}), (("--no-edit",), {}), ((), {"GIT_AGENT_SKIP": "1"})],
    ids=["-m", "--amend", "--no-edit", "switched off"],
)
def test_nobody_is_asked_where_there_is_a_message_or_no_editor(
    here: Cli, words: tuple[str, ...], environ: dict[str, str]
) -> None:
    """What an agent wrote is the person's to see first."""
    commit(here, *words, **environ)
    assert here.calls() == []


def test_a_full_disk_leaves_gits_file_as_it_was(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written beside, and put in its place whole."""
    file = here.repo.path / ".git/COMMIT_EDITMSG"
    file.write_text("\n# Please enter\n")
    monkeypatch.chdir(here.repo.path)
    monkeypatch.setattr(message_hook, "_asked", lambda *_: "x\n" * 5000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(UserError):
            message_hook.propose(
                Fired("prepare-commit-msg", (str(file),), os.environ), message_hook.Style("", None, 1.0)
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_text() == "\n# Please enter\n"
    assert [path.name for path in file.parent.iterdir() if "COMMIT_EDITMSG" in path.name] == ["COMMIT_EDITMSG"]


def test_under_pre_commit(pre_commit: PreCommit, cli: Cli) -> None:
    """Where it has put unstaged changes aside no agent is started, for what is typed then is lost."""
    here = re.sub(r"repo: \S+\n  rev: \S+", f"repo: {pre_commit.url}\n  rev: {pre_commit.rev}", HOOKS)
    (cli.repo.path / ".pre-commit-config.yaml").write_text(here.replace("30s", "10m"))
    (cli.repo.path / "docs").mkdir()
    (cli.repo.path / "docs/messages.md").write_text("as we do\n")
    cli.repo.git("add", ".")
    words = (sys.executable, "-m", "pre_commit", "install", "-t", "prepare-commit-msg")
    subprocess.run(words, cwd=cli.repo.path, check=True, capture_output=True)
    stage(cli)
    done = commit(cli, PYTHONPATH="")
    assert (done.returncode, message(cli).partition("\n")[0]) == (0, "Add g"), done
    (call,) = cli.calls()
    assert (call["engine"], call["stdin"].partition("\n")[0]) == ("claude", "as we do")
    stage(cli)
    (cli.repo.path / "f").write_text("staged\n")
    cli.repo.git("add", "f")
    (cli.repo.path / "f").write_text("unstaged\n")
    commit(cli, PYTHONPATH="")
    assert "# git-agent: no message: pre-commit has set your unstaged changes aside" in seen(cli)
    assert len(cli.calls()) == 1
