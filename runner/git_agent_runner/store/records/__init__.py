"""The record of a run as a YAML document. Its keys are a public format: people read and edit these files."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from git_agent_extractors.model import Status
from git_agent_runner.core.model import SCHEMA, Record, Role
from git_agent_runner.store.files.layout import RUN_ID_FORM, handle_of, is_handle, is_run_id
from git_agent_runner.store.records import document
from git_agent_runner.store.records.document import (
    COUNT,
    EARLIER,
    LAUNCH,
    SESSION,
    STORE,
    TEXT,
    CorruptRecord,
    Field,
    Kind,
    Shape,
    ignore,
    json_line,
    one_of,
    optional,
)

__all__ = ["SHAPE", "CorruptRecord", "json_line", "parse", "render", "update_text"]

SCHEMA_KIND = Kind(f"{SCHEMA}; a newer git-agent may have written this", lambda value: value == SCHEMA, plain=int)
HANDLE = Kind(
    "8 characters of 0-9 and a-f", lambda value: type(value) is str and is_handle(value), form='"([0-9a-f]{8})"'
)
RUN_ID = Kind(
    "`<UTC timestamp>-<engine>-<handle>`",
    lambda value: type(value) is str and is_run_id(value),
    form=f'"({RUN_ID_FORM})"',
)
STATUS = optional(one_of(get_args(Status)))
ROLE = one_of(get_args(Role))

# `updatedAt` is required and the last: a file cut off at the end of a line is then never taken for a whole one.
SHAPE = Shape(
    Record,
    (
        Field("schema", "schema", SCHEMA_KIND),
        Field("handle", "handle", HANDLE, required=True),
        Field("runId", "run_id", RUN_ID, required=True),
        Field("runDirectory", "run_directory", TEXT, required=True),
        Field("agentName", "agent_name", TEXT, required=True),
        Field("session", "session", SESSION, required=True),
        Field("parentSession", "parent_session", optional(TEXT)),
        Field("earlierSessions", "earlier", EARLIER),
        Field("forkedFrom", "forked_from", optional(TEXT)),
        Field("launch", "launch_args", LAUNCH, required=True),
        Field("branch", "branch", optional(TEXT)),
        Field("worktree", "worktree", TEXT),
        Field("worktreeId", "worktree_id", TEXT),
        Field("cwd", "cwd", TEXT),
        Field("commonDir", "common_dir", TEXT),
        Field("commonDirId", "common_dir_id", TEXT),
        Field("startCommit", "start_commit", optional(TEXT)),
        Field("status", "status", STATUS),
        Field("attempts", "attempts", COUNT),
        Field("engineVersion", "engine_version", TEXT),
        Field("host", "host", TEXT),
        Field("store", "store", STORE),
        Field("role", "role", ROLE),
        Field("createdAt", "created_at", TEXT),
        Field("updatedAt", "updated_at", TEXT, required=True),
    ),
)


def render(record: Record) -> str:
    return document.render(SHAPE, record)


def parse(text: str, path: str, warn: Callable[[str], None] = ignore) -> Record:
    """Raises CorruptRecord. `path` is named in messages only."""
    record = document.parse(SHAPE, text, path, warn)
    if handle_of(record.run_id) != record.handle:
        raise CorruptRecord(path, None, f"`runId` {record.run_id} does not end with the handle {record.handle}")
    return record


def update_text(old: str, record: Record, path: str) -> str:
    """`old` with the values of `record`; comments, the order of keys and unknown keys stay. Raises CorruptRecord."""
    return document.update_text(SHAPE, old, record, path)
