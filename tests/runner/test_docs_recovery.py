"""docs/recovery.md: what it says to type to be rid of git-agent leaves nothing of it in the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.cli import Cli
from support.docs import ROOT, blocks, section

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


def test_git_agent_is_taken_out_of_a_repository(cli: Cli) -> None:
    tip = cli.repo.git("rev-parse", "HEAD").strip()
    before = kept(cli)
    cli.ok("init", "--show-notes")
    cli.ok("hooks", "install")
    cli.repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "what hooks keep for a branch without a run")
    cli.begin()
    cli.repo.switch_new("it's/another")
    cli.begin("claude")
    cli.repo.git("update-ref", "refs/notes/agent-remote/origin", "refs/notes/agent")
    assert kept(cli) != before
    (text,) = blocks(section(TEXT, "Take git-agent out of a repository"), "sh")
    cli.repo.git("switch", "-q", "main")
    done = subprocess.run(("sh", "-c", text), cwd=cli.repo.path, env=cli.environ(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    cli.repo.git("branch", "-q", "-D", "it's/another")
    cli.repo.git("reset", "-q", "--hard", tip)
    (Path(cli.layout.common_dir) / "ORIG_HEAD").unlink()
    assert kept(cli) == before
    assert "agenthandle" not in cli.repo.git("config", "--local", "--list")
