"""Can this run, with these words, in this version? Each check raises the reason why not; none starts the engine."""

from __future__ import annotations

from git_agent_runner.context import Context
from git_agent_runner.engines import arguments
from git_agent_runner.engines.spec import Engine, Invocation, Located, StoreQuery, Version, dotted, within
from git_agent_runner.errors import UsageError, UserError
from git_agent_runner.model import Record
from git_agent_runner.probe import Probe
from git_agent_runner.store import attempts

# One argument or variable of a program is at most this long on Linux (MAX_ARG_STRLEN), its final NUL included.
ARGUMENT_BYTES = 128 * 1024


def refuse_live(ctx: Context, record: Record) -> None:
    """Raises UserError `run_live` when an attempt of this run is still going on."""
    if attempts.state(ctx.layout, record.handle, record.run_id) == "running":
        raise UserError(
            f"run {record.handle} is still running",
            code="run_live",
            hints=("wait for it, or end it; `git agent show " + record.handle + "` names its process",),
        )


def session_value(record: Record, engine: Engine, override: str | None) -> str:
    value = override or record.session.value
    if not value:
        raise UserError(
            f"run {record.handle} has no session id: {engine.name} printed none, and none was found in its store",
            code="session_unknown",
            hints=(
                'give one: git agent resume --session VALUE "<message>"',
                'or start anew in the same run: git agent resume --fallback fresh "<message>"',
            ),
        )
    if not engine.id_pattern.fullmatch(value):
        raise UserError(
            f"'{value}' is not a session id of {engine.name}",
            code="session_malformed",
            hints=(f"{engine.name} would start a new conversation instead of saying so",),
        )
    return value


def check_version(engine: Engine, version: Version) -> None:
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


def refuse_strays(engine: Engine, given: tuple[str, ...]) -> None:
    """What was just given after `--` must all be for the engine; words of ours among it would be lost silently."""
    stray = arguments.strays(engine.options, given)
    if stray:
        raise UsageError(
            f"'{stray[0]}' after -- is no flag of {engine.name}",
            hints=("the message goes before --, only the engine's own flags after it",),
        )
    for role, hint in (
        ("selector", "which session is git agent's part: resume HANDLE, --session VALUE, or start"),
        ("format", "git agent reads the engine's output, so its format is not free"),
        ("prompt", "give the message to git agent, before --"),
        ("interactive", "the terminal form is git agent's -i"),
        ("exit", f"run {engine.binary} itself for that"),
    ):
        for word in arguments.find(engine.options, given, role):  # type: ignore[arg-type]  # the roles above are Roles
            raise UsageError(f"{word.name} cannot be passed to {engine.name} here", hints=(hint,))


def check_flags(engine: Engine, program: Probe, args: tuple[str, ...]) -> None:
    rejected = arguments.rejected(engine.options, args, program.version)
    if rejected:
        raise UserError(
            f"{engine.name} {dotted(program.version)} does not take {', '.join(rejected)}",
            code="flag_rejected",
            hints=(
                "the flags are those this run was started with; the installed version has changed",
                f"install a version that has them, or start a new run: {engine.install}",
            ),
        )


def check_message(engine: Engine, version: Version, message: str | None) -> None:
    """Refused before anything is recorded: what no engine takes, and what this one would swallow or alter."""
    if message is None:
        return
    if not message.strip():
        raise UserError("the message is empty", code="message_empty", hints=("say what the agent should do",))
    if "\0" in message:
        raise UserError("the message holds a NUL character", code="message_refused", hints=("take it out",))
    engine.check_message(version, message)


def fitting(invocation: Invocation) -> Invocation:
    for word in invocation.argv:
        if len(word.encode(errors="surrogateescape")) >= ARGUMENT_BYTES:
            raise UserError(
                "the message is too long for this engine's command line (128 KiB at most)",
                code="message_too_large",
                hints=("put it into a file and ask the engine to read that",),
            )
    return invocation


def locate(ctx: Context, engine: Engine, version: Version, record: Record, cwd: str, value: str) -> Located:
    """Ask the engine's store. Raises UserError `session_missing`; "unknown" goes on and is verified afterwards."""
    located = engine.locate(StoreQuery(ctx.environ, record.cwd or cwd, version, value))
    if located.state == "absent":
        lost = engine.first_reply_lost(version) if record.attempts <= 1 and record.status != "completed" else None
        detail = located.detail or f"{engine.name} has no such session for {record.cwd or cwd}"
        raise UserError(
            f"session {value} cannot be resumed: {detail}",
            code="session_missing",
            hints=(
                *([lost] if lost else []),
                'start anew in the same run: git agent resume --fallback fresh "<message>"',
                "other runs: git agent list",
            ),
        )
    return located
