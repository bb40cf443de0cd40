"""Back up the engine's session file after each attempt; restore it if the engine lost it."""

from __future__ import annotations

import os

from git_agent_runner.context import Context, timestamp
from git_agent_runner.conversation import place, states
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.core import checkpoints
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.engines import asking, load
from git_agent_runner.engines.spec import Engine, Located, Piece, Stored, StoreQuery
from git_agent_runner.store import session_copies
from git_agent_runner.store.files import beneath
from git_agent_runner.store.session_copies import Copy, File


def keep(ctx: Context, attempt: Attempt) -> None:
    """Back up the session of an attempt that has ended, in its run directory.

    A copy that is there already is replaced, as a whole, by a continuation of it only: one that parted ways is added,
    and an earlier state is nothing new.

    Nothing is done where the engine's store does not have the session, or is not known to. Raises UserError
    `copy_failed`; the copy of before then stands.
    """
    session = attempt.session.value
    if session is None:
        return
    engine = load(attempt.agent_name, ctx.environ)
    query = StoreQuery(ctx.environ, attempt.cwd, engine.parse_version(attempt.engine_version) or (), session)
    located = asking.locate(engine, query, attempt.launch_args, attempt.store)
    if located.state != "present":
        return
    try:
        _keep(ctx, engine, query, located, attempt)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{engine.name}'s session could not be backed up: {reason}", code="copy_failed") from error


def _keep(ctx: Context, engine: Engine, query: StoreQuery, located: Located, attempt: Attempt) -> None:
    session = query.session or ""
    folder = session_copies.place(ctx.layout, attempt.run_id, session)
    with beneath.folder(ctx.layout.run(attempt.run_id), session_copies.steps(session), make=True) as fd:
        checkpoints.at("copy-begun")
        old = session_copies.read_in(fd, session)
        new = taken(fd, engine, query, located, old, attempt.engine_version)
        if not new or (old and new.files == old.files):
            return
        checkpoints.at("copy-made")
        state = old and _behind(engine, folder, new, old)
        if old and state and state.older:
            session_copies.sweep(fd, session)
            return
        if old and state:
            session_copies.set_apart(fd, old)
        session_copies.write_in(fd, new)


def held(ctx: Context, engine: Engine, record: Record) -> states.Contents:
    """What the engine's store has of the run's session, else what our copy has of it; nothing where neither has any.

    Raises UserError `copy_failed` where it cannot be read.
    """
    session = record.session.value or ""
    query = StoreQuery(ctx.environ, record.cwd, engine.parse_version(record.engine_version) or (), session)
    try:
        found = place.stored(engine, query) or place.copied(ctx, record.run_id, session)
    except (OSError, ValueError) as error:
        raise UserError(f"{engine.name}'s session {session} cannot be read: {error}", code="copy_failed") from error
    return {os.path.basename(piece.name): piece.data for piece in found.pieces} if found else {}


def take_in(ctx: Context, engine: Engine, record: Record, version: str, bundle: Bundle) -> None:
    """Let the run's copy be this state of its session, which another machine has come to. Raises UserError
    `copy_failed`.

    What was copied here before, and is not part of it, is set apart.
    """
    session = bundle.session
    folder = session_copies.place(ctx.layout, record.run_id, session)
    new = {os.path.basename(piece.name): piece.data for piece in bundle.pieces}
    try:
        with beneath.folder(ctx.layout.run(record.run_id), session_copies.steps(session), make=True) as fd:
            old = session_copies.read_in(fd, session)
            if old and states.relation(engine, states.contents(folder, old), new) in ("ahead", "parted"):
                session_copies.set_apart(fd, old)
            files = tuple(_put(fd, piece) for piece in bundle.pieces)
            exported = engine.import_ is not None
            saved = Copy(engine.name, version, session, record.cwd, record.cwd, timestamp(), files, exported)
            session_copies.write_in(fd, saved)
    except (OSError, ValueError) as error:
        raise UserError(f"the conversation cannot be stored: {error}", code="copy_failed") from error


def _put(fd: int, piece: Piece) -> File:
    from hashlib import sha256

    name = sha256(piece.data).hexdigest()
    beneath.put(piece.data, fd, name)
    return File(piece.name, len(piece.data), 0, name)


def taken(fd: int, engine: Engine, query: StoreQuery, located: Located, old: Copy | None, version: str) -> Copy | None:
    """Copy what the engine's store has of the session into the folder; no manifest names it yet."""
    document = engine.export(query) if engine.export else None
    if document is not None:
        files = _add_document(fd, engine, document)
    else:
        files = _add_files(fd, engine, engine.stored(query, located), old) if engine.stored else ()
    if not files:
        return None
    return Copy(
        engine=engine.name,
        engine_version=version,
        session=query.session or "",
        cwd=query.cwd,
        session_cwd=located.cwd,
        saved_at=timestamp(),
        files=files,
        exported=document is not None,
    )


def _behind(engine: Engine, folder: str, new: Copy, old: Copy) -> states.Behind | None:
    """How the new backup falls short of the old one; None if it continues it, or the old one is damaged."""
    try:
        if states.continues(folder, {os.path.basename(file.path): file.sha256 for file in new.files}, old):
            return None
        return states.compare(engine, states.contents(folder, new), states.contents(folder, old), old)
    except (OSError, ValueError):
        return None


def _add_document(fd: int, engine: Engine, document: bytes) -> tuple[File, ...]:
    if _too_large(fd, engine, len(document)):
        return ()
    return (_put(fd, Piece(place.DOCUMENT, document)),)


def _add_files(fd: int, engine: Engine, stored: Stored, old: Copy | None) -> tuple[File, ...]:
    known = {(file.path, file.size, file.modified): file for file in (old.files if old else ())}
    sizes = (os.stat(os.path.join(stored.root, name), follow_symlinks=False).st_size for name in stored.names)
    return (
        () if _too_large(fd, engine, sum(sizes)) else tuple(_add(fd, stored.root, name, known) for name in stored.names)
    )


def _add(fd: int, root: str, name: str, known: dict[tuple[str, int, int], File]) -> File:
    with beneath.opened(root, name) as source:
        facts = os.fstat(source)
        unchanged = known.get((name, facts.st_size, facts.st_mtime_ns))
        if unchanged:
            return unchanged
        written = session_copies.add(fd, source)
        return File(name, written.size, facts.st_mtime_ns, written.sha256)


def _too_large(fd: int, engine: Engine, size: int) -> bool:
    """Raises UserError `copy_failed` the first time only, so that it is reported once."""
    if size <= place.LIMIT:
        return False
    if session_copies.TOO_LARGE not in os.listdir(fd):
        beneath.put(b"", fd, session_copies.TOO_LARGE)
        raise UserError(
            f"{engine.name}'s session is larger than {place.LIMIT >> 20} MiB, so it is no longer backed up",
            code="copy_failed",
        )
    return True
