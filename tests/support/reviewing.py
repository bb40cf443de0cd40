"""What tests of reviews share: a stand-in for claude that blocks what it is shown to be bad."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from support.cli import Cli, Done
from support.gitrepo import GitRepo

BAD = "hunter2-is-the-password"
FINDING = {"file": "f", "line": 3, "severity": "high", "text": "a password"}


def answer(word: str = "block", **changes: Any) -> str:
    return json.dumps({"verdict": word, "summary": "as seen", "findings": [FINDING], **changes})


def write(repo: GitRepo, name: str, text: str) -> None:
    (repo.path / name).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / name).write_text(text)


def calls(cli: Cli) -> list[dict[str, Any]]:
    """What the engine was given, each time."""
    path = cli.home / "fake.log"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def asked(cli: Cli, *words: str, **environ: str) -> Done:
    changes = {"FAKE_REVIEW": BAD, "CI": "", **environ}
    return cli.run("review", "-e", "claude", *words, stdin=None, cwd=None, **changes)


def install(cli: Cli, name: str, text: str) -> None:
    hook = Path(cli.layout.common_dir, "hooks", name)
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
