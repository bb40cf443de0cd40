"""Read the heads of engines' JSON-lines files: bounded, ordinary files only, torn lines skipped."""

from __future__ import annotations

import fcntl
import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from git_agent_extractors import ordinary
from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Store
from git_agent_runner.engines.spec import Stored, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from git_agent_runner.engines.spec import Located, Piece, StoreQuery

    Name = str | os.PathLike[str]

T = TypeVar("T")

# Upper case is another id to claude, and to codex to 0.98 (08c-resume-upper).
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WORDS = (None, "text", "input_text", "output_text")  # what parts that are words are called

HEAD = 4 * 1024 * 1024  # bytes; a first message with pictures in it is one long line


def records(path: Name, limit: int = HEAD, *, last: bool = False) -> Iterator[dict[str, Any]]:
    """The JSON objects of the first or `last` `limit` bytes, one a line. Raises OSError where it cannot be read."""
    with open(path, "rb", opener=ordinary.opened) as stream:
        left = limit
        if last:
            stream.seek(max(os.fstat(stream.fileno()).st_size - limit, 0))
        while left > 0 and (line := stream.readline(left)):
            left -= len(line)
            if record := parsed(line):
                yield record


def once(query: StoreQuery, key: object, ask: Callable[[], T]) -> T:
    """What `ask` finds; asked once where many questions come in a row."""
    if query.learned is None:
        return ask()
    if key not in query.learned:
        query.learned[key] = ask()
    found: T = query.learned[key]
    return found


def below(folder: str, depth: int) -> Iterator[str]:
    """The files that many folders below this one, the last names first. Raises OSError."""
    for name in reversed(names(folder)):
        if depth:
            yield from below(f"{folder}/{name}", depth - 1)
        else:
            yield f"{folder}/{name}"


class Talk(NamedTuple):
    """A session that holds at least one turn. `created` is in seconds since the epoch."""

    cwd: str | None
    created: float | None


def talk(file: Name) -> Talk | None:
    """Read a file of `user` and `assistant` records to the first of them, for its directory and the first time.

    A file whose first turn lies beyond the head that is read counts as holding one, too.
    """
    created = None
    for record in records(file):
        created = created or moment(record.get("timestamp"))
        if record.get("type") in ("user", "assistant"):
            return Talk(path(record.get("cwd")), created)
    return Talk(None, created) if os.stat(file).st_size > HEAD else None


def talks_since(paths: Iterable[str], cwd: str, since: float) -> tuple[str, ...]:
    """The stems of those files whose talk began in that directory at or after `since`, oldest first.

    What was made since was written since: only those files are opened. One that cannot be read hides no other.
    """
    made = []
    for path in paths:
        try:
            found = talk(path) if os.stat(path).st_mtime >= floor(since) else None
        except OSError:
            continue
        # Different directories can share one folder: `/a b` and `/a-b`.
        if found and same(found.cwd, cwd) and found.created is not None and found.created >= floor(since):
            made.append((found.created, os.path.basename(path).removesuffix(".jsonl")))
    return tuple(session for _, session in sorted(made))


def dashes(path: str) -> str:
    """The real path, every UTF-16 unit of it that is no ASCII letter or digit a dash: what engines name folders by."""
    real = os.path.realpath(path)
    return "".join(c if c.isascii() and c.isalnum() else "-" * (2 if ord(c) > 0xFFFF else 1) for c in real)


def stored(root: str, located: Located) -> Stored:
    """The one file of a session, which lies somewhere below `root`."""
    name = os.path.relpath(located.path, root) if located.state == "present" and located.path else ""
    return Stored(root, (name,) if name and not name.startswith("..") else ())


def lone(pieces: tuple[Piece, ...], shape: str) -> Piece:
    """The one file of a session. Raises ValueError where there are others, or its name is of no such shape."""
    if len(pieces) != 1 or not re.fullmatch(shape, pieces[0].name):
        raise ValueError(f"these are not the files of a session: {[piece.name for piece in pieces]}")
    return pieces[0]


