"""Fork a conversation, as it is or as it was, under a new id, for the branch that is checked out here.

The first is only read. The second is a run of its own.
"""

from __future__ import annotations

import os
import secrets
from typing import NamedTuple

from git_agent_extractors.model import Session
from git_agent_runner.context import Context, find_program, timestamp
from git_agent_runner.conversation import formats, hand_over, place, whole
from git_agent_runner.conversation.handing import Handed
from git_agent_runner.conversation.messages import Message
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.conversation.seat import seat
from git_agent_runner.conversation.session import Sought, refuse_entering, value_and_use
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.engines import arguments, asking, load
from git_agent_runner.engines.probe import Probe
from git_agent_runner.engines.refuse import check_version, merged_args
from git_agent_runner.engines.spec import Engine, StoreQuery, dotted
from git_agent_runner.find import moved
from git_agent_runner.git import in_repo, refs, trees
from git_agent_runner.store.records import attempts
from git_agent_runner.store.session_locks import hold_session, ourselves


class Fork(NamedTuple):
    """A run to be made, with `turns` messages of the person's. `record` has no handle yet.

    The conversation is `bundle`, of the same engine, or `handed`, for another one, made of `messages`. `earlier` says
    that the first one is running, and is taken as its last attempt left it.
    """

    old: Record
    record: Record
    binary: str
    turns: int
    bundle: Bundle | None
    handed: Handed | None
    messages: tuple[Message, ...]
    earlier: bool

    def why(self, did: str) -> str:
        """The reason, for people; `did` is "was" or "would be"."""
        old, new = self.old, self.record
        turns = f"{self.turns} turn{'s' * (self.turns != 1)}"
        digested = f", {self.handed.digested} of them as a digest" if self.handed and self.handed.digested else ""
        state = ", as its last attempt left it" if self.earlier else ""
        return (
            f"{old.agent_name} session {old.session.value} of run {old.handle}{state} {did} forked as"
            f" {new.agent_name} session {new.session.value} ({turns}{digested})"
        )


def prepare(ctx: Context, old: Record, name: str | None, until: float | None, given: tuple[str, ...]) -> Fork:
    """Plan the fork of a run, in its own engine or the named one, with the turns that began by `until`; `given` are
    flags for it.

    Nothing is written. Raises UserError `session_unknown`, `session_missing`, `handover_unsupported`, ….
    """
    engine, theirs = load(name or old.agent_name, ctx.environ), load(old.agent_name, ctx.environ)
    form = formats.form(theirs)
    value, busy = value_and_use(ctx, old, theirs)
    messages = whole.earlier(ctx, old, value, until)
    same = engine.name == theirs.name and messages is None
    program = _able(ctx, engine) if same else hand_over.able(ctx, engine)
    bundle = whole.source(ctx, theirs, old, value, copied=busy)
    if until is not None:
        cut = (form.cut(piece, until) for piece in bundle.pieces)
        bundle = Bundle(value, tuple(piece for piece in cut if piece.data))
    record = _record(ctx, old, engine, program, given)
    hand_over.refuse_elsewhere(engine, record.launch_args)
    if same:
        _refuse_entering(ctx, old, theirs, record, program)
        turns = _counted(form.read(bundle.pieces), value)
        session = Session(engine.field, place.another(value, secrets.token_hex()))
        return Fork(old, record._replace(session=session), program.binary, turns, bundle, None, (), busy)
    messages = whole.read(ctx, theirs, old, bundle) if messages is None else messages
    turns = _counted(messages, value)
    handed = hand_over.prepared(ctx, messages, theirs, engine)
    hand_over.model(engine, StoreQuery(ctx.environ, record.cwd, program.version), record.launch_args)
    session = hand_over.session_id(engine, handed, secrets.token_hex())
    return Fork(old, record._replace(session=session), program.binary, turns, None, handed, messages, busy)


def _able(ctx: Context, engine: Engine) -> Probe:
    program = find_program(ctx, engine)
    check_version(engine, program.version)
    return program


