"""A short question to a program (`--version`, `--help`): bounded in time and size, nothing of it left running."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.core.invocation import Invocation
from git_agent_runner.process.lifetime import Limits
from git_agent_runner.process.spawn import SpawnFailed, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# No help text is longer; what a broken program pours out beyond it is read, but not kept.
LONGEST = 1024 * 1024


class Answer(NamedTuple):
    """`failure` says in words why there is no answer to rely on, None when the program said 0."""

    stdout: str
    stderr: str
    failure: str | None = None


def ask(argv: tuple[str, ...], env: Mapping[str, str], timeout: float) -> Answer:
    """Run a program in / with nothing on stdin, for at most `timeout` seconds. Main thread only."""
    out, err = bytearray(), bytearray()
    try:
        outcome = run(Invocation(argv, None, "/"), env, _keep(out), _keep(err), Limits(timeout))
    except SpawnFailed as error:
        return Answer("", "", f"cannot be started: {error.reason}")
    if outcome.received:
        os.kill(os.getpid(), outcome.received)  # it was meant for us: now it does what it does without an engine
    how = f"gave no answer in {timeout:g} s" if outcome.timed_out else f"failed with {outcome.exit_status}"
    failure = None if outcome.exit_status == 0 and not outcome.timed_out else how
    return Answer(out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), failure)


def _keep(kept: bytearray) -> Callable[[memoryview], None]:
    def keep(data: memoryview) -> None:
        kept.extend(data[: LONGEST - len(kept)])

    return keep
