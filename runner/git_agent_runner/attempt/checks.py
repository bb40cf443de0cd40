"""Can this run be resumed with these arguments in this version? Each check raises the reason why not; none starts the
engine."""

from __future__ import annotations

import os
from collections.abc import Callable

from git_agent_runner.console.lines import pasteable
from git_agent_runner.context import Context, find_program
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.core.model import Record
from git_agent_runner.engines import arguments
from git_agent_runner.engines.probe import Probe
from git_agent_runner.engines.refuse import check_version
from git_agent_runner.engines.spec import Engine, Launch, Version

# One argument or variable of a program is at most this long on Linux (MAX_ARG_STRLEN), its final NUL included.
ARGUMENT_BYTES = 128 * 1024


def able_program(ctx: Context, engine: Engine, record: Record, value: str | None, *, by_id: bool) -> Probe:
    """The engine's program, if it can resume by id. Where it cannot, the error shows how to open the session."""
    version = engine.parse_version(record.engine_version) or engine.first_resume
    try:
        program = find_program(ctx, engine)
        version = program.version
        if by_id:
            check_version(engine, version)
    except UserError as error:
        error.hints = (*error.hints, *_by_hand(engine, record, version, value))
        raise
    return program


def _by_hand(engine: Engine, record: Record, version: Version, value: str | None) -> tuple[str, ...]:
    """The command to open the session by hand: the terminal form needs no message, and every engine that can resume has
    one."""
    if value is None:
        return ()
    cwd = record.cwd or "."
    try:
        flags = arguments.launch_args(engine.options, record.launch_args)
        launch = Launch(engine.binary, version, flags, None, value, cwd, cwd, interactive=True)
        return (f"or open the session yourself: {pasteable(engine.resume(launch))}",)
    except UserError:
        return ()


def other_form(engine: Engine, *, picker: bool) -> Callable[[Launch], Invocation]:
    """The engine's command for the newest session, or its picker. Raises UserError `resume_unsupported` if it has
    none."""
    form = engine.picker if picker else engine.continue_
    if form is None:
        what = "session picker" if picker else "way to continue the newest session"
        hint = 'start a new session in the same run: git agent resume --fallback fresh "<message>"'
        raise UserError(f"{engine.name} has no {what}", code="resume_unsupported", hints=(hint,))
    return form


def fitting(invocation: Invocation) -> Invocation:
    """The invocation, if the system can start it. Raises UserError `message_too_large`."""
    for word in invocation.argv:
        if len(word.encode(errors="surrogateescape")) >= ARGUMENT_BYTES:
            raise UserError(
                "the message is too long for this engine's command line (128 KiB at most)",
                code="message_too_large",
                hints=("put it into a file and ask the engine to read that",),
            )
    return invocation


def in_place(engine: Engine, invocation: Invocation, asked: str | None) -> Invocation:
    """Raises UserError `directory_bound` if an engine that resumes only in its session's directory would ignore
    --cwd."""
    if asked is None or invocation.cwd == asked:
        return invocation
    stay = ("leave --cwd out",) if os.path.isdir(invocation.cwd) else ()
    raise UserError(
        f"{engine.name} resumes this session only in its own directory, '{invocation.cwd}'",
        code="directory_bound",
        hints=(*stay, "or start a new session there, in the same run: add --fallback fresh"),
    )
