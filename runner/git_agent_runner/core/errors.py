"""How a command ends when it cannot continue: a message that names the thing and a hint that says what to do."""

from __future__ import annotations

FATAL = 128
USAGE = 129
INTERRUPTED = 130
BUG = 70


class UserError(Exception):
    """A person's mistake or an expected obstacle: printed as `fatal:` and `hint:` lines, never as a traceback.

    `code` is a stable word (`session_missing`, `branch_elsewhere`, …) that `--json` carries; it is the authority
    for programs. `exit_status` is 128 unless the mistake is one of usage (129).
    """

    def __init__(self, message: str, *, code: str, hints: tuple[str, ...] = (), exit_status: int = FATAL) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hints = hints
        self.exit_status = exit_status


class UsageError(UserError):
    """The command line itself is wrong."""

    def __init__(self, message: str, *, hints: tuple[str, ...] = (), code: str = "usage") -> None:
        super().__init__(message, code=code, hints=hints, exit_status=USAGE)
