"""iFlow's session files, as documented: `~/.iflow/projects/<encoded directory>/session-<uuid>.jsonl`.

How a directory is encoded is not known, so every project folder is looked at, and a session says by its own lines
where it belongs. `IFLOW_HOME` stands for `~/.iflow`. Files are only read; the engine is never started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Store
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Stored, StoreQuery, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_HEAD = 65_536  # bytes


def locate(query: StoreQuery) -> Located:
    projects = _projects(query)
    try:
        if not projects.is_dir():
            return Located("unknown", detail=f"iflow has no session folder {projects}")
        for path in _files(query, projects):
            if path.stat().st_size:
                return Located("present", str(path), files.path(_head(path).get("cwd")))
    except OSError as error:
        return Located("unknown", detail=f"iflow's session files cannot be read: {error}")
    return Located("absent", detail="iflow has no such session")


def _files(query: StoreQuery, projects: Path) -> Iterable[Path]:
    """The session's; of many questions in a row each file's name is read once."""
    if query.learned is None:
        return projects.glob(f"*/{query.session}.jsonl")
    return files.once(query, projects, lambda: _by_session(projects)).get(query.session or "", ())


def _by_session(projects: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in projects.glob("*/*.jsonl"):
        found.setdefault(path.stem, []).append(path)
    return found


def stored(query: StoreQuery, located: Located) -> Stored:
    return files.stored(str(_projects(query)), located)


def store(query: StoreQuery) -> Store:
    return files.store(query, root(query), "IFLOW_HOME", ".iflow")


def owns(query: StoreQuery, name: str) -> bool:
    """In whatever project's folder: how a directory is encoded is not known."""
    folder, _, file = name.rpartition("/")
    return bool(folder) and "/" not in folder and file == f"{query.session}.jsonl"


def turns(data: bytes) -> Iterator[Turn]:
    return files.turns(data, files.role)


def created_since(query: StoreQuery) -> tuple[str, ...]:
    made = []
    try:
        for path in _projects(query).glob("*/session-*.jsonl"):
            head = _head(path)
            created = moment(head.get("timestamp"))
            if created is not None and created >= files.floor(query.since) and files.same(head.get("cwd"), query.cwd):
                made.append((created, path.stem))
    except OSError:
        return ()
    return tuple(session for _, session in sorted(made))


def root(query: StoreQuery) -> str:
    return files.home(query.env, "IFLOW_HOME", ".iflow")


def _projects(query: StoreQuery) -> Path:
    from pathlib import Path

    return Path(root(query), "projects")


def _head(path: Path) -> dict[str, Any]:
    """The first line that names a directory; {} when none of the first lines does."""
    return next((record for record in files.records(path, _HEAD) if isinstance(record.get("cwd"), str)), {})
