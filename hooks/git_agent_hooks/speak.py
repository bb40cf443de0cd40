"""The one line that a hook may say."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from git_agent_runner.text import shown


def say(line: str, environ: Mapping[str, str]) -> None:
    """To stderr; under pre-commit, which hides what a hook says unless it fails, to the terminal, if there is one."""
    text = f"git-agent: {shown(line)}\n"
    if environ.get("PRE_COMMIT") != "1":
        sys.stderr.write(text)
        return
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return
    with open(terminal, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
