"""A run's whole conversation, through every engine that had it.

`session/<key>/turns.json` in the run directory, beside the copy of a session that was made of a conversation, holds all
of that conversation: the session itself has it shortened. What was said since is in the session.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.conversation import formats, place
from git_agent_runner.conversation.messages import Message, ToolCall
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.conversation.seat import seat
from git_agent_runner.conversation.session import Sought, locate
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines.spec import Engine, StoreQuery
from git_agent_runner.find import moved
from git_agent_runner.store import session_copies
from git_agent_runner.store.files import beneath
from git_agent_runner.store.session_locks import signed

SCHEMA = 1
_FILE = "turns.json"


class Before(NamedTuple):
    """What a session was made of: all `messages`, and for each that it was given what tells it from others."""

    messages: tuple[Message, ...]
    given: tuple[str, ...]


def read(ctx: Context, engine: Engine, record: Record, bundle: Bundle) -> tuple[Message, ...]:
    """All that was said. Raises UserError `handover_unsupported`, and `conversation_empty` where that is nothing."""
    own = formats.form(engine).read(bundle.pieces)
    before = _before(ctx, record.run_id, bundle.session)
    if before and tuple(map(_mark, own[: len(before.given)])) == before.given:
        own = (*before.messages, *own[len(before.given) :])
    if not own:
        raise UserError(
            f"{engine.name}'s session {bundle.session} holds no turn of a conversation",
            code="conversation_empty",
            hints=('to start a new one: git agent start "<prompt>"',),
        )
    return own


def until(messages: tuple[Message, ...], end: float) -> tuple[Message, ...]:
    """The turns that began by then."""
    later = (index for index, one in enumerate(messages) if one.user and (one.at or 0.0) > end)
    return messages[: next(later, len(messages))]


def earlier(ctx: Context, record: Record, session: str, end: float | None) -> tuple[Message, ...] | None:
    """All that was said by then, if that is less than what the session was made of, which it may hold shortened;
    else None.
    """
    before = _before(ctx, record.run_id, session)
    if before is None or end is None:
        return None
    found = until(before.messages, end)
    return found if len(found) < len(before.messages) else None


def source(ctx: Context, engine: Engine, record: Record, session: str, *, copied: bool = False) -> Bundle:
    """The run's session as it is now, from the engine's store or as our copy. `copied`: as its last attempt left it;
    so it is taken in a copy of a repository, whose original continues the session in the store.

    Raises UserError as `sessions.locate` does, and `session_unreadable`.
    """
    version = engine.parse_version(record.engine_version) or ()
    query = StoreQuery(ctx.environ, record.cwd or ctx.cwd, version, session)
    ours = copied or moved.original(
        record, ctx.layout.common_dir, lambda: signed(seat(ctx, record, engine, session).path)
    )
    try:
        bundle = place.copied(ctx, record.run_id, session) if ours else None
        if bundle is None and not copied:
            found = locate(ctx, engine, Sought(record, query, record.launch_args))
            bundle = place.stored(engine, query) if not found.restore else None
            bundle = bundle or place.copied(ctx, record.run_id, session)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise _unreadable(engine, session, str(reason)) from error
    if bundle is None:
        raise _unreadable(engine, session, "there is no copy of it" if copied else "its store does not show it")
    return bundle


def _unreadable(engine: Engine, session: str, reason: str) -> UserError:
    return UserError(
        f"{engine.name}'s session {session} cannot be read: {reason}",
        code="session_unreadable",
        hints=('to start a new one: git agent start "<prompt>"',),
    )


def keep(ctx: Context, run_id: str, session: str, messages: tuple[Message, ...], given: tuple[Message, ...]) -> None:
    """Write down what a session was made of. Raises OSError."""
    found = {"schema": SCHEMA, "given": [*map(_mark, given)], "messages": messages}
    with beneath.folder(ctx.layout.run(run_id), session_copies.steps(session), make=True) as fd:
        beneath.put(json.dumps(found).encode(), fd, _FILE)


def carry(ctx: Context, old: tuple[str, str], new: tuple[str, str]) -> None:
    """The same of a copy of that session; both are (run id, session). Raises OSError."""
    before = _before(ctx, *old)
    if before:
        found = {"schema": SCHEMA, "given": before.given, "messages": before.messages}
        with beneath.folder(ctx.layout.run(new[0]), session_copies.steps(new[1]), make=True) as fd:
            beneath.put(json.dumps(found).encode(), fd, _FILE)


def _before(ctx: Context, run_id: str, session: str) -> Before | None:
    try:
        with (
            beneath.folder(ctx.layout.run(run_id), session_copies.steps(session)) as fd,
            beneath.opened_in(fd, _FILE) as file,
            os.fdopen(os.dup(file), "rb") as stream,
        ):
            found = json.loads(stream.read(4 * place.LIMIT))
        if found["schema"] != SCHEMA:
            return None
        return Before(tuple(map(_message, found["messages"])), tuple(map(str, found["given"])))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _message(found: Any) -> Message:
    """Raises ValueError or TypeError for what is none."""
    user, text, at, calls, attached = found
    if not isinstance(text, str) or not isinstance(at, int | float | None):
        raise TypeError
    return Message(
        bool(user), text, at, tuple(ToolCall(*map(_plain, call)) for call in calls), tuple(map(str, attached))
    )


def _plain(value: Any) -> Any:
    if not isinstance(value, str | bool | None):
        raise TypeError
    return value


def _mark(message: Message) -> str:
    from hashlib import sha256

    return sha256(f"{message.user} {' '.join(message.text.split())}".encode(errors="replace")).hexdigest()[:16]
