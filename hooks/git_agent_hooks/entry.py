"""Where Python begins for a hook; Ctrl-C during its imports ends it without a word, as it ends git's own hooks."""

from __future__ import annotations

from git_agent_runner.entry import hear, quietly


def main() -> int:
    """`git-agent-hook`, which pre-commit starts: its exit status."""
    return quietly(_by_pre_commit)


def installed() -> int:
    """What an installed hook starts, with its name and git's arguments. 0 unless Ctrl-C ends it.

    0 also where parts of the package are missing, as while it is being installed anew: git's command is not about that.
    """
    return quietly(_installed)


def _by_pre_commit() -> int:
    from git_agent_hooks import main

    hear()
    return main.main()


def _installed() -> int:
    import sys

    try:
        from git_agent_hooks import main
    except ImportError:
        return 0

    hear()
    return main.installed(sys.argv[1:])
