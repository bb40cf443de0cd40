"""What tests of `git agent watch` share."""

from __future__ import annotations

from git_agent_runner.unattended.policies import taken
from support.cli import Cli, Done

CRASH = "kill -9 $PPID"


def policies(cli: Cli, text: str) -> None:
    path = cli.home / ".config/git-agent/policies.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def messages(cli: Cli) -> list[str]:
    return [call["stdin"] for call in cli.calls()]


def kept(cli: Cli) -> taken.Kept | None:
    return taken.read(cli.layout, cli.record().run_id)


def ours(done: Done) -> list[str]:
    return [line.removeprefix("git-agent: ") for line in done.lines if line.startswith("git-agent: ")]
