"""Hand a run's conversation to another engine: all its turns become a session of that engine, under a new id."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from git_agent_extractors.model import Session
from git_agent_runner.context import Context, find_program
from git_agent_runner.conversation import formats, handing, place, whole
from git_agent_runner.conversation.formats.common import New
from git_agent_runner.conversation.handing import Handed
from git_agent_runner.conversation.messages import Message
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.conversation.seat import seat
from git_agent_runner.conversation.session import session_value
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Earlier, Record
from git_agent_runner.engines import arguments, load
from git_agent_runner.engines.probe import Probe
from git_agent_runner.engines.refuse import check_version, configured_args
from git_agent_runner.engines.spec import Engine, StoreQuery, Version, dotted
from git_agent_runner.find.running import hold, refuse_live
from git_agent_runner.store.session_locks import hold_session, ourselves


class HandOver(NamedTuple):
    """What must be done before the attempt. `record` is the run as it will be then, `left` the session that it has
    until now; `messages` are the whole conversation, `handed` what the other engine gets.
    """

    record: Record
    left: Earlier
    messages: tuple[Message, ...]
    handed: Handed

    def why(self, did: str) -> str:
        """The reason, for people; `did` is "was" or "would be"."""
        handed, left = self.handed, self.left
        facts = [f"{handed.turns} turn{'s' * (handed.turns != 1)}", f"about {handed.tokens} tokens"]
        facts += [f"{handed.digested} older ones as a digest"] if handed.digested else []
        facts += [f"{handed.calls} tool call{'s' * (handed.calls != 1)} as text"] if handed.calls else []
        facts += [f"named only: {', '.join(dict.fromkeys(handed.attached))}"] if handed.attached else []
        new = self.record
        return (
            f"{left.agent_name} session {left.session.value} {did} handed over to {new.agent_name} as session"
            f" {new.session.value} ({'; '.join(facts)})"
        )

    def facts(self) -> dict[str, Any]:
        """The facts, as docs/json.md describes them."""
        handed = self.handed
        return {
            "engine": self.left.agent_name,
            "session": self.left.session.value,
            "turns": handed.turns,
            "digested": handed.digested,
            "toolCalls": handed.calls,
            "attached": list(handed.attached),
            "tokens": handed.tokens,
        }


def prepare(ctx: Context, record: Record, name: str) -> HandOver:
    """Plan the handover; writes nothing. Raises UserError `handover_unsupported`, `handover_too_large`, `run_live`,
    `session_held`, `binary_missing`, … or the reason why the conversation cannot be read.
    """
    engine, old = load(name, ctx.environ), load(record.agent_name, ctx.environ)
    refuse_live(ctx, record)
    program = able(ctx, engine)
    value = session_value(ctx, record, old, None)
    messages = whole.read(ctx, old, record, whole.source(ctx, old, record, value))
    handed = prepared(ctx, messages, old, engine)
    session = session_id(engine, handed, f"{record.handle} {value} {_changed(ctx, record)}")
    left = Earlier(old.name, record.session, record.launch_args)
    new = record._replace(
        agent_name=engine.name,
        session=session,
        parent_session=value,
        launch_args=launch_args(ctx, engine, program.version, record),
        engine_version=dotted(program.version),
        earlier=(*record.earlier, left),
    )
    return HandOver(new, left, messages, handed)


def _changed(ctx: Context, record: Record) -> int:
    """When the record was written last; 0 on a dry run for a run that only a note knows."""
    try:
        return os.stat(ctx.layout.index_file(record.handle)).st_ctime_ns
    except FileNotFoundError:
        return 0


def able(ctx: Context, engine: Engine) -> Probe:
    """The program of an engine that is to take over a conversation. Raises UserError `handover_unsupported`, …."""
    formats.form(engine)
    program = find_program(ctx, engine)
    check_version(engine, program.version)
    formats.taking(engine, program.version)
    return program


def prepared(ctx: Context, messages: tuple[Message, ...], old: Engine, engine: Engine) -> Handed:
    tokens = ctx.settings.handover_tokens.get(engine.name, handing.TOKENS)
    return handing.prepared(messages, old.name, engine.name, tokens)


def session_id(engine: Engine, handed: Handed, salt: str) -> Session:
    """Always the same for the same salt, so that what a dry run shows comes true."""
    return Session(engine.field, formats.form(engine).name(salt, handed.messages[0].at or 0.0))


def launch_args(ctx: Context, engine: Engine, version: Version, record: Record) -> tuple[str, ...]:
    """The engine's own: what the run had when that engine had it, else the person's setting. Never another's."""
    known = next((one.launch_args for one in reversed(record.earlier) if one.agent_name == engine.name), None)
    return configured_args(ctx.settings, engine, version) if known is None else known


