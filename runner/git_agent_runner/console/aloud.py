"""The one line that a hook may print."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from git_agent_runner.core.text import shown


def say(line: str) -> None:
    """Print to stderr, which pre-commit shows of a hook that fails or is `verbose`."""
    sys.stderr.write(_line(line))


def say_past(line: str, environ: Mapping[str, str]) -> None:
    """Print to stderr; under pre-commit, which hides that, to the terminal, if there is one."""
    if environ.get("PRE_COMMIT") != "1":
        say(line)
        return
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        return
    with open(terminal, "w", encoding="utf-8", errors="replace") as file:
        file.write(f"\n{_line(line)}")  # pre-commit has left its line of dots open


def _line(line: str) -> str:
    return f"git-agent: {shown(line)}\n"
