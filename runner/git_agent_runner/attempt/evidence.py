"""Evidence that an attempt did more than exit: the session that it printed, or that the store has."""

from __future__ import annotations

import os
from typing import NamedTuple

from git_agent_extractors.model import NO_SESSION, Transcript
from git_agent_runner.context import Context
from git_agent_runner.conversation import place
from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Attempt
from git_agent_runner.engines import asking, load
from git_agent_runner.engines.spec import Engine, StoreQuery
from git_agent_runner.process.lifetime import Outcome
from git_agent_runner.store import session_copies


class Evidence(NamedTuple):
    """`transcript` names no session that the store is known not to have. `begun` are the sessions of a new attempt that
    printed none, and `origin` where they come from. `opened`: an interface did more than start and end; `ended`: as far
    as its session shows, it did not stop in the middle of a turn.
    """

    transcript: Transcript
    begun: tuple[str, ...] = ()
    origin: str | None = None
    opened: bool = False
    ended: bool = False


def gather(ctx: Context, attempt: Attempt, outcome: Outcome, transcript: Transcript) -> Evidence:
    engine = load(attempt.agent_name, ctx.environ)
    seen = _seen(ctx, engine, attempt, outcome, transcript)
    if not (attempt.interactive and seen.opened):
        return seen
    value = seen.transcript.session.value or attempt.requested_session or (seen.begun[0] if seen.begun else None)
    return seen._replace(ended=_ended(ctx, engine, attempt, value))


def _seen(ctx: Context, engine: Engine, attempt: Attempt, outcome: Outcome, transcript: Transcript) -> Evidence:
    printed = transcript.session.value
    if attempt.kind not in ("start", "fresh"):
        opened = printed is not None or _touched(ctx, engine, attempt, outcome)
        return Evidence(transcript, opened=opened)
    if printed and not (attempt.interactive and _lost(ctx, engine, attempt, printed)):
        return Evidence(transcript, opened=True)
    begun, origin = _begun(ctx, engine, attempt, outcome)
    nothing = transcript._replace(session=NO_SESSION, source=None)
    return Evidence(nothing, begun, origin, opened=bool(begun))


def under_way(ctx: Context, attempt: Attempt) -> tuple[str, ...]:
    """The session of a running attempt, as far as it is known; else those that began since it did."""
    if attempt.session.value:
        return (attempt.session.value,)
    engine = load(attempt.agent_name, ctx.environ)
    return _since(ctx, engine, attempt, moment(attempt.started_at) or 0.0)


def exists(ctx: Context, attempt: Attempt) -> bool:
    """Is there a session to continue: in the engine's store, as far as that can be known, or as our copy?"""
    value = attempt.session.value
    return value is not None and not _lost(ctx, load(attempt.agent_name, ctx.environ), attempt, value)


def _begun(ctx: Context, engine: Engine, attempt: Attempt, outcome: Outcome) -> tuple[tuple[str, ...], str | None]:
    """(sessions, where they come from): what we minted, unless the store does not have it, or what the store names.

    Where the store has several since the attempt began, none is taken: another one may have been started here by hand.
    """
    minted = attempt.session.value
    if minted and not _lost(ctx, engine, attempt, minted):
        return (minted,), "minted"
    found = _since(ctx, engine, attempt, outcome.started)
    # What was seen while it ran, and is gone since, is there as our copy.
    found = found or tuple(one for one in attempt.candidates if not _lost(ctx, engine, attempt, one))
    return found, "store" if len(found) == 1 else None


def _since(ctx: Context, engine: Engine, attempt: Attempt, since: float) -> tuple[str, ...]:
    query = _query(ctx, engine, attempt, None)._replace(since=since)
    return asking.created_since(engine, query, attempt.launch_args)


def _lost(ctx: Context, engine: Engine, attempt: Attempt, session: str) -> bool:
    located = asking.locate(engine, _query(ctx, engine, attempt, session), attempt.launch_args, attempt.store)
    return located.state == "absent" and session_copies.read(ctx.layout, attempt.run_id, session) is None


def _touched(ctx: Context, engine: Engine, attempt: Attempt, outcome: Outcome) -> bool:
    """Has the session that was to be opened been written to? If that cannot be known, it counts as opened."""
    session = attempt.requested_session
    query = _query(ctx, engine, attempt, session)
    located = asking.locate(engine, query, attempt.launch_args, attempt.store) if session else None
    if located is None or located.state != "present" or located.path is None:
        return located is None or located.state != "absent"
    return os.path.getmtime(located.path) >= outcome.started - 1 if os.path.exists(located.path) else False


def _ended(ctx: Context, engine: Engine, attempt: Attempt, session: str | None) -> bool:
    """Does the session end with a finished turn? If the engine has deleted the session, our backup is read."""
    query = _query(ctx, engine, attempt, session)
    located = asking.locate(engine, query, attempt.launch_args, attempt.store)
    if engine.ended is None or located.state == "unknown":
        return True
    try:
        found = place.stored(engine, query) or place.copied(ctx, attempt.run_id, session or "")
    except (OSError, ValueError):
        return False
    pieces = sorted(found.pieces, key=lambda piece: os.path.basename(piece.name)) if found else ()
    ends = [end for piece in pieces if (end := engine.ended(piece.data)) is not None]
    return bool(ends) and ends[-1]


def _query(ctx: Context, engine: Engine, attempt: Attempt, session: str | None) -> StoreQuery:
    return StoreQuery(ctx.environ, attempt.cwd, engine.parse_version(attempt.engine_version) or (), session)
