"""The error boundary: git's lines for people, a code for programs, and the trace of a bug in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from git_agent_runner.console.lines import fatal, print_json
from git_agent_runner.core.errors import BUG, UserError

ERROR_SCHEMA = 1


def complain(error: UserError, arguments: Sequence[str]) -> int:
    """Print git's `fatal:` and `hint:` lines on stderr and, if JSON was asked for, the code on stdout."""
    fatal(error.message, error.hints)
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in own:
        facts = {"code": error.code, "message": error.message, "hints": list(error.hints)}
        print_json({"schema": ERROR_SCHEMA, "error": facts})
    return error.exit_status


def report_bug(error: Exception, arguments: Sequence[str]) -> int:
    """An exception nobody foresaw is a bug of ours: the trace goes to a file, its path to the terminal."""
    fatal(f"a bug in git-agent: {type(error).__name__}", (save_trace(error, arguments),))
    return BUG


def save_trace(error: Exception, arguments: Sequence[str]) -> str:
    """Save the trace of a bug; a sentence that says where."""
    import platform
    import tempfile

    # Arguments and the texts of exceptions are left out on purpose: they may hold the person's message.
    head = f"git-agent {' '.join(arguments[:1])}\npython {sys.version}\n{platform.platform()}\n\n"
    try:
        handle, path = tempfile.mkstemp(prefix="git-agent-bug-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + _trace(error))
    except OSError as failure:
        return f"its trace could not be saved: {failure.strerror}; please report what you did"
    return f"its trace was saved to {path}; please report it"


def _trace(error: BaseException) -> str:
    import traceback

    before = error.__cause__ or error.__context__
    earlier = f"{_trace(before)}\nthen:\n" if before else ""
    reason = f": {error.strerror}" if isinstance(error, OSError) else ""
    return f"{earlier}{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}{reason}\n"
