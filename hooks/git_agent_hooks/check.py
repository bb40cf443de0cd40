"""`git-agent-check`: does the index of runs read, and do the notes?"""

from __future__ import annotations

import sys

from git_agent_runner.commands.doctor import examine
from git_agent_runner.context import load
from git_agent_runner.errors import UserError
from git_agent_runner.present import fatal, shown

# What a commit may carry on, or what only the person can mend: a check of the repository names these.
_CHECKED = ("record_", "note_", "pointer_")


def check() -> int:
    """0 when all is well, else 1, with a line for each problem."""
    try:
        ctx = load()
    except UserError as error:
        fatal(error.message, error.hints)
        return 1
    problems = [
        f"{shown(one.problem)}; mend it with: {shown(one.mend)}"
        for one in examine(ctx)
        if one.code.startswith(_CHECKED)
    ]
    for problem in problems:
        print(f"git-agent: {problem}", file=sys.stderr)
    return 1 if problems else 0
