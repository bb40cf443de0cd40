"""Where Python begins for a hook; Ctrl-C during its imports ends it without a word, as it ends git's own hooks."""

from __future__ import annotations

from git_agent_runner.entry import hear, quietly


def main() -> int:
    """`git-agent-hook`, which pre-commit starts: its exit status."""
    return quietly(_by_pre_commit)


def installed() -> int:
    """What an installed hook starts, with its name and git's arguments. 0 unless Ctrl-C ends it."""
    return quietly(_installed)


def _by_pre_commit() -> int:
    from git_agent_hooks import main

    hear()
    return main.main()


def _installed() -> int:
    import sys

    from git_agent_hooks import main

    hear()
    return main.installed(sys.argv[1:])
