"""From a record and a message to one exact invocation, or the reason why not. Reads; starts and writes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from git_agent_extractors.model import NO_SESSION
from git_agent_runner.attempt.checks import able_program, fitting, in_place, other_form
from git_agent_runner.attempt.start_directory import directory, is_inside, refuse_copied, work_tree_of
from git_agent_runner.attempt.work_tree import RunPlace, place
from git_agent_runner.context import Context, find_program, later, timestamp
from git_agent_runner.conversation.carry import needed as carrying
from git_agent_runner.conversation.session import Found, Sought, locate, refuse_entering, session_value
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.core.model import AgentMode, Record, Store
from git_agent_runner.engines import MODULES, arguments, asking, load, wording
from git_agent_runner.engines.refuse import configured_args, merged_args
from git_agent_runner.engines.spec import Engine, Launch, Located, StoreQuery, Version, dotted
from git_agent_runner.find import moved
from git_agent_runner.find.running import refuse_live
from git_agent_runner.git import trees
from git_agent_runner.git.refs import busy_branch

if TYPE_CHECKING:
    from git_agent_runner.attempt.verdict import Kind
    from git_agent_runner.conversation.carry import Carry
    from git_agent_runner.conversation.hand_over import HandOver
    from git_agent_runner.conversation.restore import Restore


Strategy = Literal["resumeByID", "continueMostRecent", "interactivePicker", "startFresh"]


class Plan(NamedTuple):
    """What is about to run. `record` stands as it will while the attempt runs; its handle is empty for a new run.

    `session` is the id asked for, or the one minted for a new session. `notes` are lines to say before it runs.
    `carry`, then `restore`, are to be done first: the session is not where the run continues, or not as the run left
    it; `handed`: another engine's conversation would be handed over first. `restored` is when the copy was made that
    was restored. `store` is the engine's. `instead_of` is why the session is not resumed by its id.
    """

    record: Record
    engine: Engine
    kind: Kind
    invocation: Invocation
    message: str | None
    session: str | None
    forks: bool
    interactive: bool
    adopts: bool = False
    notes: tuple[str, ...] = ()
    restore: Restore | None = None
    carry: Carry | None = None
    handed: HandOver | None = None
    store: Store | None = None
    picker: bool = False
    instead_of: UserError | None = None
    restored: str | None = None

    @property
    def strategy(self) -> Strategy:
        if self.kind == "resume":
            return "resumeByID"
        if self.kind == "continue":
            return "interactivePicker" if self.picker else "continueMostRecent"
        return "startFresh"


def choose_engine(ctx: Context, name: str | None) -> Engine:
    """The engine asked for, or the configured one, or else the only one that is installed.

    Raises UserError `engine_unset` or `engine_unknown`.
    """
    chosen = name or ctx.settings.engine
    if chosen:
        return load(chosen)
    if (only := _only_installed(ctx)) is not None:
        return only
    raise UserError(
        "no engine: give one with -e, or set agent.engine",
        code="engine_unset",
        hints=("git config --global agent.engine claude", f"known engines: {', '.join(MODULES)}"),
    )


def _only_installed(ctx: Context) -> Engine | None:
    from git_agent_runner.engines.probe import find_binary

    found = []
    for engine in map(load, MODULES):
        with suppress(UserError):
            find_binary(engine, ctx.settings.binaries.get(engine.name), ctx.environ, ctx.repo.top)
            found.append(engine)
    return found[0] if len(found) == 1 else None


def plan_start(
    ctx: Context,
    engine: Engine,
    given: tuple[str, ...],
    message: str | None,
    *,
    interactive: bool = False,
    existing: Record | None = None,
    cwd: str | None = None,
    mode: AgentMode | None = None,
) -> Plan:
    """Plan a new session: of a new run, or, with `existing`, a fresh one in the same run and on its branch (`cwd`:
    there).

    Raises UserError for what the engine would not take: flags, message, directory.
    """
    program = find_program(ctx, engine)
    recorded = existing.launch_args if existing else configured_args(ctx.settings, engine, program.version, mode)
    args = merged_args(engine, program, recorded, given, resuming=existing is not None, mode=mode)
    if message is not None:
        engine.check_message(program.version, message)
    record = _replaced(ctx, existing, cwd) if existing else _new_record(ctx, engine, directory(ctx, engine, args))
    launch = Launch(
        binary=program.binary,
        version=program.version,
        args=arguments.passed(engine.options, args),
        message=message,
        session=engine.mint(program.version),
        cwd=record.cwd,
        interactive=interactive,
    )
    store = asking.store(engine, StoreQuery(ctx.environ, record.cwd, program.version), args)
    begun = _begun(moved.at_home(record, ctx.layout.common_dir), engine, launch)
    return Plan(
        record=begun if existing else begun._replace(store=store),
        engine=engine,
        kind="fresh" if existing else "start",
        invocation=fitting(engine.start(launch)),
        message=message,
        session=launch.session,
        forks=False,
        interactive=interactive,
        store=store,
        notes=(
            *_leaves_nothing(engine, args),
            *_said(*_notes(engine, launch, args)),
        ),
    )


def plan_resume(
    ctx: Context,
    record: Record,
    given: tuple[str, ...],
    message: str | None,
    *,
    interactive: bool = False,
    cwd: str | None = None,
    session: str | None = None,
    kind: Kind = "resume",
    picker: bool = False,
    into_store: bool = False,
    coming: bool = False,
    mode: AgentMode | None = None,
) -> Plan:
    """Plan the next attempt of a run. `session` replaces the recorded id; `kind` "continue" takes the engine's newest
    session of the directory, or opens the engine's `picker`. `into_store`: see `sessions.Sought`. `coming`: the session
    will be put where the run continues, so it is not looked for.

    Raises UserError with a code that says what is missing: `session_unknown`, `session_malformed`,
    `session_missing`, `session_held`, `resume_unsupported`, `version_bad`, `run_live`, `branch_elsewhere`, ….
    """
    engine = load(record.agent_name)
    refuse_live(ctx, record)
    by_id = kind == "resume"
    value = session_value(ctx, record, engine, session) if by_id else record.session.value
    program = able_program(ctx, engine, record, value, by_id=by_id)
    args = merged_args(engine, program, record.launch_args, given, resuming=True, mode=mode)
    if message is not None:
        engine.check_message(program.version, message)
    target = _target(ctx, engine, program.version, record, args, _Asked(cwd, session, value, by_id, into_store, coming))
    launch = Launch(
        binary=program.binary,
        version=program.version,
        args=arguments.passed(engine.options, args),
        message=message,
        session=target.session,
        cwd=target.cwd,
        session_cwd=target.found.located.cwd or target.record.cwd or target.cwd,
        interactive=interactive,
    )
    compiled = engine.resume if by_id else other_form(engine, picker=picker)
    return Plan(
        record=_begun(moved.at_home(target.record, ctx.layout.common_dir), engine, launch),
        engine=engine,
        kind=kind,
        invocation=in_place(engine, fitting(compiled(launch)), cwd),
        message=message,
        session=target.session,
        forks=engine.forks(program.version, args),
        interactive=interactive,
        adopts=picker or target.session is None,
        notes=_said(
            target.note,
            target.found.note,
            _elsewhere(engine, launch),
            *_notes(engine, launch, args),
        ),
        restore=target.found.restore,
        carry=target.carry,
        store=asking.store(engine, target.query, args),
        picker=picker,
    )


class _Asked(NamedTuple):
    """`named` is the id that the person gave, `session` that or the recorded one."""

    cwd: str | None
    named: str | None
    session: str | None
    by_id: bool
    into_store: bool
    coming: bool


class _Target(NamedTuple):
    """The session to continue, and where. `record` is the run as it is from here on."""

    record: Record
    session: str | None
    cwd: str
    note: str | None
    query: StoreQuery
    found: Found
    carry: Carry | None


def _target(
    ctx: Context, engine: Engine, version: Version, known: Record, args: tuple[str, ...], asked: _Asked
) -> _Target:
    """Find the run's directory, and its session in the engine's store. Raises UserError as `plan_resume`."""
    record, session = moved.followed(known, ctx.repo), asked.session
    where = _place(
        ctx, known, record, asked.cwd, lambda same: engine.laid is not None or engine.elsewhere(version, same)
    )
    if not (engine.elsewhere(version, True) and os.path.isdir(record.cwd)):
        record = _settled(ctx, record, where.cwd)
    carry = carrying(ctx, engine, version, known, record, asked.named) if asked.by_id and not asked.coming else None
    if carry:
        record, session = carry.record, carry.session
    query = StoreQuery(ctx.environ, asked.cwd or record.cwd or where.cwd, version, session, learned=ctx.repo.learned)
    sought = Sought(record, query, args, named=asked.named is not None, into_store=asked.into_store)
    if carry:
        refuse_entering(engine, sought)
        found = Found(Located("unknown", cwd=where.cwd))
    elif asked.by_id and session and not asked.coming:
        found = locate(ctx, engine, sought)
    else:
        found = Found(Located("unknown", cwd=where.cwd if asked.coming else None))
    return _Target(record, session, where.cwd, where.note or _followed(known, record), query, found, carry)


def _followed(known: Record, record: Record) -> str | None:
    if known.worktree == record.worktree:
        return None
    return f"running in '{record.cwd}', where the run's work tree is now, instead of '{known.cwd}'"


def _begun(record: Record, engine: Engine, launch: Launch) -> Record:
    return record._replace(
        launch_args=arguments.launch_args(engine.options, launch.args),
        engine_version=dotted(launch.version),
        attempts=record.attempts + 1,
        status=None,
        updated_at=later(record.updated_at),
        host=os.uname().nodename,
    )


def _new_record(ctx: Context, engine: Engine, cwd: str) -> Record:
    return Record(
        handle="",
        run_id="",
        run_directory="",
        agent_name=engine.name,
        session=NO_SESSION,
        branch=ctx.repo.branch or busy_branch(ctx.repo.git_dir),
        worktree=ctx.repo.top,
        worktree_id=trees.here(ctx.repo),
        cwd=cwd,
        start_commit=ctx.repo.head,
        created_at=timestamp(),
    )


def _replaced(ctx: Context, existing: Record, cwd: str | None) -> Record:
    """The record of a run whose next session is a fresh one: it may begin anywhere, and belongs to where it began."""
    now = moved.followed(existing, ctx.repo)
    return _settled(ctx, now, _place(ctx, existing, now, cwd, lambda _same: True).cwd)


def _settled(ctx: Context, record: Record, cwd: str) -> Record:
    """The record of a run that is in that directory from here on."""
    if cwd == record.cwd:
        return record
    top = work_tree_of(ctx, cwd)
    if top is None:
        return record._replace(cwd=cwd)
    return record._replace(cwd=cwd, worktree=top, worktree_id=trees.identity_of(ctx.repo, top))


def _place(
    ctx: Context, known: Record, record: Record, override: str | None, elsewhere: Callable[[bool], bool]
) -> RunPlace:
    found = place(
        record,
        ctx.repo,
        elsewhere,
        cwd_override=override,
        default_directory=ctx.settings.default_directory,
    )
    if override is None and is_inside(found.cwd, ctx.repo.top):
        refuse_copied(ctx, known.worktree, wording.resume(known))
    return found


def _notes(engine: Engine, launch: Launch, args: tuple[str, ...]) -> tuple[str | None, ...]:
    return (engine.launch_note(launch.version, args), engine.message_note(launch))


def _elsewhere(engine: Engine, launch: Launch) -> str | None:
    """What the engine does when it resumes outside the session's directory."""
    if launch.session_cwd is None or os.path.realpath(launch.session_cwd) == os.path.realpath(launch.cwd):
        return None
    return engine.elsewhere_note(launch.version)


def _leaves_nothing(engine: Engine, args: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        f"with {word.name} {engine.name} saves no session, so this run cannot be resumed"
        for word in arguments.find(engine.options, args, "no_session")
    )


def _said(*lines: str | None) -> tuple[str, ...]:
    return tuple(line for line in lines if line)
