"""What the modes read, edit and full are in an engine's own flags. A person chooses one; git-agent never does."""

from __future__ import annotations

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import AgentMode
from git_agent_runner.core.text import command_line, quote
from git_agent_runner.engines import arguments
from git_agent_runner.engines.spec import Allowance, Engine, Version, dotted, within


def put(engine: Engine, version: Version, args: tuple[str, ...], mode: AgentMode) -> tuple[str, ...]:
    """`args` with the flags of the mode, instead of all that choose what the agent may do."""
    asked = flags(engine, version, mode)
    of_modes = {word.words for row in engine.modes for word in arguments.parse(engine.options, row.flags)}
    left = (
        text
        for word in arguments.parse(engine.options, args)
        if word.words not in of_modes and not (word.option and set(engine.choosing).intersection(word.option.names))
        for text in word.words
    )
    return arguments.overlay(engine.options, tuple(left), asked)


def flags(engine: Engine, version: Version, mode: str) -> tuple[str, ...]:
    """Raises UserError `mode_unsupported`."""
    for row in engine.modes:
        if row.mode == mode and within(version, row.since, row.until):
            return row.flags
    known = sorted({row.mode for row in engine.modes if within(version, row.since, row.until)})
    raise UserError(
        f"git-agent knows no flags of {engine.name} {dotted(version)} for the mode '{mode}'",
        code="mode_unsupported",
        hints=(
            f"it has {' and '.join(known)}; or give flags of its own after --"
            if known
            else "give flags of its own after --",
            f"to leave {engine.name} out of agent.mode: git config agent.{engine.name}.mode ''",
        ),
    )


def lasting(engine: Engine, version: Version, allowance: Allowance) -> str:
    """The setting that gives every new run the same flags."""
    for row in engine.modes:
        if row.flags == allowance.flags and within(version, row.since, row.until):
            return f"git config agent.{engine.name}.mode {row.mode}"
    return f"git config --add agent.{engine.name}.args {quote(command_line(allowance.flags))}"
