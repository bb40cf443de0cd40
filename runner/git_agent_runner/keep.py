"""The engine's own session, kept: copied after each attempt, put back where the engine has lost it."""

from __future__ import annotations

import os
from contextlib import suppress

from git_agent_runner import steps
from git_agent_runner.context import Context, timestamp
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import Engine, Launch, Located, Stored, StoreQuery, Version
from git_agent_runner.errors import UserError
from git_agent_runner.model import Attempt
from git_agent_runner.store import atomic, beneath, copies
from git_agent_runner.store.copies import Copy, File

LIMIT = 64 << 20  # bytes of one session
_PATIENCE = 120.0  # seconds for an engine to import a session
_DOCUMENT = "session.json"
ABSENT = Located("absent")


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


def find(ctx: Context, engine: Engine, query: StoreQuery, run_id: str) -> Copy | None:
    """The run's copy of a session that the engine's store lacks, if it can stand where it stood.

    A copy that was made for another directory is none: engines keep sessions of directories apart.
    """
    copy = copies.read(ctx.layout, run_id, query.session or "")
    if copy is None or (copy.engine, copy.cwd) != (engine.name, query.cwd):
        return None
    if copy.exported:
        return copy if engine.import_ else None
    stored = engine.stored(query, ABSENT) if engine.stored else None
    # A manifest that somebody tampered with cannot make files of any other name.
    ours = all(copy.session[:8] in file.path for file in copy.files)
    return copy if stored and ours and _missing(stored, copy) else None


def in_the_way(ctx: Context, query: StoreQuery, located: Located, run_id: str) -> tuple[str, ...]:
    """The hint that a copy could take the place of what stands there, which we leave alone."""
    session = query.session or ""
    if located.path is None or located.archived or copies.read(ctx.layout, run_id, session) is None:
        return ()
    folder = copies.place(ctx.layout, run_id, session)
    return (f"a copy is in '{folder}'; move '{located.path}' away, and it is put back",)


def put_back(ctx: Context, engine: Engine, program: tuple[str, Version], copy: Copy, run_id: str) -> None:
    """Let the store of the engine, whose binary and version are `program`, have the session again.

    Nothing that stands there is touched. Raises UserError `session_missing`.
    """
    binary, version = program
    folder = copies.place(ctx.layout, run_id, copy.session)
    try:
        if copy.exported:
            launch = Launch(binary, version, (), None, copy.session, copy.cwd, copy.session_cwd)
            _import(ctx, engine, launch, copy, folder)
        else:
            query = StoreQuery(ctx.environ, copy.cwd, version, copy.session)
            _put_files(engine, query, copy, folder)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(
            f"session {copy.session} is gone from {engine.name}'s store, and its copy cannot be put back: {reason}",
            code="session_missing",
            hints=(f"the copy is in '{folder}'",),
        ) from error


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


def _missing(stored: Stored, copy: Copy) -> list[File]:
    return [file for file in copy.files if not os.path.lexists(os.path.join(stored.root, file.path))]


def _put_files(engine: Engine, query: StoreQuery, copy: Copy, folder: str) -> None:
    assert engine.stored is not None  # `find` saw to it
    stored = engine.stored(query, ABSENT)
    atomic.make_dir(stored.root)
    for file in _missing(stored, copy):
        *above, name = beneath.parts(file.path)
        with beneath.folder(stored.root, above, make=True) as fd, beneath.opened(folder, file.sha256) as source:
            temporary = beneath.temporary_name()
            try:
                _check(beneath.copy(source, fd, temporary).sha256, file)
                with suppress(FileExistsError):  # somebody was faster: what stands there is left alone
                    os.link(temporary, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=fd)


def _check(sha256: str, file: File) -> None:
    if sha256 != file.sha256:
        raise ValueError("it is damaged")


def _import(ctx: Context, engine: Engine, launch: Launch, copy: Copy, folder: str) -> None:
    """Run the engine's import, which goes on no conversation. Raises ValueError with what it says where it fails."""
    from hashlib import sha256

    from git_agent_runner.git import scrubbed
    from git_agent_runner.supervise.spawn import run
    from git_agent_runner.supervise.watch import Limits

    assert engine.import_ is not None  # `find` saw to it
    (file,) = copy.files
    with beneath.opened(folder, file.sha256) as source, open(source, "rb", closefd=False) as stream:
        _check(sha256(stream.read()).hexdigest(), file)
    invocation = engine.import_(launch, os.path.join(folder, file.sha256))
    env = scrubbed(ctx.environ) | {"PWD": invocation.cwd}
    said = bytearray()
    outcome = run(invocation, env, said.extend, said.extend, Limits(_PATIENCE))
    if outcome.exit_status != 0:
        text = " ".join(said.decode(errors="replace").split())
        raise ValueError(f"{engine.name} would not import it: {text[-300:] or 'it said nothing'}")
