"""`git agent engines`: which engines are installed, in which version, and whether they can resume by id."""

from __future__ import annotations

import os
from typing import Any

import click

from git_agent_runner import context
from git_agent_runner.console.lines import print_json, table
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.model import Settings
from git_agent_runner.core.text import shown
from git_agent_runner.engines import MODULES, all_added, load
from git_agent_runner.engines import added as user
from git_agent_runner.engines.probe import probe, user_cache_dir
from git_agent_runner.engines.spec import Engine, dotted, within

SCHEMA = 1
SHIPPED = "shipped"


@click.command(short_help="Show which engines are installed and can resume")
@click.argument("words", metavar="[test ENGINE]", nargs=-1)
@click.option("--check", metavar="NAME", help="Check an engine that you added against what every engine promises.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(words: tuple[str, ...], check: str | None, as_json: bool) -> int:
    """Show every engine: found? which version? can it resume a session by id? may it be opened in a terminal?

    `test ENGINE` asks one of them again, without the cache.
    """
    if words:
        return _test(words, check, as_json=as_json)
    if check is not None:
        return _check(check, as_json=as_json)
    settings, top = _settings()
    found = [_describe(load(name), settings, top, SHIPPED) for name in MODULES]
    for name, added in all_added():
        if isinstance(added, UserError):
            found.append({**_facts(name, user.place(name, os.environ)), "problem": shown(added.message)})
        else:
            found.append(_describe(added.engine, settings, top, added.origin))
    if as_json:
        print_json({"schema": SCHEMA, "engines": found})
        return 0
    rows = [
        (row["engine"], row["version"] or "-", row["resume"], row["interactive"], row["binary"] or row["problem"])
        for row in found
    ]
    print(table(("ENGINE", "VERSION", "RESUME BY ID", "TERMINAL", "PROGRAM"), rows))
    for row in found[len(MODULES) :]:
        print(f"{row['engine']} is described by {shown(row['profile'])}")
    return 0


def _test(words: tuple[str, ...], check: str | None, *, as_json: bool) -> int:
    if words[0] != "test" or len(words) != 2 or check is not None:
        what = "which engine?" if words == ("test",) else f"'{words[0]}' is not an argument of this command"
        raise UsageError(what, hints=("git agent engines test ENGINE",))
    from git_agent_runner.engines import trial

    return trial.run(words[1], *_settings(), as_json=as_json)


def _check(name: str, *, as_json: bool) -> int:
    """The exit status is 1 when a promise is broken."""
    from git_agent_runner.engines.contract import PROMISES

    added = user.find(name, os.environ) if name not in MODULES else None
    if added is None:
        raise UserError(
            f"'{name}' is not an engine that you added; --check is for those",
            code="engine_unknown",
            hints=(f"its file would be {user.place(name, os.environ)}",),
        )
    if added.example is None:
        raise UserError(
            f"{added.origin} has no example of a session",
            code="profile_invalid",
            hints=("set EXAMPLE beside ENGINE and PROFILE: a git_agent_runner.engines.contract.Sample",),
        )
    found = {promise: list(broken(added.engine, added.example)) for promise, broken in PROMISES.items()}
    if as_json:
        kept = [{"promise": promise, "broken": how} for promise, how in found.items()]
        print_json({"schema": SCHEMA, "engine": name, "profile": added.origin, "promises": kept})
    else:
        for promise, how in found.items():
            print(f"{'broken' if how else 'kept':<7} {promise}", *map(shown, how), sep="\n        ")
    return 1 if any(found.values()) else 0


def _settings() -> tuple[Settings, str | None]:
    """The settings; outside of a repository the engines can be listed, too."""
    try:
        ctx = context.look()
    except UserError as error:
        if error.code not in ("not_a_repository", "bare_repository", "no_work_tree"):
            raise
        return Settings(), None
    return ctx.settings, ctx.repo.top


def _facts(name: str, origin: str) -> dict[str, Any]:
    return {
        "engine": name,
        "binary": None,
        "version": None,
        "resume": "-",
        "interactive": "not verified",
        "problem": "",
        "profile": origin,
    }


def _describe(engine: Engine, settings: Settings, top: str | None, origin: str) -> dict[str, Any]:
    facts = {**_facts(engine.name, origin), "interactive": engine.interactive}
    try:
        found = probe(engine, settings.binaries.get(engine.name), os.environ, user_cache_dir(os.environ), top)
    except UserError as error:
        install = f"; {error.hints[0]}" if error.code == "binary_missing" and error.hints else ""
        return {**facts, "problem": shown(error.message + install)}
    yes = "yes" if engine.headless else "in a terminal"
    bad = [bad.why for bad in engine.bad if within(found.version, bad.since, bad.until)]
    return {
        **facts,
        "binary": found.binary,
        "version": dotted(found.version),
        "resume": "no" if found.version < engine.first_resume else f"no: {bad[0]}" if bad else yes,
    }
