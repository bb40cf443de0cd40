"""`git agent engines`: which are here, in which version, and whether they can resume by id."""

from __future__ import annotations

import os
from typing import Any

import click

from git_agent_runner import context
from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.spec import Engine, dotted, within
from git_agent_runner.errors import UserError
from git_agent_runner.model import Settings
from git_agent_runner.present import print_json, shown, table
from git_agent_runner.probe import probe, user_cache_dir

SCHEMA = 1


@click.command(short_help="Show which engines are here and can resume")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> int:
    """Show every engine: found? which version? can it resume a session by id? may it be opened in a terminal?"""
    settings, top = _settings()
    found = [_describe(load(name), settings, top) for name in MODULES]
    if as_json:
        print_json({"schema": SCHEMA, "engines": found})
        return 0
    rows = [
        (row["engine"], row["version"] or "-", row["resume"], row["interactive"], row["binary"] or row["problem"])
        for row in found
    ]
    print(table(("ENGINE", "VERSION", "RESUME BY ID", "TERMINAL", "PROGRAM"), rows))
    return 0


def _settings() -> tuple[Settings, str | None]:
    """Outside of a repository the engines can be asked for too."""
    try:
        ctx = context.load()
    except UserError as error:
        if error.code not in ("not_a_repository", "bare_repository", "no_work_tree"):
            raise
        return Settings(), None
    return ctx.settings, ctx.repo.top


def _describe(engine: Engine, settings: Settings, top: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "engine": engine.name,
        "binary": None,
        "version": None,
        "resume": "-",
        "interactive": engine.interactive,
        "problem": "",
    }
    try:
        found = probe(engine, settings.binaries.get(engine.name), os.environ, user_cache_dir(os.environ), top)
    except UserError as error:
        install = f"; {error.hints[0]}" if error.code == "binary_missing" and error.hints else ""
        return {**facts, "problem": shown(error.message + install)}
    bad = [bad.why for bad in engine.bad if within(found.version, bad.since, bad.until)]
    return {
        **facts,
        "binary": found.binary,
        "version": dotted(found.version),
        "resume": "no" if found.version < engine.first_resume else f"no: {bad[0]}" if bad else "yes",
    }
