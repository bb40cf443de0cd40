"""Can this run, with these words, in this version? Each check raises the reason why not; none starts the engine."""

from __future__ import annotations

import os
from collections.abc import Callable

from git_agent_runner.console.lines import pasteable
from git_agent_runner.context import Context, find_program
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.core.model import Record
from git_agent_runner.core.text import command_line
from git_agent_runner.engines import arguments, wording
from git_agent_runner.engines.probe import Probe
from git_agent_runner.engines.spec import Engine, Launch, Role, Version, dotted, within
from git_agent_runner.find import moved
from git_agent_runner.store.files.locks import Lock, is_locked, try_lock
from git_agent_runner.store.records import attempts
from git_agent_runner.store.session_locks import left_working

# One argument or variable of a program is at most this long on Linux (MAX_ARG_STRLEN), its final NUL included.
ARGUMENT_BYTES = 128 * 1024

# What is ours to give, and what to do instead.
_OURS: tuple[tuple[Role, str], ...] = (
    ("selector", "which session is git agent's part: resume HANDLE, --session VALUE, or start"),
    ("format", "git agent reads the engine's output, so its format is not free"),
    ("prompt", "give the message to git agent, before --"),
    ("interactive", "the terminal form is git agent's -i"),
    ("exit", "run the engine itself for that"),
)
_DIRECTORY: tuple[tuple[Role, str], ...] = (("directory", "git agent chooses the directory of a resume: --cwd DIR"),)


def refuse_live(ctx: Context, record: Record) -> None:
    """Raises UserError `run_live` when an attempt of this run is still going on."""
    if attempts.standing(ctx.layout, record.handle, record.run_id) == "running":
        raise _live(ctx, record)


def hold(ctx: Context, record: Record) -> Lock:
    """The run's own lock, held while an attempt lives. Raises UserError `run_live` when another process has it."""
    lock = try_lock(ctx.layout.run_lock(record.handle))
    if lock is None:
        raise _live(ctx, record)
    return lock


def refuse_original(ctx: Context, record: Record) -> None:
    """Raises UserError `run_live` where what goes on is in the repository that this one is a copy of."""
    common_dir = moved.original(record, ctx.layout.common_dir, lambda: None)
    if common_dir is None:
        return
    top = moved.top(common_dir)
    raise UserError(
        f"run {record.handle} is still running in '{top}', the repository that this is a copy of",
        code="run_live",
        hints=(
            f"wait for its end: {wording.resume(record, '--wait')}",
            f"or end it there: cd {command_line((top,))} && {wording.resume(record, '--kill')}",
        ),
    )


def _live(ctx: Context, record: Record) -> UserError:
    refuse_original(ctx, record)
    attempt = attempts.latest(ctx.layout, record.run_id)
    if attempt is None or attempt.pid is None:
        how = ""
    elif is_locked(ctx.layout.run_lock(record.handle)):
        how = f": {record.agent_name} is process {attempt.pid}" if attempt.ended_at is None else ""
    else:
        how = f": {left_working(attempt)}"
    return UserError(f"run {record.handle} is still running{how}", code="run_live", hints=_either(record))


def _either(record: Record) -> tuple[str, ...]:
    wait, kill = wording.resume(record, "--wait"), wording.resume(record, "--kill")
    return (f"wait for its end: {wait}", f"or end it first: {kill}")


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
    """The terminal form needs no message, and every engine that resumes at all has one."""
    if value is None:
        return ()
    cwd = record.cwd or "."
    try:
        flags = arguments.launch_args(engine.options, record.launch_args)
        launch = Launch(engine.binary, version, flags, None, value, cwd, cwd, interactive=True)
        return (f"or open the session yourself: {pasteable(engine.resume(launch))}",)
    except UserError:
        return ()


def merged_args(
    engine: Engine, program: Probe, recorded: tuple[str, ...], given: tuple[str, ...], *, resuming: bool
) -> tuple[str, ...]:
    """Recorded flags with those of this command line, which come first where they disagree.

    A recorded attachment belonged to the message of then, and is not sent with another one.
    """
    refuse_strays(engine, given, "after --", resuming=resuming)
    kept = arguments.launch_args(engine.options, recorded) if resuming else recorded
    args = arguments.overlay(engine.options, kept, given)
    check_flags(engine, program, args, given)
    return args


def check_version(engine: Engine, version: Version) -> None:
    """Raises UserError `resume_unsupported` or `version_bad`."""
    if version < engine.first_resume:
        raise UserError(
            f"{engine.name} {dotted(version)} cannot resume a session by its id",
            code="resume_unsupported",
            hints=(f"{dotted(engine.first_resume)} is the first version that can: {engine.install}",),
        )
    for bad in engine.bad:
        if within(version, bad.since, bad.until):
            raise UserError(
                f"{engine.name} {dotted(version)} cannot be trusted to resume: {bad.why}",
                code="version_bad",
                hints=(f"install another version: {engine.install}",),
            )


def refuse_strays(engine: Engine, given: tuple[str, ...], place: str, *, resuming: bool) -> None:
    """Words for the engine must all be flags that are its own to take; any other would be lost without a word.

    `place` says where they were given, for the message. Raises UsageError.
    """
    stray = arguments.strays(engine.options, given)
    if stray:
        raise UsageError(
            f"'{stray[0]}' {place} is not a flag of {engine.name}",
            hints=("the message goes before --, only the engine's own flags after it",),
        )
    for role, hint in (*_OURS, *(_DIRECTORY if resuming else ())):
        for word in arguments.find(engine.options, given, role):
            raise UsageError(f"{word.name} {place} cannot be passed on to {engine.name}", hints=(hint,))


def check_flags(engine: Engine, program: Probe, args: tuple[str, ...], given: tuple[str, ...]) -> None:
    """Raises UserError `flag_rejected`: a flag is never dropped in silence. `given` are those of this command line."""
    rejected = arguments.rejected(engine.options, args, program.version)
    if not rejected:
        return
    new = set(rejected) & set(arguments.rejected(engine.options, given, program.version))
    origin = "give only flags that it takes" if new else "this run was started with them by another version"
    raise UserError(
        f"{engine.name} {dotted(program.version)} does not take {', '.join(rejected)}",
        code="flag_rejected",
        hints=(origin, f"or install a version that takes them: {engine.install}"),
    )


def other_form(engine: Engine, *, picker: bool) -> Callable[[Launch], Invocation]:
    """The engine's way to a session that is not named. Raises UserError `resume_unsupported` where it has none."""
    form = engine.picker if picker else engine.continue_
    if form is None:
        what = "session picker" if picker else "'continue the newest session'"
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
    """An engine that goes on only where its session is must not do so while the person reads another directory."""
    if asked is None or invocation.cwd == asked:
        return invocation
    stay = ("leave --cwd out",) if os.path.isdir(invocation.cwd) else ()
    raise UserError(
        f"{engine.name} resumes this session only in its own directory, '{invocation.cwd}'",
        code="directory_bound",
        hints=(*stay, "or start a new session there, in the same run: add --fallback fresh"),
    )
