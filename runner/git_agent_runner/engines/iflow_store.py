"""iFlow's session files, as documented: `~/.iflow/projects/<encoded directory>/session-<uuid>.jsonl`.

How a directory is encoded is not known, so every project folder is looked at, and a session says by its own lines
where it belongs. `IFLOW_HOME` stands for `~/.iflow`. Files are only read; the engine is never started.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from git_agent_runner.engines.spec import Located, StoreQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEAD = 20  # lines


def locate(query: StoreQuery) -> Located:
    projects = _projects(query.env)
    try:
        if not projects.is_dir():
            return Located("unknown", detail=f"iflow has no session folder {projects}")
        for path in projects.glob(f"*/{query.session}.jsonl"):
            if path.stat().st_size:
                return Located("present", str(path), _head(path).get("cwd"))
    except OSError as error:
        return Located("unknown", detail=f"iflow's session files cannot be read: {error}")
    return Located("absent", detail="iflow has no such session")


def created_since(query: StoreQuery) -> tuple[str, ...]:
    here = {query.cwd, os.path.realpath(query.cwd)}
    since = datetime.fromtimestamp(int(query.since * 1000) / 1000, UTC)
    made = []
    try:
        for path in _projects(query.env).glob("*/session-*.jsonl"):
            head = _head(path)
            created = _time(head.get("timestamp"))
            if head.get("cwd") in here and created and created >= since:
                made.append((created, path.stem))
    except OSError:
        return ()
    return tuple(session for _, session in sorted(made))


def _projects(env: Mapping[str, str]) -> Path:
    return Path(env.get("IFLOW_HOME") or Path(env.get("HOME") or Path.home(), ".iflow"), "projects")


def _head(path: Path) -> dict[str, Any]:
    """The first line that names a directory; {} when none of the first lines does."""
    with path.open("rb") as lines:
        for line in islice(lines, _HEAD):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and isinstance(record.get("cwd"), str):
                return record
    return {}


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (TypeError, ValueError):
        return None
