"""One `git-agent` whose CPU time up to the engine is written down: `starting.py FILE WORD…`; a float in seconds."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from git_agent_runner import cli
from git_agent_runner.core import checkpoints


def spent() -> float:
    """By this process since it was started, and by its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(file: str, *words: str) -> int:
    def at(step: checkpoints.Step) -> None:
        if step == "engine-spawned":
            Path(file).write_text(str(spent()))

    checkpoints.watcher = at
    return cli.main(list(words))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
