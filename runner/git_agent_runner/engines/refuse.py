"""What an engine's version or option table rules out."""

from __future__ import annotations

from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.model import AgentMode, Settings
from git_agent_runner.engines import arguments, modes
from git_agent_runner.engines.probe import Probe
from git_agent_runner.engines.spec import Engine, Role, Version, dotted, within

# What is ours to give, and what to do instead.
_OURS: tuple[tuple[Role, str], ...] = (
    ("selector", "git agent chooses the session: resume HANDLE, --session VALUE, or start"),
    ("format", "git agent reads the engine's output, so its format is fixed"),
    ("prompt", "give the message to git agent, before --"),
    ("interactive", "the terminal form is git agent's -i"),
    ("exit", "run the engine itself for that"),
)


_DIRECTORY: tuple[tuple[Role, str], ...] = (("directory", "git agent chooses the directory of a resume: --cwd DIR"),)


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


def configured_args(
    settings: Settings, engine: Engine, version: Version, asked: AgentMode | None = None
) -> tuple[str, ...]:
    """The flags of a new run: agent.<engine>.args, which come first, and those of the person's mode unless another one
    is asked for. Raises UserError.
    """
    args = settings.args.get(engine.name, ())
    refuse_strays(engine, args, f"in agent.{engine.name}.args", resuming=False)
    mode = None if asked else settings.modes.get(engine.name, settings.modes.get(""))
    return arguments.overlay(engine.options, modes.flags(engine, version, mode), args) if mode else args


def merged_args(
    engine: Engine,
    program: Probe,
    recorded: tuple[str, ...],
    given: tuple[str, ...],
    *,
    resuming: bool,
    mode: AgentMode | None = None,
) -> tuple[str, ...]:
    """Recorded flags with those of this command line, which come first where they disagree; `mode` is of it, too.

    A recorded attachment belonged to the message of then, and is not sent with another one.
    """
    refuse_strays(engine, given, "after --", resuming=resuming)
    kept = arguments.launch_args(engine.options, recorded) if resuming else recorded
    kept = modes.put(engine, program.version, kept, mode) if mode else kept
    args = arguments.overlay(engine.options, kept, given)
    check_flags(engine, program, args, given)
    return args


def check_flags(engine: Engine, program: Probe, args: tuple[str, ...], given: tuple[str, ...]) -> None:
    """Raises UserError `flag_rejected`: a flag is never dropped silently. `given` are those of this command line."""
    rejected = arguments.rejected(engine.options, args, program.version)
    if not rejected:
        return
    new = set(rejected) & set(arguments.rejected(engine.options, given, program.version))
    origin = "give only flags that it accepts" if new else "this run was started with them by another version"
    raise UserError(
        f"{engine.name} {dotted(program.version)} does not accept {', '.join(rejected)}",
        code="flag_rejected",
        hints=(origin, f"or install a version that accepts them: {engine.install}"),
    )
