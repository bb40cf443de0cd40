"""`git agent engines test`: ask an engine's program again, and say whether it can resume a session by its id."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from git_agent_runner.console.lines import hint, print_json
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Settings
from git_agent_runner.core.text import command_line, shown
from git_agent_runner.engines import load
from git_agent_runner.engines.probe import find_binary, flags, forget, probe, user_cache_dir
from git_agent_runner.engines.refuse import check_version
from git_agent_runner.engines.spec import Engine, Version, dotted

SCHEMA = 1
# The flags by which engines take the id of a session to continue; codex has a subcommand instead.
BY_ID = {"--resume", "--session"}


class Tested(NamedTuple):
    """What came of it. `error` is why it cannot resume by id; `command` then shows or fixes that, to be pasted."""

    engine: str
    binary: str | None = None
    version: Version | None = None
    error: UserError | None = None
    command: str | None = None


def run(name: str, settings: Settings, top: str | None, *, as_json: bool) -> int:
    """The exit status: 1 when the engine cannot resume a session by its id. Raises UserError `engine_unknown`."""
    tested = _test(load(name), settings, top)
    if as_json:
        print_json(_object(tested))
    else:
        _tell(tested)
    return 1 if tested.error else 0


def _test(engine: Engine, settings: Settings, top: str | None) -> Tested:
    cache, setting = user_cache_dir(os.environ), settings.binaries.get(engine.name)
    tested = Tested(engine.name, command=engine.install)
    forget(engine, cache)
    try:
        binary = find_binary(engine, setting, os.environ, top)
        tested = tested._replace(binary=binary, command=f"cd / && {command_line((binary, '--version'))}")
        found = probe(engine, setting, os.environ, cache, top)
        tested = tested._replace(command=engine.install, version=found.version)
        check_version(engine, found.version)
        tested = tested._replace(command=f"cd / && {command_line((found.binary, '--help'))}")
        _refuse_undescribed(engine, found.version, flags(engine, found, os.environ, cache))
    except UserError as error:
        return tested._replace(error=error)
    return tested._replace(command=None)


def _refuse_undescribed(engine: Engine, version: Version, described: frozenset[str]) -> None:
    """Of every recorded version that can resume by a flag, the help names it: a program without is another one."""
    selectors = {name for option in engine.options if option.role == "selector" for name in option.names}
    by_id = BY_ID & selectors
    if by_id and not by_id & described:
        raise UserError(
            f"the help of {engine.name} {dotted(version)} does not name {' or '.join(sorted(by_id))}",
            code="resume_unsupported",
            hints=(f"is it {engine.name}? set 'git config agent.{engine.name}.binary' to the right program",),
        )


def _object(tested: Tested) -> dict[str, Any]:
    error = tested.error
    return {
        "schema": SCHEMA,
        "engine": tested.engine,
        "binary": tested.binary,
        "version": tested.version and dotted(tested.version),
        "resumable": error is None,
        "reason": error and {"code": error.code, "message": error.message, "hints": list(error.hints)},
        "command": tested.command,
    }


def _tell(tested: Tested) -> None:
    print(f"engine    {tested.engine}")
    print(f"program   {shown(tested.binary or '-')}")
    print(f"version   {dotted(tested.version) if tested.version else '-'}")
    print(f"resume    {f'no: {shown(tested.error.message)}' if tested.error else 'yes, by id'}", flush=True)
    if tested.error:
        for line in tested.error.hints:
            hint(line)
        if tested.command and not any(tested.command in line for line in tested.error.hints):
            hint(f"to see it, or to fix it: {tested.command}")
