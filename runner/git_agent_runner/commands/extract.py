"""`git agent extract`: what a recorded transcript says, whoever recorded it. Needs no repository."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from git_agent_extractors.model import Transcript
from git_agent_extractors.profile import Profile
from git_agent_extractors.read import read_file, read_stream
from git_agent_runner.console.lines import fatal, print_json, warn
from git_agent_runner.core.errors import FATAL, UsageError, UserError
from git_agent_runner.core.text import shown
from git_agent_runner.engines import profile


@click.command(short_help="Read a recorded transcript")
@click.argument("engine", metavar="ENGINE")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per file, in order, one a line.")
def command(engine: str, files: tuple[str, ...], as_json: bool) -> int:
    """Read transcripts of ENGINE: session, status, model, usage and final message. `-` is standard input.

    The exit status says whether every file could be read, not whether a session was found.
    """
    reading = _profile(engine)
    status = 0
    for name in files:
        try:
            found = _read(reading, name)
        except OSError as error:
            reason = f"cannot read '{name}': {error.strerror}"
            fatal(reason)
            if as_json:
                print_json({"file": name, "error": {"code": "unreadable", "message": reason, "hints": []}})
            status = FATAL
            continue
        if as_json:
            print_json(as_object(name, found))
        else:
            _print(name, found)
    return status


def _profile(engine: str) -> Profile:
    try:
        return profile(engine)
    except UserError as error:
        if error.code != "engine_unknown":
            raise
        raise UsageError(error.message, hints=error.hints) from None


def _read(reading: Profile, name: str) -> Transcript:
    return read_stream(reading, sys.stdin.buffer) if name == "-" else read_file(reading, Path(name))


def as_object(name: str, found: Transcript) -> dict[str, Any]:
    """The documented shape, schema 1, of one file."""
    return {
        "file": name,
        "engine": found.engine,
        "session": found.session._asdict(),
        "status": found.status,
        "model": found.model,
        "finalMessage": found.final_message,
        "usage": found.usage,
        "events": found.events,
        "unknownEvents": found.unknown_events,
        "warnings": list(found.warnings),
    }


def _print(name: str, found: Transcript) -> None:
    session = f"{found.session.field} {found.session.value}" if found.session.value else "none"
    usage = ", ".join(f"{key} {value:g}" for key, value in (found.usage or {}).items())
    rows = (
        ("file", name),
        ("session", session),
        ("status", found.status),
        ("model", found.model or "unknown"),
        ("usage", usage or "unknown"),
        ("events", ", ".join(f"{kind} {count}" for kind, count in found.events.items()) or "none"),
        ("unknown", ", ".join(f"{kind} {count}" for kind, count in found.unknown_events.items())),
        ("message", found.final_message or ""),
    )
    for key, value in rows:
        if value:
            print(f"{key:<9} {shown(value)}")
    for text in found.warnings:
        warn(f"{name}: {text}")
