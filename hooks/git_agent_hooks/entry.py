"""Where Python begins for a hook; Ctrl-C during its imports ends it silently, as it ends git's own hooks."""

from __future__ import annotations

from git_agent_runner.entry import hear, quietly


def main() -> int:
    """`git-agent-hook`, which pre-commit starts: its exit status."""
    return quietly(_by_pre_commit)


def installed() -> int:
    """What an installed hook starts, with its name and git's arguments. 0 unless Ctrl-C ends it.

    0 also where parts of the package are missing, as while it is being installed: git's command is not about that.
    """
    return quietly(_installed)


def _by_pre_commit() -> int:
    import sys

    if len(sys.argv) == 2 and _is_idle(sys.argv[1]):
        return 0
    from git_agent_hooks import main

    hear()
    return main.main()


def _is_idle(name: str) -> bool:
    """Is there nothing to do? Most commits are on branches without a run, and sh finds that out before Python has
    loaded."""
    import os

    from git_agent_hooks.sh import IDLE

    if name not in IDLE or not os.path.exists("/bin/sh"):
        return False
    pid = os.posix_spawn("/bin/sh", ("sh", "-c", IDLE[name]), os.environ)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def _installed() -> int:
    import sys

    try:
        from git_agent_hooks import main
    except ImportError:
        return 0

    hear()
    return main.installed(sys.argv[1:])