def refuse_elsewhere(engine: Engine, args: tuple[str, ...]) -> None:
    """Raises UserError `handover_unsupported` where the engine would look for the session in another store."""
    for word in arguments.find(engine.options, args, "store"):
        raise UserError(
            f"with {word.name} {engine.name}'s sessions are in another store, where no conversation can be put",
            code="handover_unsupported",
            hints=(f"leave {word.name} out, here and in agent.{engine.name}.args",),
        )


def model(engine: Engine, query: StoreQuery, args: tuple[str, ...]) -> str:
    """The model that the session must name, if it must: from the flags, else from the engine's settings.

    Raises UserError `handover_unsupported`.
    """
    form = formats.form(engine)
    if form.model is None:
        return ""
    given = next((word.values[-1] for word in arguments.find(engine.options, args, "model") if word.values), None)
    found = given or form.model(query)
    if not found or "/" not in found:
        raise UserError(
            f"{engine.name}'s settings do not show which model it uses, and its sessions must name one",
            code="handover_unsupported",
            hints=("give one, at the end: -- --model PROVIDER/MODEL",),
        )
    return found


def put(
    ctx: Context, engine: Engine, binary: str, query: StoreQuery, handed: Handed, args: tuple[str, ...] = ()
) -> None:
    """Put the session into the engine's store. Raises UserError `session_not_placed`, `handover_unsupported`."""
    session = query.session or ""
    new = New(session, query.cwd, dotted(query.version), handed.messages[0].at or 0.0, model(engine, query, args))
    pieces = formats.form(engine).write(new, handed.messages)
    placed(ctx, engine, binary, query, Bundle(session, pieces))


def placed(ctx: Context, engine: Engine, binary: str, query: StoreQuery, bundle: Bundle) -> None:
    """Put these pieces into the engine's store as the session of the query. Raises UserError `session_not_placed`."""
    try:
        if not _is_there(engine, query, bundle):
            _put(ctx, engine, binary, query, bundle)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(
            f"the conversation cannot be put into {engine.name}'s store: {reason}",
            code="session_not_placed",
            hints=(f'to start without it: git agent start -e {engine.name} "<prompt>"',),
        ) from error


def _is_there(engine: Engine, query: StoreQuery, bundle: Bundle) -> bool:
    """Is the session there already, from an attempt that was killed before it could record it? Raises ValueError if
    another session has the id."""
    if engine.locate(query).state == "absent":
        return False
    found, read = place.stored(engine, query), formats.form(engine).read
    if found is None or read(found.pieces) != read(bundle.pieces):
        raise ValueError("another conversation is already there")
    return True


def _put(ctx: Context, engine: Engine, binary: str, query: StoreQuery, bundle: Bundle) -> None:
    place.put(ctx, engine, binary, bundle, query)
    if engine.locate(query).state == "absent":
        raise ValueError(f"{engine.name} rejected it")


def perform(ctx: Context, engine: Engine, binary: str, transfer: HandOver, planned: Record) -> Record:
    """Do it; the record as it is then. `planned` is the run's as it will be where it goes on.

    Raises UserError `run_live`, `session_held`, `session_not_placed`.
    """
    record, version = transfer.record, engine.parse_version(transfer.record.engine_version) or ()
    session = record.session.value or ""
    with (
        hold(ctx, record),
        hold_session(seat(ctx, planned, engine, session), ourselves(ctx.layout, record, record.updated_at)),
    ):
        put(
            ctx,
            engine,
            binary,
            StoreQuery(ctx.environ, planned.cwd, version, session),
            transfer.handed,
            planned.launch_args,
        )
        whole.keep(ctx, record.run_id, session, transfer.messages, transfer.handed.messages)
        now = ctx.runs.update(record.handle, lambda old: _following(old, transfer, planned))
    return now._replace(branch=record.branch)


def _following(old: Record, transfer: HandOver, planned: Record) -> Record:
    """Raises UserError `run_live` where the run went on since its conversation was read."""
    left = transfer.left
    if (old.agent_name, old.session, old.attempts) != (left.agent_name, left.session, transfer.record.attempts):
        raise UserError(
            f"run {old.handle} was resumed by another git-agent just now",
            code="run_live",
            hints=("look at it: git agent show " + old.handle, "then send the message again"),
        )
    new = transfer.record
    return old._replace(
        agent_name=new.agent_name,
        session=new.session,
        parent_session=new.parent_session,
        launch_args=new.launch_args,
        engine_version=new.engine_version,
        earlier=new.earlier,
        store=planned.store,
        worktree=planned.worktree,
        worktree_id=planned.worktree_id,
        cwd=planned.cwd,
        common_dir=planned.common_dir,
        common_dir_id=planned.common_dir_id,
    )
