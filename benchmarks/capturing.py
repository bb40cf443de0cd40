"""One headless run as git-agent makes it, and nothing else: `capturing.py TRANSCRIPT FOLDER`.

The engine is `cat`. Its output is read for the session's id as it comes, until the id is known.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from git_agent_extractors.live import Decoder
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.process.spawn import AttemptFiles, run_headless

if TYPE_CHECKING:
    from git_agent_extractors.model import Source


def main(transcript: str, folder: str) -> bool:
    decoder = Decoder("codex")
    sessions: list[str] = []

    def chunk(source: Source, data: bytes) -> None:
        if not sessions:
            sessions.extend(event.text for event in decoder.feed(source, data) if event.kind == "session")

    invocation = Invocation(("cat", transcript), None, os.path.dirname(transcript))
    outcome = run_headless(invocation, os.environ, AttemptFiles(f"{folder}/stdout", f"{folder}/stderr"), on_chunk=chunk)
    return outcome.exit_status == 0 and len(sessions) == 1


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
