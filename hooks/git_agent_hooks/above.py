"""The programs above this one in the process tree. Their command lines show what git does not pass to hooks."""

from __future__ import annotations

from contextlib import suppress

DEEP = 16  # git, a shell, the manager, its own shell


def command_lines() -> list[list[str]]:
    """Nearest first. A process that cannot be looked at has none."""
    import psutil

    from git_agent_runner.process.parent import parents

    found = []
    for process in parents()[:DEEP]:
        with suppress(psutil.Error):
            found.append(process.cmdline())
    return found
