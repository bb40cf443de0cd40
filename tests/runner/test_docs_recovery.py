"""docs/recovery.md: what it says to type to be rid of git-agent leaves nothing of it in the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from git_agent_runner.store.files import locks
from support.cli import Cli, ask
from support.docs import ROOT, blocks, section
from support.runs import leave

TEXT = (ROOT / "docs/recovery.md").read_text()


def kept(cli: Cli) -> tuple[list[str], str, list[str], set[str]]:
    """All that is in git's directory, but for what git itself makes when a configuration changes."""
    hooks = Path(cli.layout.common_dir, "hooks").glob("*")
    return (
        [line for line in cli.repo.git("config", "--local", "--list").splitlines() if not line.startswith("branch.")],
        cli.repo.git("for-each-ref"),
        sorted(f"{path.name} {path.read_text()}" for path in hooks if path.is_file()),
        {path.name for path in Path(cli.layout.common_dir).iterdir()} - {"packed-refs"},
    )


def test_git_agent_is_uninstalled_from_a_repository(cli: Cli, tmp_path: Path) -> None:
    """Faults F7: what the page says to type leaves nothing of ours, and names what is not ours to remove."""
    tip = cli.repo.git("rev-parse", "HEAD").strip()
    before = kept(cli)
    cli.ok("init", "--show-notes")
    cli.ok("hooks", "install")
    cli.repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "what hooks keep for a branch without a run")
    cli.begin()
    cli.repo.switch_new("it's/another")
    cli.begin("claude")
    cli.repo.git("config", "agent.engine", "codex")
    cli.repo.git("config", "agent.it's one.args", "--model x")
    cli.repo.git("update-ref", "refs/notes/agent-remote/origin", "refs/notes/agent")
    cli.repo.git("update-ref", "refs/agent/sessions/7f3a9c21", "HEAD")
    (Path(cli.layout.common_dir) / "agent-none").write_text("ref: refs/heads/main\n")
    assert kept(cli) != before
    (text,) = blocks(section(TEXT, "Uninstall"), "sh")
    cli.repo.git("switch", "-q", "main")
    full = kept(cli)
    would = cli.ok("uninstall", "-n").out
    assert kept(cli) == full
    words = ("sh", "-ec", text)
    done = subprocess.run(words, cwd=cli.repo.path, env=cli.environ(), capture_output=True, text=True, check=True)
    assert done.stdout == would.replace("would remove", "removed")
    cli.repo.git("branch", "-q", "-D", "it's/another")
    cli.repo.git("reset", "-q", "--hard", tip)
    (Path(cli.layout.common_dir) / "ORIG_HEAD").unlink()
    assert kept(cli) == before
    assert "agenthandle" not in cli.repo.git("config", "--local", "--list")
    assert subprocess.run(words, cwd=cli.repo.path, env=cli.environ(), check=False, capture_output=True).returncode == 0


def test_what_is_left_is_named_with_a_command_that_works(here: Cli, tmp_path: Path) -> None:
    linked = here.repo.worktree(tmp_path / "it's linked", "side")
    there = here.repo.clone(tmp_path / "there.git", "--bare")
    here.repo.git("remote", "add", "origin", str(there.path))
    leave(linked, "7f3a9c21")
    here.repo.git("push", "-q", "origin", "refs/notes/agent")
    here.repo.git("config", "extensions.worktreeConfig", "true")
    linked.git("config", "--worktree", "agent.engine", "codex")
    left = here.ok("uninstall", "--json").json["left"]
    commands = [line.split(": ", 1)[1] for line in left if ": git " in line]
    assert len(commands) == 2
    for command in commands:
        subprocess.run(("sh", "-ec", command), cwd=here.repo.path, check=True, capture_output=True)
    assert not linked.path.exists()
    assert there.git("for-each-ref", "refs/notes") == ""


@pytest.mark.parametrize("harm", ["a wrong setting", "a record that is torn", "a link for the runs"])
def test_it_works_where_something_is_wrong(here: Cli, tmp_path: Path, harm: str) -> None:
    leave(here.repo, "7f3a9c21")
    root = Path(here.layout.root)
    if harm == "a wrong setting":
        here.repo.git("config", "agent.fallback", "maybe")
    elif harm == "a record that is torn":
        next(root.glob("index/*.yaml")).write_text("han")
    else:
        root.rename(tmp_path / "elsewhere")
        root.symlink_to(tmp_path / "elsewhere")
    assert ask("uninstall") == 0
    assert not root.exists()
    assert not root.is_symlink()
    assert "agent" not in here.repo.git("config", "--local", "--list") + here.repo.git("for-each-ref")
    assert (tmp_path / "elsewhere" / "index").is_dir() == (harm == "a link for the runs")


def test_a_run_at_work_is_not_taken_away(here: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    leave(here.repo, "7f3a9c21")
    with locks.locked(here.layout.run_lock("7f3a9c21")):
        assert ask("uninstall") == 128
    assert "fatal: run 7f3a9c21 is still running" in capfd.readouterr().err
    assert here.record("7f3a9c21").handle == "7f3a9c21"
