"""`git-agent-check`: does the index of runs read, do the notes, and are staged recordings fit to be shared?"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_agent_hooks.staged import staged
from git_agent_runner.commands.doctor_examine import examine
from git_agent_runner.errors import UserError
from git_agent_runner.present import fatal
from git_agent_runner.text import shown

# What a commit may carry on, or what only the person can mend: a check of the repository names these.
_CHECKED = ("record_", "note_malformed", "notes_damaged", "pointer_")
_RECORDING = re.compile(r"((?:.*/)?recordings/[^/]+/[^/]+/[^/]+)/[^/]+")


def check() -> int:
    """0 when all is well, else 1, with a line for each problem."""
    try:
        known, found = examine()
    except UserError as error:
        fatal(error.message, error.hints)
        return 1
    problems = [
        f"{shown(one.problem)}; fix it with: {shown(one.mend)}" for one in found if one.code.startswith(_CHECKED)
    ]
    problems += _recordings(known.ctx.repo.top, staged(os.environ))
    for problem in problems:
        print(f"git-agent: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _recordings(top: str, files: Sequence[str]) -> Iterator[str]:
    """What is wrong with the recordings that these files belong to, as they stand in the work tree."""
    folders = sorted({found[1] for name in files if (found := _RECORDING.fullmatch(name))})
    if not folders:
        return
    try:
        from git_agent_fixtures.recording.check import check as deviations  # the harness is an extra
    except ImportError as error:
        yield f"recordings are staged, and {error.name} is missing to check them: add it to additional_dependencies"
        return
    for folder in folders:
        if (place := Path(top, folder)).is_dir():
            for one in deviations(place):
                yield f"{shown(folder)}: {one.what}: {shown(one.found)}, expected {shown(one.expected)}"