def renamed(data: bytes, keys: str, old: str, new: str) -> bytes:
    """JSON in which the values of these keys that are the old id are the new one; the rest byte for byte."""
    return re.sub(rb'("(?:%b)"\s*:\s*)"%b"' % (keys.encode(), re.escape(old.encode())), rb'\1"%b"' % new.encode(), data)


def is_flocked(path: Name) -> bool:
    """Does a process hold a lock on the file? Asked shared, for a moment. No, where it cannot be opened."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # a file system without such locks
    finally:
        os.close(fd)
    return False


def store(query: StoreQuery, root: Name, variable: str, folder: str) -> Store:
    """The store at `root`. Where that is `folder` in the person's home it is the engine's own place, however named."""
    real = os.path.realpath(os.path.join(query.cwd, root))
    own = os.path.join(home(query.env, "HOME", ""), folder)
    return Store(real, None if same(real, own) else variable)


def turns(data: bytes, prompts: Callable[[dict[str, Any]], bool | None]) -> Iterator[Turn]:
    """The messages among the lines of a session file: those of which `prompts` says whether they are the person's.

    A message is the same in another directory, whose name `laid` may have changed in it.
    """
    from hashlib import sha256

    for line in data.splitlines():
        record = parsed(line)
        prompt = prompts(record)
        if prompt is not None:
            own = json.dumps({key: value for key, value in record.items() if key != "cwd"}, sort_keys=True)
            yield Turn(sha256(own.encode()).hexdigest(), prompt, moment(record.get("timestamp")), _said(record, prompt))


def _said(record: dict[str, Any], prompt: bool) -> str:
    """Nothing where it goes in as the person's words and is not: a tool's result."""
    holders = [record[key] for key in ("message", "payload", "data") if isinstance(record.get(key), dict)]
    holder: dict[str, Any] = holders[0] if holders else {}
    if not prompt and "user" in (record.get("type"), holder.get("role")):
        return ""
    return words(holder.get("content") or holder.get("parts") or record.get("message"))


def words(content: Any) -> str:
    """What a message says, as text or in parts."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    said = [part for part in parts if part.get("type") in _WORDS and not part.get("thought")]
    return "\n".join(part["text"] for part in said if isinstance(part.get("text"), str))


def ended(data: bytes, ends: Callable[[dict[str, Any]], bool | None]) -> bool | None:
    """What `ends` says of the last line that has to do with a turn: does it end one, or is one under way?"""
    return next((end for line in reversed(data.splitlines()) if (end := ends(parsed(line))) is not None), None)


def parsed(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; {} for anything else."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def role(record: dict[str, Any]) -> bool | None:
    """Of a line with a `type`: is it the person's, an agent's or a tool's, or no message at all?"""
    kind = record.get("type")
    return kind == "user" if kind in ("user", "assistant", "tool_result") else None


def names(folder: Name) -> list[str]:
    """What the folder holds, sorted; nothing where there is none. Raises OSError where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def home(env: Mapping[str, str], variable: str, folder: str) -> str:
    """The engine's own folder: where its variable says, else in the person's home."""
    return env.get(variable) or os.path.join(env.get("HOME") or os.path.expanduser("~"), folder)


def path(value: object) -> str | None:
    """A path that a store names; None for anything else, as what no file system can have."""
    try:
        return value if isinstance(value, str) and b"\0" not in os.fsencode(value) else None
    except UnicodeEncodeError:
        return None


def same(one: object, other: str) -> bool:
    """Do two paths name one directory, symbolic links resolved?"""
    named = path(one)
    return named is not None and os.path.realpath(named) == os.path.realpath(other)


def floor(seconds: float) -> float:
    """Engines cut their times to milliseconds; cut ours as well before comparing."""
    return int(seconds * 1000) / 1000
