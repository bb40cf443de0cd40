"""`drive.py FOLDER NAME [ARGUMENT]`: run one behaviour under our supervision and print how it ended, as JSON.

Signals to a supervisor are tested on a process of its own, so that pytest's are left alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from git_agent_runner.engines.spec import Invocation
from git_agent_runner.supervise.spawn import AttemptFiles, run_headless

BEHAVE = str(Path(__file__).parent / "engines" / "behave.py")


def invocation(*words: str, stdin: bytes | None = None, cwd: str = "/") -> Invocation:
    return Invocation((sys.executable, BEHAVE, *words), stdin, cwd)


def files(folder: str | os.PathLike[str]) -> AttemptFiles:
    return AttemptFiles(os.path.join(folder, "stdout"), os.path.join(folder, "stderr"))


def main(folder: str, *words: str) -> None:
    env = dict(os.environ) | {"GIT_AGENT_HANDLE": "7f3a9c21", "GIT_AGENT_RUN_DIR": folder}
    print(json.dumps(run_headless(invocation(*words), env, files(folder))._asdict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
