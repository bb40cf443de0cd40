"""Put a conversation where an engine looks for it: for another directory, in another home, or under another id.

Nothing in a store is overwritten but an earlier state of the same conversation.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.engines.spec import Engine, Launch, Located, Piece, Stored, StoreQuery
from git_agent_runner.store import session_copies
from git_agent_runner.store.files import beneath
from git_agent_runner.store.session_copies import Copy, File

DOCUMENT = "session.json"  # the name of a document, which has no place
LIMIT = 64 << 20  # bytes of one session
_PATIENCE = 120.0  # seconds for an engine to import a session
_ABSENT = Located("absent")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Bundle(NamedTuple):
    """A conversation out of a store: its files, named as there, or the one document that its engine imports."""

    session: str
    pieces: tuple[Piece, ...]


def can(engine: Engine) -> bool:
    return engine.laid is not None


def stored(engine: Engine, query: StoreQuery) -> Bundle | None:
    """The session as the engine's store has it for that directory. Raises OSError and ValueError."""
    located = engine.locate(query)
    session = query.session or ""
    if located.state != "present":
        return None
    if engine.export:
        document = engine.export(query)
        return Bundle(session, (Piece(DOCUMENT, document),)) if document else None
    found = engine.stored(query, located) if engine.stored else Stored("", ())
    pieces = tuple(Piece(name, _read(found.root, name)) for name in found.names)
    return Bundle(session, pieces) if pieces else None


def copied(ctx: Context, run_id: str, session: str) -> Bundle | None:
    """The session as it was when the run's last attempt ended. Raises OSError and ValueError."""
    copy = session_copies.read(ctx.layout, run_id, session)
    if copy is None:
        return None
    return Bundle(session, pieces(session_copies.place(ctx.layout, run_id, session), copy))


def pieces(folder: str, copy: Copy) -> tuple[Piece, ...]:
    """What a copy in that folder holds. Raises OSError, and ValueError where it is damaged."""
    return tuple(Piece(file.path, _whole(folder, file)) for file in copy.files)


def laid(engine: Engine, query: StoreQuery, bundle: Bundle) -> tuple[Piece, ...]:
    """The pieces, adapted to that directory and id. Raises ValueError for those that are not the session's own."""
    if engine.laid:
        return engine.laid(query, bundle.session, bundle.pieces)
    strange = [piece.name for piece in bundle.pieces if not (engine.owns and engine.owns(query, piece.name))]
    if strange or query.session != bundle.session:
        raise ValueError(f"it is not known where {engine.name} looks for this session")
    return bundle.pieces


def put(
    ctx: Context,
    engine: Engine,
    binary: str,
    bundle: Bundle,
    query: StoreQuery,
    earlier: tuple[Piece, ...] = (),
) -> None:
    """Put the conversation where the engine finds it as session `query.session`, for the directory `query.cwd`.
    Existing files that are `earlier` states of it are replaced, in whatever folder they are.

    Raises OSError, and ValueError where something else is in its place or the engine does not take it.
    """
    pieces = laid(engine, query, bundle)
    if engine.import_:
        (document,) = pieces
        if query.session == bundle.session or engine.locate(query).state != "present":
            _import(ctx, engine, Launch(binary, query.version, (), None, query.session, query.cwd, query.cwd), document)
        return
    assert engine.stored is not None  # where files are laid, they are known
    root = engine.stored(query, _ABSENT).root
    known = {os.path.basename(old.name): old for old in earlier}
    for piece in pieces:
        old = known.get(os.path.basename(piece.name))
        _put(root, piece._replace(name=old.name) if old else piece, old.data if old else None)


def another(session: str, salt: str) -> str:
    """Another id of the same shape, always the same for the same salt, so that an interrupted copy is found again.

    What such an id tells of its time stays. Raises ValueError for an unknown shape.
    """
    from hashlib import sha256

    digest = sha256(f"{session}\0{salt}".encode(errors="surrogateescape"))
    if found := _UUID.fullmatch(session):
        new = digest.hexdigest()
        head = session[:13] if found[1] == "7" else f"{new[40:48]}-{new[48:52]}"
        return f"{head}-{found[1]}{new[:3]}-{'89ab'[int(new[3], 16) % 4]}{new[4:7]}-{new[7:19]}"
    if re.fullmatch(r"[a-z]{3}_[0-9A-Za-z]{26}", session):
        number = int.from_bytes(digest.digest())
        return session[:16] + "".join(_LETTERS[number // 62**place % 62] for place in range(14))
    raise ValueError(f"what another id than {session!a} may be is not known")


def continues(new: bytes, old: bytes) -> bool:
    """Is the second the same conversation, or an earlier state of it? Files grow at their end, or are one object."""
    if new.startswith(old):
        return True
    try:
        before, after = json.loads(old)["messages"], json.loads(new)["messages"]
        return bool(before == after[: len(before)])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _put(root: str, piece: Piece, earlier: bytes | None) -> None:
    *above, name = beneath.parts(piece.name)
    atomic.make_dir(root)
    with beneath.folder(root, above, make=True) as fd:
        for old in _there(fd, name):
            if continues(old, piece.data):
                return
            if old != earlier and not continues(piece.data, old):
                raise ValueError(f"another conversation is already there: '{os.path.join(root, piece.name)}'")
        beneath.put(piece.data, fd, name)


def _there(fd: int, name: str) -> Iterator[bytes]:
    with suppress(FileNotFoundError), beneath.opened_in(fd, name) as file:
        yield _all(file)


def _read(root: str, name: str) -> bytes:
    with beneath.opened(root, name) as file:
        return _all(file)


def _all(file: int) -> bytes:
    size = os.fstat(file).st_size
    if size > LIMIT:
        raise ValueError(f"the session is larger than {LIMIT >> 20} MiB")
    with open(file, "rb", closefd=False) as stream:
        return stream.read(LIMIT)


def _whole(folder: str, file: File) -> bytes:
    from hashlib import sha256

    data = _read(folder, file.sha256)
    if sha256(data).hexdigest() != file.sha256:
        raise ValueError("it is damaged")
    return data


def _import(ctx: Context, engine: Engine, launch: Launch, document: Piece) -> None:
    """Run the engine's import, which continues no conversation. Raises ValueError with what it says where it fails."""
    import tempfile  # costs 5 ms

    from git_agent_runner.git import scrubbed
    from git_agent_runner.process.lifetime import Limits
    from git_agent_runner.process.spawn import run

    assert engine.import_ is not None
    query = StoreQuery(ctx.environ, launch.cwd, launch.version, launch.session)
    if engine.importable and not engine.importable(query, document.data):
        raise ValueError("it holds other sessions, too")
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(document.data)
        file.flush()
        invocation = engine.import_(launch, file.name)
        env = scrubbed(ctx.environ) | {"PWD": invocation.cwd}
        said = bytearray()
        outcome = run(invocation, env, said.extend, said.extend, Limits(_PATIENCE))
    if outcome.exit_status != 0:
        text = " ".join(said.decode(errors="replace").split())
        raise ValueError(f"{engine.name} would not import it: {text[-300:] or 'it printed nothing'}")
