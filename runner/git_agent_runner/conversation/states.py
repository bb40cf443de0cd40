"""Compare two states of one session: in the engine's store, and in the run directory's backup."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from git_agent_runner.context import timestamp
from git_agent_runner.conversation import place
from git_agent_runner.core.clock import moment
from git_agent_runner.engines.spec import Engine, Located, Stored, StoreQuery, Turn
from git_agent_runner.store.files import beneath
from git_agent_runner.store.session_copies import Copy, File

Relation = Literal["same", "ahead", "behind", "parted"]
Contents = Mapping[str, bytes]  # the last step of a file's name -> what it holds


class State(NamedTuple):
    """The number of messages of the person, and the time of the last message, in seconds."""

    turns: int
    last: float | None

    def __str__(self) -> str:
        when = f", the last of {timestamp(datetime.fromtimestamp(self.last, UTC))}" if self.last is not None else ""
        return f"{self.turns} turn{'' if self.turns == 1 else 's'}{when}"


class Behind(NamedTuple):
    """A state that lacks something that the backup has.

    `older`: it has nothing that the copy lacks. `has_last`: it has the copy's last message anyway.
    """

    state: State
    copy: State
    older: bool
    has_last: bool


def behind(engine: Engine, query: StoreQuery, located: Located, copy: Copy, folder: str) -> Behind | None:
    """How the store's state falls short of the backup. None if it is the same or newer, or if that is unknown."""
    try:
        if not copy.exported:
            stored = engine.stored(query, located) if engine.stored else Stored("", ())
            if continues(stored.root, {os.path.basename(name): name for name in stored.names}, copy):
                return None
        found = place.stored(engine, query)
        there = {os.path.basename(piece.name): piece.data for piece in found.pieces} if found else {}
        ours = contents(folder, copy)
    except (OSError, ValueError):
        return None
    return compare(engine, there, ours, copy, located.path) if there else None


def continues(root: str, names: Mapping[str, str], copy: Copy) -> bool:
    """Does each file below `root` begin with the content of its backup? Raises OSError."""
    found = ((names.get(os.path.basename(file.path)), file) for file in copy.files)
    return all(name is not None and _begins(root, name, file) for name, file in found)


def compare(engine: Engine, there: Contents, ours: Contents, copy: Copy, path: str | None = None) -> Behind | None:
    """`path` is where the state is, whose time counts where the messages have none."""
    if _goes_on(there, ours):
        return None
    theirs, own = turns(engine, there), turns(engine, ours)
    keys, known = Counter(turn.key for turn in theirs), Counter(turn.key for turn in own)
    earlier = _goes_on(ours, there)
    if not (known - keys or earlier):
        return None
    return Behind(
        state=_state(theirs, os.stat(path).st_mtime if path and os.path.exists(path) else None),
        copy=_state(own, moment(copy.saved_at)),
        older=earlier or not keys - known,
        has_last=bool(own) and own[-1].key in keys,
    )


def relation(engine: Engine, mine: Contents, theirs: Contents) -> Relation:
    """What the first state is to the second, by the messages that they hold."""
    keys, known = Counter(turn.key for turn in turns(engine, mine)), Counter(turn.key for turn in turns(engine, theirs))
    if keys == known:
        return "same"
    if not known - keys or _goes_on(mine, theirs):
        return "ahead"
    return "behind" if not keys - known or _goes_on(theirs, mine) else "parted"


def turns(engine: Engine, contents: Contents) -> list[Turn]:
    """In the order of the files, whose names begin with when they were made."""
    return [turn for name in sorted(contents) for turn in engine.turns(contents[name])]


def contents(folder: str, copy: Copy) -> dict[str, bytes]:
    """Raises OSError, and ValueError where the copy is damaged."""
    return {os.path.basename(piece.name): piece.data for piece in place.pieces(folder, copy)}


def _goes_on(later: Contents, earlier: Contents) -> bool:
    return all(later.get(name, b"").startswith(data) for name, data in earlier.items())


def _state(turns: list[Turn], saved: float | None) -> State:
    return State(sum(turn.prompt for turn in turns), max((turn.at for turn in turns if turn.at), default=saved))


def _begins(root: str, name: str, file: File) -> bool:
    from hashlib import sha256

    with beneath.opened(root, name) as source:
        facts = os.fstat(source)
        if (facts.st_size, facts.st_mtime_ns) == (file.size, file.modified):
            return True
        digest, left = sha256(), file.size
        while left > 0 and (block := os.read(source, min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    return left == 0 and digest.hexdigest() == file.sha256
