"""The engine's own session, copied into the run directory after each attempt."""

from __future__ import annotations

import os

from git_agent_runner import steps
from git_agent_runner.context import Context, timestamp
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import Engine, Located, Stored, StoreQuery
from git_agent_runner.errors import UserError
from git_agent_runner.model import Attempt
from git_agent_runner.store import beneath, copies
from git_agent_runner.store.copies import Copy, File

LIMIT = 64 << 20  # bytes of one session
_DOCUMENT = "session.json"


def keep(ctx: Context, attempt: Attempt) -> None:
    """Copy the session of an attempt that has ended into its run directory. A copy that stands is replaced as a whole.

    Nothing is done where the engine's store does not have the session, or is not known to. Raises UserError
    `copy_failed`; the copy of before then stands.
    """
    session = attempt.session.value
    if session is None:
        return
    engine = load(attempt.agent_name, ctx.environ)
    query = StoreQuery(ctx.environ, attempt.cwd, engine.parse_version(attempt.engine_version) or (), session)
    located = engine.locate(query)
    if located.state != "present":
        return
    try:
        _keep(ctx, engine, query, located, attempt)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{engine.name}'s session could not be copied: {reason}", code="copy_failed") from error


def _keep(ctx: Context, engine: Engine, query: StoreQuery, located: Located, attempt: Attempt) -> None:
    session = query.session or ""
    with beneath.folder(ctx.layout.run(attempt.run_id), copies.steps(session), make=True) as fd:
        steps.at("copy-begun")
        old = copies.read_in(fd, session)
        document = engine.export(query) if engine.export else None
        if document is not None:
            files = _add_document(fd, engine, document)
        else:
            files = _add_files(fd, engine, engine.stored(query, located), old) if engine.stored else ()
        if files and (old is None or files != old.files):
            steps.at("copy-made")
            copies.write_in(
                fd,
                Copy(
                    engine=engine.name,
                    engine_version=attempt.engine_version,
                    session=session,
                    cwd=query.cwd,
                    session_cwd=located.cwd,
                    saved_at=timestamp(),
                    files=files,
                    exported=document is not None,
                ),
            )


def _add_document(fd: int, engine: Engine, document: bytes) -> tuple[File, ...]:
    from hashlib import sha256

    if _too_large(fd, engine, len(document)):
        return ()
    name = sha256(document).hexdigest()
    beneath.put(document, fd, name)
    return (File(_DOCUMENT, len(document), 0, name),)


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
        written = copies.add(fd, source)
        return File(name, written.size, facts.st_mtime_ns, written.sha256)


def _too_large(fd: int, engine: Engine, size: int) -> bool:
    """Raises UserError `copy_failed` the first time, so that it is said once."""
    if size <= LIMIT:
        return False
    if copies.TOO_LARGE not in os.listdir(fd):
        beneath.put(b"", fd, copies.TOO_LARGE)
        raise UserError(
            f"{engine.name}'s session is larger than {LIMIT >> 20} MiB, so it is not copied any more",
            code="copy_failed",
        )
    return True
