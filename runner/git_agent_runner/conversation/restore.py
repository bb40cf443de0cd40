"""Restore the run's backup of a session when the engine's store lacks it or has an earlier state."""

from __future__ import annotations

import os
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.conversation import backup, place, states
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record, Store
from git_agent_runner.engines.spec import Engine, Located, Piece, StoreQuery
from git_agent_runner.store import session_copies
from git_agent_runner.store.files import beneath
from git_agent_runner.store.session_copies import Copy


class Restore(NamedTuple):
    """What is to be restored. `behind`: the store has an earlier state; None if it has nothing of the session.
    `left` is the store that the run's session was in, if that is another one.
    """

    copy: Copy
    query: StoreQuery
    behind: states.Behind | None = None
    left: Store | None = None

    def why(self, engine: str, has: str) -> str:
        """The reason, for people; `has` is the verb, in present or past tense."""
        session = self.copy.session
        if self.behind:
            both = f"{self.behind.state}; the run's: {self.behind.copy}"
            return f"{engine} {has} session {session} in an earlier state ({both})"
        if self.left:
            return f"{engine} {has} no session {session} here; the run's was in '{self.left.root}'"
        return f"{engine} {has} lost session {session}"

    @property
    def where(self) -> str:
        return "put in its place" if self.behind else "put here" if self.left else "restored"


def find(ctx: Context, engine: Engine, query: StoreQuery, run_id: str) -> Copy | None:
    """The run's backup of a session that the engine's store lacks, if it can be restored.

    A copy that was made for another directory is none: engines keep sessions of directories apart.
    """
    copy = session_copies.read(ctx.layout, run_id, query.session or "")
    if copy is None or copy.cwd != query.cwd or not fits(engine, query, copy):
        return None
    return copy if copy.exported or _lacks(engine, query, copy) else None


def fits(engine: Engine, query: StoreQuery, copy: Copy) -> bool:
    """Do the backup's files belong to this session and no other? A manifest may have been tampered with."""
    if copy.engine != engine.name:
        return False
    return len(copy.files) == 1 if copy.exported and engine.import_ else bool(_names(engine, query, copy))


def _names(engine: Engine, query: StoreQuery, copy: Copy) -> tuple[str, ...]:
    """Where its files belong; empty if they are not all of the session."""
    files = tuple(Piece(file.path, b"") for file in copy.files)
    try:
        return tuple(piece.name for piece in place.laid(engine, query, Bundle(copy.session, files)))
    except ValueError:
        return ()


def in_the_way(ctx: Context, query: StoreQuery, located: Located, run_id: str) -> tuple[str, ...]:
    """A hint that a backup could replace the existing file, which we leave alone."""
    session = query.session or ""
    if located.path is None or session_copies.read(ctx.layout, run_id, session) is None:
        return ()
    folder = session_copies.place(ctx.layout, run_id, session)
    return (f"a backup is in '{folder}'; move '{located.path}' away, and it will be restored",)


def put_back(ctx: Context, engine: Engine, binary: str, restore: Restore, record: Record) -> None:
    """Restore the session from the backup. The caller holds the session's lock.

    What is there is left alone, but for an earlier state of the same conversation, of which a copy is made first.
    Raises UserError `session_missing`, `session_behind`.
    """
    copy = restore.copy
    folder = session_copies.place(ctx.layout, record.run_id, copy.session)
    try:
        earlier = _set_aside(ctx, engine, restore, record.run_id) if restore.behind else ()
        place.put(ctx, engine, binary, Bundle(copy.session, place.pieces(folder, copy)), restore.query, earlier)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        gone = f"{engine.name} has an earlier state of session {copy.session}"
        if restore.behind is None:
            gone = f"session {copy.session} is missing from {engine.name}'s store"
        raise UserError(
            f"{gone}, and its backup cannot be restored: {reason}",
            code="session_behind" if restore.behind else "session_missing",
            hints=(f"the backup is in '{folder}'",),
        ) from error


def _set_aside(ctx: Context, engine: Engine, restore: Restore, run_id: str) -> tuple[Piece, ...]:
    """Back up the store's earlier state into the run directory. Raises OSError, and ValueError if it has changed."""
    query, session = restore.query, restore.copy.session
    located = engine.locate(query)
    folder = session_copies.place(ctx.layout, run_id, session)
    state = states.behind(engine, query, located, restore.copy, folder) if located.state == "present" else None
    if state is None or not state.older:
        raise ValueError("another process has continued it meanwhile")
    with beneath.folder(ctx.layout.run(run_id), session_copies.steps(session)) as fd:
        earlier = backup.taken(fd, engine, query, located, None, restore.copy.engine_version)
        if earlier is None:
            raise ValueError("what is there cannot be copied")
        session_copies.write_in(fd, earlier, session_copies.REPLACED)
    return place.pieces(folder, earlier)


def _lacks(engine: Engine, query: StoreQuery, copy: Copy) -> bool:
    """Is any file of the backup missing in the store? An emptied file counts as present."""
    root = engine.stored(query, Located("absent")).root if engine.stored else ""
    return not all(os.path.lexists(os.path.join(root, name)) for name in _names(engine, query, copy))
