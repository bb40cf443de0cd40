"""The line that a run has in a note. It is read with suspicion: anyone who can push may have written it.

A line is `- {json}`, so a note is a YAML sequence, and stays one when git joins two notes line by line.
"""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from typing import Any

from git_agent_extractors.model import Session
from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Note, Record
from git_agent_runner.store.files.layout import handle_of, is_handle, is_run_id
from git_agent_runner.store.records import json_line

LINE_LIMIT = 64 << 10  # bytes
KEYS = ("schema", "handle", "runId", "agentName", "session", "branch", "launch", "updatedAt", "host")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
_ENGINE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


def render(record: Record) -> str:
    """The record's line, without the line break. Its launch args are written as they are: who writes a note hands in
    what may leave the machine.
    """
    values = (
        record.schema,
        record.handle,
        record.run_id,
        record.agent_name,
        record.session._asdict(),
        record.branch,
        {"args": list(record.launch_args)},
        record.updated_at,
        record.host,
    )
    return f"- {json_line(dict(zip(KEYS, values, strict=True)))}"


def parse(text: str, commit: str = "") -> tuple[list[Note], list[str]]:
    """The runs in a note, newest first, one per handle, and what is wrong with other lines. Never raises."""
    newest: dict[str, Note] = {}
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        note = parse_line(line, commit)
        if note is None:
            problems.append(f"line {number} is not a run record")
        elif note.handle not in newest or age(note) > age(newest[note.handle]):
            newest[note.handle] = note
    return sorted(newest.values(), key=age, reverse=True), problems


def age(run: Note | Record) -> float:
    """What sorts runs by their last change, whatever time zone it is written in. A time to come would win for ever, so
    it comes last.
    """
    then = _changed(run)
    return 0.0 if _is_to_come(then) else then


def is_to_come(run: Note | Record) -> bool:
    """Was it changed later than now? Clocks differ; a day is enough for them."""
    return _is_to_come(_changed(run))


def _changed(run: Note | Record) -> float:
    return moment(run.updated_at) or 0.0


def _is_to_come(then: float) -> bool:
    return then > time.time() + 86400


def parse_line(line: str, commit: str = "") -> Note | None:
    """The run that this line is, None for anything else."""
    if not line.startswith("- {") or len(line.encode("utf-8", "surrogateescape")) > LINE_LIMIT:
        return None
    try:
        return _checked(json.loads(line[2:]), commit)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _checked(known: dict[str, Any], commit: str) -> Note:
    """Raises ValueError, KeyError or TypeError for anything but a run."""
    handle, run_id, args = _text(known["handle"]), _text(known["runId"]), known["launch"]["args"]
    if not (is_handle(handle) and is_run_id(run_id) and handle_of(run_id) == handle and type(args) is list):
        raise ValueError(handle)
    if type(known["schema"]) is not int or known["schema"] < 1:
        raise ValueError(known["schema"])
    began(run_id)
    datetime.fromisoformat(known["updatedAt"])
    return Note(
        handle=handle,
        run_id=run_id,
        agent_name=_text(known["agentName"], _ENGINE),
        session=_session(known["session"]),
        branch=None if known["branch"] is None else _text(known["branch"]),
        launch_args=tuple(_text(word) for word in args),
        updated_at=_text(known["updatedAt"], _TIME),
        host=_text(known["host"]),
        schema=known["schema"],
        commit=commit,
        extra={key: value for key, value in known.items() if key not in KEYS},
    )


def began(run_id: str) -> datetime:
    """When a run was begun, as its id says. Raises ValueError where that is no date."""
    return datetime.fromisoformat(run_id[:16])


def _session(value: dict[str, Any]) -> Session:
    field, text = value["field"], value["value"]
    return Session(None, None) if field is text is None else Session(_text(field), _text(text))


def _text(value: object, shape: re.Pattern[str] | None = None) -> str:
    """Text that can be printed as UTF-8, and be a word of a command: a lone surrogate comes from bytes that were none,
    or from a bad escape; a NUL from nobody who means well.
    """
    if type(value) is not str or "\0" in value or (shape and not shape.fullmatch(value)):
        raise TypeError(value)
    value.encode()
    return value
