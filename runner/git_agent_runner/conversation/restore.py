"""A session that its engine has lost, put back into the engine's store from the copy in the run directory."""

from __future__ import annotations

import os
from contextlib import suppress

from git_agent_runner.context import Context
from git_agent_runner.engines.spec import Engine, Launch, Located, Stored, StoreQuery, Version
from git_agent_runner.errors import UserError
from git_agent_runner.store import atomic, beneath, copies
from git_agent_runner.store.copies import Copy, File

_PATIENCE = 120.0  # seconds for an engine to import a session
ABSENT = Located("absent")


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
