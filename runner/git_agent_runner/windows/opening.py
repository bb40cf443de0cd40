"""Open a new terminal window: which terminal, whose program, one process that asks it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from git_agent_runner.core.errors import UserError
from git_agent_runner.engines.probe import find_on_path
from git_agent_runner.windows.command import Window, environment, script
from git_agent_runner.windows.terminals import LINE_BYTES, TERMINALS, Desktop, Terminal, detect

EXCERPT = 8  # lines of what a terminal says of its failure


class Opening(NamedTuple):
    """How the window will be opened. `terminal` is a name that agent.terminal takes."""

    terminal: str
    title: str
    argv: tuple[str, ...]


def plan_opening(facts: Desktop, chosen: str | None, window: Window, work_tree: str) -> Opening:
    """The argv that opens the window, in the terminal `chosen` or the one that the person is in.

    Raises UserError `terminal_unknown` where nothing says which, `terminal_missing` where its program is not on PATH
    (one inside the repository of `work_tree` does not count), `terminal_failed` where the command is too long for it.
    """
    name = chosen or detect(facts)
    if name is None:
        raise UserError(
            "cannot tell which terminal you are in",
            code="terminal_unknown",
            hints=(f"set 'git config --global agent.terminal' to one of {', '.join(TERMINALS)}",),
        )
    terminal = TERMINALS[name]
    program = _program(terminal, facts.environ, work_tree)
    env = environment(facts.environ, path=not terminal.types)
    argv = terminal.argv(facts, script(window._replace(env=(*env, *window.env))))
    if terminal.types and len(argv[-1].encode()) >= LINE_BYTES:
        raise UserError(f"the command is too long to be typed into {terminal.title}", code="terminal_failed")
    return Opening(name, terminal.title, (program, *argv[1:]))


def _program(terminal: Terminal, environ: Mapping[str, str], work_tree: str) -> str:
    found = find_on_path(terminal.program, environ, work_tree)
    if found is None:
        raise UserError(
            f"'{terminal.program}', which opens windows of {terminal.title}, is not on PATH",
            code="terminal_missing",
            hints=("put it there, or choose another terminal with 'git config agent.terminal'",),
        )
    return found


def open_window(opening: Opening, environ: Mapping[str, str]) -> None:
    """Ask the terminal. Raises UserError `terminal_failed`, with what its program said.

    Its words go to a file: the program may leave behind a window that holds its streams open.
    """
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                opening.argv,
                cwd="/",
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                check=False,
            )
        except OSError as error:
            raise _failed(opening, f"cannot be started: {error.strerror}") from None
        if done.returncode:
            said.seek(0)
            raise _failed(opening, f"failed with {done.returncode}", said.read(4096).decode("utf-8", "replace"))


def _failed(opening: Opening, how: str, text: str = "") -> UserError:
    lines = [line for line in text.splitlines() if line.strip()][:EXCERPT]
    return UserError(
        f"{opening.title} did not open a window: {opening.argv[0]} {how}", code="terminal_failed", hints=tuple(lines)
    )
