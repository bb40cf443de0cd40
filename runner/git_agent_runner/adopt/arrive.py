"""A conversation that another machine pushed: taken for a run that is not here yet, or for one that went on there."""

from __future__ import annotations

from git_agent_runner.adopt import decide
from git_agent_runner.adopt.write import write
from git_agent_runner.console.lines import say, warn
from git_agent_runner.context import Context, find_program
from git_agent_runner.conversation import backup, hand_over, incoming, states
from git_agent_runner.conversation.incoming import Incoming
from git_agent_runner.conversation.seat import seat
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note, Record
from git_agent_runner.core.text import shown
from git_agent_runner.engines import load, wording
from git_agent_runner.engines.spec import StoreQuery
from git_agent_runner.find.running import hold
from git_agent_runner.git import GitError
from git_agent_runner.store import continued
from git_agent_runner.store.continued import Continued
from git_agent_runner.store.session_locks import hold_session, ourselves


def new(ctx: Context, note: Note, *, given: bool, dry_run: bool) -> Record | UserError | None:
    """The run of a note whose conversation was pushed: its record, made; None where there is no such conversation.

    The error says what it holds, where nobody has said yet that it may be taken.
    """
    try:
        where = incoming.sought(ctx, note.handle, note.updated_at)
    except GitError as error:
        say(f"the remote cannot be asked for the conversation: {error.message}")
        return None
    if where is None:
        return None
    resume = f"git agent resume {note.handle} --trust {wording.message(note.agent_name)}"
    try:
        coming = incoming.opened(ctx, where, note.handle, load(note.agent_name, ctx.environ), note.session)
        if not incoming.trusted(ctx, coming, given=given):
            return incoming.untrusted(coming, resume)
        adoption = decide.arriving(ctx, note, coming.manifest.below, decide.AdoptRequest(trusted=given))
        if dry_run:
            return UserError(
                f"run {note.handle} is not here yet; its conversation would be put here first",
                code="record_elsewhere",
                hints=(*coming.lines(), f"to do it: {resume}"),
            )
        _put(ctx, adoption.record, coming)
        record, warnings = write(ctx, adoption)
    except UserError as error:
        return error
    for line in (_arrived(coming), *adoption.says):
        say(line)
    for text in warnings:
        warn(text)
    return record


def _arrived(coming: Incoming) -> str:
    manifest, turns = coming.manifest, coming.prompts
    return (
        f"the conversation of run {manifest.handle} ({turns} turn{'s' * (turns != 1)}, from {coming.remote}) was put"
        f" where {manifest.agent_name} looks for it here"
    )


def _put(ctx: Context, record: Record, coming: Incoming) -> None:
    """Raises UserError `session_held`, `session_not_placed`; what stands in the store is never overwritten."""
    engine = load(record.agent_name, ctx.environ)
    program, session = find_program(ctx, engine), record.session.value or ""
    query = StoreQuery(ctx.environ, record.cwd, program.version, session)
    with hold_session(seat(ctx, record, engine, session), ourselves(ctx.layout, record, record.updated_at)):
        hand_over.placed(ctx, engine, program.binary, query, coming.bundle)


def newer(ctx: Context, record: Record, *, given: bool, dry_run: bool) -> Record | UserError:
    """A run that went on elsewhere, by its notes: the state of there becomes the run's, which a resume then puts into
    the engine's store. The error says what it holds, where nobody has said yet that it may be taken.
    """
    elsewhere = continued.read(ctx.layout, record.handle)
    if elsewhere is None:
        return record
    try:
        where = incoming.sought(ctx, record.handle, elsewhere.updated_at)
    except GitError as error:
        return continued.refused(record, elsewhere, f"its conversation cannot be fetched: {error.message}")
    if where is None:
        say(f"{elsewhere.line(record.handle)}; its conversation was not pushed from there, so the one here continues")
        continued.clear(ctx.layout, record.handle)
        return record
    try:
        return _newer(ctx, record, elsewhere, where, given=given, dry_run=dry_run)
    except UserError as error:
        return error


def _newer(
    ctx: Context, record: Record, elsewhere: Continued, where: tuple[str, str], *, given: bool, dry_run: bool
) -> Record | UserError:
    """Raises UserError `conversation_refused`, `run_live`, `copy_failed`."""
    engine = load(record.agent_name, ctx.environ)
    coming = incoming.opened(ctx, where, record.handle, engine, record.session)
    relation = states.relation(engine, backup.held(ctx, engine, record), coming.contents)
    if relation in ("same", "ahead"):
        say(f"{elsewhere.line(record.handle)}; what {coming.remote} has is not newer, so the one here continues")
    if relation == "parted":
        say(
            f"run {record.handle} went different ways here and on host '{shown(coming.manifest.host)}'; the one here"
            f" continues: git agent fork {record.handle} makes a conversation of its own of it"
        )
    if relation == "behind":
        if not incoming.trusted(ctx, coming, given=given):
            return incoming.untrusted(coming, wording.resume(record, "--trust"))
        if dry_run:
            say(f"first, the conversation would be brought up to date: {'; '.join(coming.lines())}")
            return record
        with hold(ctx, record):
            backup.take_in(ctx, engine, record, coming.manifest.engine_version, coming.bundle)
    if not dry_run:
        continued.clear(ctx.layout, record.handle)
    return record
