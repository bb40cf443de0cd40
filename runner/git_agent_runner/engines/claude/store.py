"""Claude Code's session files: `~/.claude/projects/<directory with dashes>/<id>.jsonl`.

The folder is named after the real path of the directory where the session began, and stays when it is resumed
elsewhere. `CLAUDE_CONFIG_DIR` stands for `~/.claude`. Files are only read, and the engine is never started.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from git_agent_runner.core.model import Store
from git_agent_runner.engines import files
from git_agent_runner.engines.spec import Located, Piece, Stored, StoreQuery, Turn, Version, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# 2.1.165 finds a session only from exactly its directory; 2.1.166 within the repository, 2.1.223 from anywhere.
REPOSITORY: Version = (2, 1, 166)
ANYWHERE: Version = (2, 1, 223)

_LONGEST = (
    200  # UTF-16 units of a folder's name; longer ones are cut and end in a hash (2.1.200, 2.1.332: 21d-cwd-long)
)


def locate(query: StoreQuery) -> Located:
    """An empty file, or one without a turn in it, is no session (x10b, x10d, 16-kill-*-resume)."""
    projects, slug = _projects(query), _slug(query)  # 21a-cwd-odd, 21b-cwd-symlink
    emptied = None
    try:
        # The directory's own folder first.
        for folder in sorted(_folders(query, projects), key=lambda name: not _is_own(name, slug)):
            path = f"{projects}/{folder}/{query.session}.jsonl"
            if not os.path.isfile(path):
                continue
            talk = files.talk(path)
            if talk:
                return _reachable(query.version, path, talk, own=_is_own(folder, slug))
            emptied = path
    except OSError as error:
        return Located("unknown", detail=f"claude's session files cannot be read: {error}")
    if emptied:
        return Located("absent", emptied, detail="its file holds no turn of the conversation")
    return Located("absent", detail=f"claude has no such session in {projects}")


def _folders(query: StoreQuery, projects: str) -> list[str]:
    """Those that may hold the session: of many questions in a row each file's name is read once."""
    if query.learned is None:
        return files.names(projects)
    return files.once(query, projects, lambda: _by_session(projects)).get(query.session or "", [])


def _by_session(projects: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in files.below(projects, 1):
        found.setdefault(_stem(path), []).append(os.path.basename(os.path.dirname(path)))
    return found


def stored(query: StoreQuery, located: Located) -> Stored:
    return files.stored(_projects(query), located)


def laid(query: StoreQuery, old: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The lines' `cwd` may continue naming another directory (tried on 1.0.128 and 2.1.332)."""
    data = files.renamed(files.lone(pieces, rf"[^/]+/{old}\.jsonl").data, "sessionId", old, query.session or "")
    return (Piece(f"{files.dashes(query.cwd)[:_LONGEST]}/{query.session}.jsonl", data),)


def store(query: StoreQuery) -> Store:
    return files.store(query, root(query), "CLAUDE_CONFIG_DIR", ".claude")


def turns(data: bytes) -> Iterator[Turn]:
    return files.turns(data, _prompts)


def _prompts(record: dict[str, Any]) -> bool | None:
    """A tool's result, and what claude itself says, goes in as the person's words."""
    prompt = files.role(record)
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    if any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts):
        return False
    return prompt and not any(record.get(key) for key in ("isMeta", "isSidechain", "isCompactSummary"))


def ended(data: bytes) -> bool | None:
    return files.ended(data, _ends)


def _ends(record: dict[str, Any]) -> bool | None:
    """An interruption goes in as the person's words; what claude says in the model's place is no answer."""
    prompt, message = files.role(record), record.get("message")
    if prompt is None or not isinstance(message, dict) or record.get("isSidechain"):
        return None
    if prompt or message.get("model") == "<synthetic>":
        return False if prompt or record.get("isApiErrorMessage") else None
    return message.get("stop_reason") not in (None, "tool_use")


def created_since(query: StoreQuery) -> tuple[str, ...]:
    """By the first time in each file; agent-*.jsonl, empty files and lone summaries (1.0.128, 2.0.42) do not count."""
    try:
        return files.talks_since(_sessions(_projects(query), files.dashes(query.cwd)), query.cwd, query.since)
    except OSError:
        return ()


def _reachable(version: Version, path: str, talk: files.Talk, *, own: bool) -> Located:
    if own or version >= REPOSITORY:
        return Located("present", path, talk.cwd)
    owner = talk.cwd or os.path.basename(os.path.dirname(path))
    detail = f"it belongs to {owner}, and claude {dotted(version)} finds it only there"
    return Located("absent", path, talk.cwd, detail)


def root(query: StoreQuery) -> str:
    return files.home(query.env, "CLAUDE_CONFIG_DIR", ".claude")


def writer(query: StoreQuery) -> str | None:
    """By `sessions/<pid>.json`, which claude removes when it ends (2.1.332). A number that was given out again since
    belongs to a process that is younger than the file; one of another container says nothing here.
    """
    folder = os.path.join(root(query), "sessions")
    for name in files.names(folder) if os.access(folder, os.R_OK) else ():
        with suppress(OSError):
            told = next(files.records(f"{folder}/{name}"), {})
            if told.get("sessionId") == query.session and _lives(told):
                return f"claude, process {told['pid']},"
    return None


def _lives(told: dict[str, Any]) -> bool:
    pid, started, domain = told.get("pid"), told.get("startedAt"), str(told.get("pidDomain", ""))
    if type(pid) is not int or pid <= 0 or not isinstance(started, int | float):
        return False
    if "pid:[" in domain and not domain.endswith(_pid_namespace()):
        return False
    import psutil  # only where claude names the session

    try:
        process = psutil.Process(pid)
        # A killed one that nobody waits for, as in a container without an init, is there for ever, and writes nothing.
        return process.create_time() <= started / 1000 + 1 and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OverflowError):
        return False


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _slug(query: StoreQuery) -> str:
    return files.once(query, ("slug", query.cwd), lambda: files.dashes(query.cwd))


def _projects(query: StoreQuery) -> str:
    return os.path.join(root(query), "projects")


def _sessions(projects: str, slug: str) -> Iterator[str]:
    for folder in files.names(projects):
        for name in files.names(f"{projects}/{folder}") if _is_own(folder, slug) else ():
            if name.endswith(".jsonl") and files.UUID.fullmatch(_stem(name)):
                yield f"{projects}/{folder}/{name}"


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")


def _is_own(folder: str, slug: str) -> bool:
    return folder == slug or (len(slug) > _LONGEST and folder.startswith(f"{slug[:_LONGEST]}-"))
