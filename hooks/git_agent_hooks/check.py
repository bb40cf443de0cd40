"""`git-agent-check`: may what is about to be committed be shared, and can it be recorded?

It looks at what is staged, at this branch's record and at the newest notes, and no further: `git agent doctor` looks
at everything. What another clone has written stops nobody.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from git_agent_hooks.staged import staged
from git_agent_runner import context
from git_agent_runner.console.aloud import say_past
from git_agent_runner.console.lines import fatal
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.git import refs
from git_agent_runner.maintain.doctor.finding import REPAIR
from git_agent_runner.maintain.doctor.notes import unreadable
from git_agent_runner.store import notes, pointer
from git_agent_runner.store.records.document import CorruptRecord

_RECORDING = re.compile(r"((?:.*/)?recordings/[^/]+/[^/]+/[^/]+)/[^/]+")


def check() -> int:
    """0 when all is well, else 1, with a line for each problem."""
    try:
        ctx = context.load(refused=lambda _: None)
    except UserError as error:
        fatal(error.message, error.hints)
        return 1
    for wrong in _noted(ctx):
        say_past(f"{wrong.problem}; fix it with: {wrong.fix}", os.environ)
    found = chain(_record(ctx), _notes_ref(ctx), _recordings(ctx.repo.top, staged(os.environ)))
    problems = [f"git-agent: {problem}\n" for problem in found]
    sys.stderr.writelines(problems)
    return 1 if problems else 0


def _record(ctx: Context) -> Iterator[str]:
    """The record of the branch's run, which is to be noted on this commit."""
    for handle in pointer.every(ctx.repo, ctx.config).get(ctx.repo.branch or "", ()):
        twice: list[str] = []
        try:
            ctx.runs._replace(warn=twice.append).read(handle)
        except CorruptRecord as problem:
            yield f"{shown(problem.message)}; fix it with: {REPAIR}"
        except UserError:
            continue  # of another clone, or forgotten: nothing will be recorded
        yield from (f"{shown(text)}; fix it with: delete one of these lines" for text in twice)


def _notes_ref(ctx: Context) -> Iterator[str]:
    """Can the notes ref be read? If not, git refuses to amend and rebase."""
    if why := unreadable(ctx.repo):
        yield f"{notes.REF} cannot be read: {shown(why)}; fix it with: {REPAIR}"


def _noted(ctx: Context) -> Sequence[notes.Wrong]:
    """Lines of the newest notes that are not run records."""
    if ctx.repo.head is None or not notes.exists(ctx.repo):
        return ()
    return notes.near(ctx.repo, refs.history(ctx.repo, ctx.repo.head, (), notes.NEAR)).problems


def _recordings(top: str, files: Sequence[str]) -> Iterator[str]:
    """What is wrong with the recordings that these files belong to, as they are in the work tree."""
    folders = sorted({found[1] for name in files if (found := _RECORDING.fullmatch(name))})
    if not folders:
        return
    try:
        from git_agent_fixtures.recording.check import check as deviations  # the harness is an extra
    except ImportError as error:
        yield f"recordings are staged, and {error.name} is needed to check them: add it to additional_dependencies"
        return
    for folder in folders:
        if (place := Path(top, folder)).is_dir():
            for one in deviations(place):
                yield f"{shown(folder)}: {one.what}: {shown(one.found)}, expected {shown(one.expected)}"
