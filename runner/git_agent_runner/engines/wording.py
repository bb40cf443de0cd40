"""The commands that hints say to type."""

from __future__ import annotations

from typing import Protocol

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines import MODULES, load


class NamedRun(Protocol):
    """What a record and a row of the list say of a run."""

    @property
    def handle(self) -> str: ...
    @property
    def agent_name(self) -> str: ...


def resume(run: NamedRun, *options: str) -> str:
    """What continues this run's session."""
    return " ".join(("git agent resume", run.handle, *options, message(run.agent_name)))


def message(engine: str) -> str:
    """What stands for the message: an engine that resumes in a terminal only takes none."""
    try:
        headless = engine in MODULES or load(engine).headless
    except UserError:  # its profile is gone: a resume says so
        headless = True
    return '"<message>"' if headless else "-i"