def _record(ctx: Context, old: Record, engine: Engine, program: Probe, given: tuple[str, ...]) -> Record:
    """The new run's record: on this branch, in the same folder of this work tree if it exists here."""
    below = os.path.relpath(old.cwd, old.worktree) if old.cwd and old.worktree else "."
    there = os.path.normpath(os.path.join(ctx.repo.top, below))
    cwd = there if not below.startswith("..") and os.path.isdir(there) else ctx.repo.top
    same = engine.name == old.agent_name
    own = old.launch_args if same else hand_over.launch_args(ctx, engine, program.version, old)
    args = arguments.launch_args(engine.options, merged_args(engine, program, own, given, resuming=True))
    query = StoreQuery(ctx.environ, cwd, program.version)
    record = Record(
        handle="",
        run_id="",
        run_directory="",
        agent_name=engine.name,
        launch_args=args,
        updated_at=timestamp(),
        branch=ctx.repo.branch or refs.busy_branch(ctx.repo.git_dir),
        worktree=ctx.repo.top,
        worktree_id=trees.here(ctx.repo),
        cwd=cwd,
        start_commit=ctx.repo.head,
        attempts=1,
        created_at=timestamp(),
        host=os.uname().nodename,
        engine_version=dotted(program.version),
        parent_session=old.session.value,
        store=asking.store(engine, query, args),
        forked_from=old.handle,
    )
    return moved.at_home(record, ctx.layout.common_dir)


def _refuse_entering(ctx: Context, old: Record, engine: Engine, record: Record, program: Probe) -> None:
    """Raises UserError `store_elsewhere` if the copy would go into a store that may be another account's."""
    query = StoreQuery(ctx.environ, record.cwd, program.version, old.session.value)
    refuse_entering(engine, Sought(old, query, record.launch_args))


def _counted(messages: tuple[Message, ...], session: str) -> int:
    """How many messages are the person's. Raises UserError `conversation_empty`."""
    turns = sum(message.user for message in messages)
    if not turns:
        raise UserError(
            f"session {session} had no turn yet at that commit",
            code="conversation_empty",
            hints=('to start a new conversation: git agent start "<prompt>"',),
        )
    return turns


def until_commit(ctx: Context, old: Record, commit: str) -> float:
    """The time at which the conversation was as it was for this commit: the end of the attempt that made it, else
    the commit's own."""
    found, _ = attempts.readable(ctx.layout, old.run_id)
    made = next((one for one in found if one.ended_at and _made(ctx, one, commit)), None)
    ended = moment(made.ended_at) if made else None
    # Git's times are whole seconds.
    return ended or 1 + int(in_repo(ctx.repo, "show", "-s", "--format=%ct", "--end-of-options", commit, "--").out or 0)


def _made(ctx: Context, attempt: Attempt, commit: str) -> bool:
    """Is the commit one of those that the branch got while the attempt ran?"""
    before, after = attempt.head_before, attempt.head_after
    if not after or not refs.reachable(ctx.repo, [commit], after):
        return False
    return not before or not refs.reachable(ctx.repo, [commit], before)


def put(ctx: Context, forking: Fork) -> None:
    """Put the second conversation into the engine's store. Raises UserError `session_not_placed`, `session_held`."""
    record, engine = forking.record, load(forking.record.agent_name, ctx.environ)
    session = record.session.value or ""
    query = StoreQuery(ctx.environ, record.cwd, engine.parse_version(record.engine_version) or (), session)
    with hold_session(seat(ctx, record, engine, session), ourselves(ctx.layout, forking.old, record.updated_at)):
        if forking.handed:
            hand_over.put(ctx, engine, forking.binary, query, forking.handed, record.launch_args)
        elif forking.bundle:
            hand_over.placed(ctx, engine, forking.binary, query, forking.bundle)


def remember(ctx: Context, forking: Fork, made: Record) -> None:
    """Store what the second conversation was made of, beside it. Raises OSError."""
    session = made.session.value or ""
    if forking.handed:
        whole.keep(ctx, made.run_id, session, forking.messages, forking.handed.messages)
    else:
        whole.carry(ctx, (forking.old.run_id, forking.old.session.value or ""), (made.run_id, session))
