"""Move a run's conversation along when its work tree was moved, or fork it when the repository was copied."""

from __future__ import annotations

import os
from typing import NamedTuple

from git_agent_extractors.model import Session
from git_agent_runner.context import Context
from git_agent_runner.conversation import place
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.conversation.seat import seat
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.core.text import command_line
from git_agent_runner.engines import wording
from git_agent_runner.engines.spec import Engine, StoreQuery, Version
from git_agent_runner.find import moved
from git_agent_runner.store.session_locks import directory_id, hold_session, ourselves, signed


class Carry(NamedTuple):
    """What must be done before the attempt. `record` is the run as it will be then, `source` where the session is
    now, `session` its id from then on. `original` is the common git directory of the repository that this one was
    copied from.
    """

    record: Record
    source: StoreQuery
    session: str
    original: str | None = None

    def why(self, did: str) -> str:
        """The reason, for people; `did` is "was" or "would be"."""
        engine, old = self.record.agent_name, self.source.session
        if self.original:
            return (
                f"session {old} belongs to the repository '{moved.top(self.original)}', of which this is a copy:"
                f" its copy {self.session} {did} made for this one"
            )
        return f"session {old} {did} put where {engine} looks for it in '{self.record.cwd}'"


def needed(
    ctx: Context, engine: Engine, version: Version, known: Record, record: Record, session: str | None
) -> Carry | None:
    """What has to be moved along, if anything. `known` is the record as stored, `record` the one to continue,
    `session` the id that the person gave.

    Raises UserError `repository_copied` and `directory_bound` where something would have to be, and cannot.
    """
    value = session or known.session.value or ""
    source = StoreQuery(ctx.environ, known.cwd, version, value)
    if session is None:
        copied = moved.original(known, ctx.layout.common_dir, lambda: signed(seat(ctx, known, engine, value).path))
        if copied:
            return _fork(ctx, engine, record, source, copied)
    same = known.worktree == record.worktree and os.path.isdir(known.cwd)
    if not known.cwd or (engine.elsewhere(version, same) and not _lost(engine, source, record)):
        return None
    located = engine.locate(source)
    named = located.cwd if engine.import_ else None  # in a store that all share, it decides; elsewhere, the place does
    if named and _is_strange(named, known, record):
        raise _bound(engine, record, value, named)
    there = os.path.realpath(named) == os.path.realpath(record.cwd) if named else known.cwd == record.cwd
    if there or not place.can(engine):
        return None
    carry = Carry(record, source, value)
    return carry if _bundle(ctx, engine, carry) else None


def perform(ctx: Context, engine: Engine, binary: str, carry: Carry) -> Record:
    """Do it, while the caller holds the run's lock; returns the record.

    Raises UserError `session_held`, `session_not_placed`.
    """
    record = carry.record
    holder = ourselves(ctx.layout, record, record.updated_at)
    with hold_session(seat(ctx, record, engine, carry.session), holder):
        try:
            _put(ctx, engine, binary, carry)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise UserError(
                f"{engine.name}'s session {carry.source.session} cannot be put where it looks for it in"
                f" '{record.cwd}': {reason}",
                code="session_not_placed",
                hints=(_fresh(record).removeprefix("or "),),
            ) from error
        now = ctx.runs.update(record.handle, lambda old: _following(old, record))
    return now._replace(branch=record.branch)


def _put(ctx: Context, engine: Engine, binary: str, carry: Carry) -> None:
    bundle = _bundle(ctx, engine, carry)
    if bundle is None:
        raise ValueError("it is gone")
    target = carry.source._replace(cwd=carry.record.cwd, session=carry.session)
    place.put(ctx, engine, binary, bundle, target)
    if engine.locate(target).state == "absent":
        raise ValueError(f"{engine.name} rejected it")


def _following(old: Record, new: Record) -> Record:
    return old._replace(
        session=new.session,
        parent_session=new.parent_session,
        worktree=new.worktree,
        worktree_id=new.worktree_id,
        cwd=new.cwd,
        common_dir=new.common_dir,
        common_dir_id=new.common_dir_id,
    )


def _fork(ctx: Context, engine: Engine, record: Record, source: StoreQuery, original: str) -> Carry:
    session = source.session or ""
    top = moved.top(original)
    there = f"cd {command_line((top,))}"
    refused = UserError(
        f"session {session} belongs to the repository '{top}', which this one was copied from, and cannot be copied",
        code="repository_copied",
        hints=(f"continue it there: {there} && {wording.resume(record)}", _fresh(record)),
    )
    try:
        new = place.another(session, _salt(ctx, record))
    except (OSError, ValueError):
        raise refused from None
    own = moved.at_home(record, ctx.layout.common_dir)
    carry = Carry(own._replace(session=Session(engine.field, new), parent_session=session), source, new, original)
    if place.can(engine) and _bundle(ctx, engine, carry):
        return carry
    raise refused


def _salt(ctx: Context, record: Record) -> str:
    """The same until the record is rewritten, so that what a dry run shows comes true, and the next copy gets
    another id."""
    changed = os.stat(ctx.layout.index_file(record.handle)).st_ctime_ns
    return f"{directory_id(ctx.layout.common_dir)} {changed}"


def _bundle(ctx: Context, engine: Engine, carry: Carry) -> Bundle | None:
    """The conversation to fork: as this repository's last attempt left it, not with what the original has added
    since."""
    run_id, source = carry.record.run_id, carry.source
    try:
        if carry.original:
            return place.copied(ctx, run_id, source.session or "") or place.stored(engine, source)
        return place.stored(engine, source) or place.copied(ctx, run_id, source.session or "")
    except (OSError, ValueError):
        return None


def _lost(engine: Engine, source: StoreQuery, record: Record) -> bool:
    """Does this store have nothing of the session either, for a run that continues in another directory: a new home?"""
    return source.cwd != record.cwd and engine.locate(source._replace(cwd=record.cwd)).state == "absent"


def _is_strange(home: str, known: Record, record: Record) -> bool:
    """Does the session's directory exist, and is it neither the run's current nor its earlier one?"""
    ours = {os.path.realpath(known.cwd), os.path.realpath(record.cwd)}
    return os.path.isdir(home) and os.path.realpath(home) not in ours


def _bound(engine: Engine, record: Record, session: str, home: str) -> UserError:
    there = wording.resume(record, "--cwd", command_line((home,)))
    return UserError(
        f"{engine.name} has session {session} under '{home}', not under the run's directory '{record.cwd}'",
        code="directory_bound",
        hints=(f"to continue it there: {there}", _fresh(record)),
    )


def _fresh(record: Record) -> str:
    return f'or start a new session in the same run: git agent resume {record.handle} --fallback fresh "<message>"'
