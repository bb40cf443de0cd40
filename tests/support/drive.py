"""`drive.py HOW FOLDER NAME [ARGUMENT]`: run one behaviour under our supervision, `headless`, `fed` (with
FOLDER/message on its stdin) or in a `terminal`.

How it ended is written to FOLDER/outcome as JSON. Signals to a supervisor and its terminal are tested on a process of
its own, so that pytest's are left alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from git_agent_runner.core.invocation import Invocation
from git_agent_runner.process.spawn import AttemptFiles, run_headless
from git_agent_runner.process.terminal import run_terminal

BEHAVE = str(Path(__file__).parent / "engines" / "behave.py")


def invocation(*words: str, stdin: bytes | None = None, cwd: str = "/") -> Invocation:
    return Invocation((sys.executable, BEHAVE, *words), stdin, cwd)


def files(folder: str | os.PathLike[str]) -> AttemptFiles:
    return AttemptFiles(os.path.join(folder, "stdout"), os.path.join(folder, "stderr"))


def main(how: str, folder: str, *words: str) -> None:
    env = dict(os.environ) | {"GIT_AGENT_HANDLE": "7f3a9c21", "GIT_AGENT_RUN_DIR": folder}
    if how == "headless":
        outcome = run_headless(invocation(*words), env, files(folder))
    elif how == "fed":
        message = Path(folder, "message").read_bytes()
        outcome = run_headless(invocation(*words, stdin=message), env, files(folder))
    else:
        outcome = run_terminal(invocation(*words), env, os.path.join(folder, "pty-output"))
    Path(folder, "outcome").write_text(json.dumps(outcome._asdict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
