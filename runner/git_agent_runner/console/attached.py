"""What `--attach` reads: a log of any length, of which an agent gets the end."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import nullcontext
from typing import IO

from git_agent_runner.core.data import SHOWN, end_of_log, fenced
from git_agent_runner.core.errors import UsageError

_BLOCK = 64 << 10
_BLOCKS = 2 + 2 * SHOWN // _BLOCK  # that are kept


def attached(message: str | None, file: str) -> str:
    """The message with the end of the log below it; `-` is standard input. Raises UsageError."""
    name = "standard input" if file == "-" else f"'{file}'"
    if message is None:
        raise UsageError("--attach needs a message", hints=('git agent resume --attach FILE "<message>"',))
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as source:
            text = end_of_log(_last(source))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read the log from {name}: {reason}") from None
    if not text.strip():
        raise UsageError(f"the log from {name} is empty", hints=("look at the command that was to print it",))
    return f"{message}\n{fenced('the end of a log', text)}"


def _last(source: IO[bytes]) -> bytes:
    blocks: deque[bytes] = deque(maxlen=_BLOCKS)
    while block := source.read(_BLOCK):
        blocks.append(block)
    return b"".join(blocks)
