"""Running the check that an agent's work is to pass."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import NamedTuple

from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.git import scrubbed
from git_agent_runner.process.lifetime import Limits, Outcome
from git_agent_runner.process.spawn import SpawnFailed, run

LARGEST = 32 << 10  # bytes of its output that count, the last ones


class Checked(NamedTuple):
    passed: bool
    output: str


def words_of(text: str) -> tuple[str, ...]:
    """The program and its arguments; no shell is asked. Raises UsageError."""
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        words = ()
    if not words:
        raise UsageError("--check is not a command", hints=("quote it as in a shell: --check 'ruff check'",))
    return words


def check(
    words: tuple[str, ...], cwd: str, environ: Mapping[str, str], limit: float | None, cancel: Callable[[], bool]
) -> Checked:
    """Run it there. Raises UserError `check_failed` where it cannot be started or takes too long, `interrupted`."""
    said = bytearray()

    def keep(data: memoryview) -> None:
        said.extend(data)
        del said[:-LARGEST]

    env = {**scrubbed(environ), "PWD": cwd}
    try:
        outcome = run(Invocation(words, None, cwd), env, keep, keep, Limits(limit, cancel=cancel))
    except SpawnFailed as error:
        raise UserError(f"the check cannot be run: {error.message}", code="check_failed") from error
    refuse_ended(outcome)
    if outcome.timed_out:
        raise UserError(f"'{shlex.join(words)}' did not finish in time", code="check_failed")
    return Checked(outcome.exit_status == 0, said.decode("utf-8", "replace"))


def refuse_ended(outcome: Outcome) -> None:
    """Raises UserError `interrupted` where a signal came to us, or the git that started us is gone."""
    if outcome.interrupted:
        status = 128 + outcome.received if outcome.received else 130
        raise UserError("it was ended, and nothing was changed", code="interrupted", exit_status=status)
