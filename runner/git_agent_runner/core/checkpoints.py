"""Named checkpoints for fault injection. After each, what is on disk must be enough to recover.

The fault suite stops the world at each of them. Nothing else looks: `watcher` is None, and only a program that imports
this module can set it, not the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

Step = Literal[
    "run-locked",
    "session-locked",
    "run-directory-made",
    "attempt-begun",
    "record-begun",
    "engine-spawned",
    "process-saved",
    "output-came",
    "session-printed",
    "session-in-attempt",
    "session-in-record",
    "engine-ended",
    "output-read",
    "attempt-settled",
    "record-settled",
    "note-locked",
    "note-made",
    "note-written",
    "pointer-locked",
    "pointer-written",
    "copy-begun",
    "copy-made",
    "session-kept",
    "file-written",  # under its temporary name
    "file-replaced",
]
STEPS: tuple[Step, ...] = get_args(Step)

watcher: Callable[[Step], None] | None = None


def at(step: Step) -> None:
    if watcher is not None:
        watcher(step)
