"""May this engine session, or this noted run, become a run here? Writes nothing."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from git_agent_extractors.model import Session
from git_agent_runner.adopt import trust
from git_agent_runner.adopt.write import Adoption
from git_agent_runner.attempt.start_directory import work_tree_of
from git_agent_runner.context import Context, find_program, timestamp
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Note, Record
from git_agent_runner.core.text import command_line, quote
from git_agent_runner.engines import MODULES, arguments, asking, load, wording
from git_agent_runner.engines.probe import Probe
from git_agent_runner.engines.refuse import check_version, merged_args
from git_agent_runner.engines.spec import Engine, Located, StoreQuery, dotted
from git_agent_runner.find import moved
from git_agent_runner.find.running import refuse_live
from git_agent_runner.git import HEADS, refs, trees
from git_agent_runner.store.files.layout import run_directory
from git_agent_runner.store.notes.noteline import began
from git_agent_runner.store.records import listing


class AdoptRequest(NamedTuple):
    """What the person asked for: the branch, the directory (absolute) and flags for the engine."""

    branch: str | None = None
    cwd: str | None = None
    given: tuple[str, ...] = ()
    trusted: bool = False


def choose(ctx: Context, engine: Engine, cwd: str) -> str:
    """The one session of this directory that belongs to no run. Raises UserError `session_unknown`, naming several."""
    program = find_program(ctx, engine)
    found = engine.created_since(StoreQuery(ctx.environ, cwd, program.version))
    free = [session for session in found if taken(ctx, engine.name, session) is None]
    if len(free) == 1:
        return free[0]
    if not free:
        raise UserError(
            f"every {engine.name} session of '{cwd}' already belongs to a run"
            if found
            else f"{engine.name} has no session of '{cwd}'",
            code="session_unknown",
            hints=(f"one of another directory by its id: git agent adopt {engine.name} SESSION",),
        )
    newest = free[:-6:-1]
    more = f", the newest {len(newest)} of them" if len(free) > len(newest) else ""
    raise UserError(
        f"{engine.name} has {len(free)} sessions of '{cwd}' that belong to no run",
        code="session_unknown",
        hints=(f"newest first{more}:", *(f"git agent adopt {engine.name} {session}" for session in newest)),
    )


def session(ctx: Context, engine: Engine, value: str, wanted: AdoptRequest, origin: str = "given") -> Adoption:
    """A run for a session that the engine has. Writes nothing.

    Raises UserError `session_malformed`, `session_missing`, `session_taken`, `directory_outside` and those of `--`.
    """
    if not engine.id_pattern.fullmatch(value):
        raise UserError(
            f"{value!a} is not a session id of {engine.name}",
            code="session_malformed",
            hints=(f"its sessions of this directory: git agent adopt {engine.name}",),
        )
    program = find_program(ctx, engine)
    check_version(engine, program.version)
    _refuse_taken(ctx, engine, value, wanted.branch)
    args = merged_args(engine, program, (), wanted.given, resuming=True)
    query = StoreQuery(ctx.environ, wanted.cwd or ctx.cwd, program.version, value)
    located = _located(engine, query, args)
    record = Record(
        handle="",
        run_id="",
        run_directory="",
        agent_name=engine.name,
        session=Session(engine.field, value),
        launch_args=arguments.launch_args(engine.options, args),
        created_at=timestamp(),
        store=asking.store(engine, query, args),
    )
    again = f"git agent adopt {engine.name} {value}"
    cwd = _directory(ctx, engine, located, wanted.cwd, again, free=True)
    return Adoption(_placed(ctx, record, program, _branch(ctx, wanted.branch), cwd), origin, _doubt(engine, located))


def noted(ctx: Context, note: Note, wanted: AdoptRequest) -> Adoption:
    """A run known only from a note, if its session is in this machine's store. Writes nothing.

    Raises UserError `note_refused`, `engine_unknown`, `binary_missing`, `session_missing`, `directory_outside`, ….
    What is not proven is refused: a note would carry another project's session into this repository.
    """
    engine = load(note.agent_name, ctx.environ)
    value = trust.session(note, engine)
    asked = trust.launch_args(note, engine)
    program = find_program(ctx, engine)
    check_version(engine, program.version)
    _refuse_taken(ctx, engine, value, wanted.branch)
    query = StoreQuery(ctx.environ, wanted.cwd or ctx.cwd, program.version, value)
    located = _located(engine, query, (*asked.args, *wanted.given))
    if not wanted.trusted:
        _refuse_untrusted(ctx, note, engine, located, asked, wanted)
    again = f"git agent adopt {note.handle} --trust"
    cwd = _directory(ctx, engine, located, wanted.cwd, again, free=wanted.trusted)
    record = _of_note(ctx, note, wanted, engine, program, asked, cwd)
    return Adoption(record, "note", (*_doubt(engine, located), *_hidden(asked)))


def arriving(ctx: Context, note: Note, below: str, wanted: AdoptRequest) -> Adoption:
    """A run that only a note knows, whose conversation was fetched and will be put here: in its folder `below` the work
    tree, where that is here, too. Nothing is written. Raises UserError `note_refused`, `binary_missing`, ….
    """
    engine = load(note.agent_name, ctx.environ)
    value = trust.session(note, engine)
    asked = trust.launch_args(note, engine)
    program = find_program(ctx, engine)
    check_version(engine, program.version)
    _refuse_taken(ctx, engine, value, wanted.branch)
    wide = f"it asks for {', '.join(asked.wide)}, which gives {engine.name} more permissions" if asked.wide else None
    unused = None
    if not _known_engine(ctx, engine.name):
        unused = f"you have neither used {engine.name} in this repository nor configured it"
    whys = [why for why in (wide, unused) if why]
    if whys and not wanted.trusted:
        hint = f"if you trust who wrote it: git agent resume {note.handle} --trust {wording.message(engine.name)}"
        raise UserError(
            f"the note of run {note.handle} cannot be used: {'; '.join(whys)}", code="note_refused", hints=(hint,)
        )
    there = os.path.join(ctx.repo.top, below)
    cwd = there if below != "." and os.path.isdir(there) and work_tree_of(ctx, there) else ctx.repo.top
    return Adoption(_of_note(ctx, note, wanted, engine, program, asked, cwd), "note", _hidden(asked))


def _of_note(
    ctx: Context, note: Note, wanted: AdoptRequest, engine: Engine, program: Probe, asked: trust.NoteArgs, cwd: str
) -> Record:
    args = merged_args(engine, program, asked.args, wanted.given, resuming=True)
    query = StoreQuery(ctx.environ, cwd, program.version, note.session.value)
    own = note.branch if note.branch and _is_branch(ctx, note.branch) else None
    record = Record(
        handle=note.handle,
        run_id=note.run_id,
        run_directory=run_directory(note.run_id),
        agent_name=engine.name,
        session=note.session,
        launch_args=arguments.launch_args(engine.options, args),
        created_at=timestamp(began(note.run_id)),
        store=asking.store(engine, query, args),
    )
    return _placed(ctx, record, program, _branch(ctx, wanted.branch or own), cwd)


def _hidden(asked: trust.NoteArgs) -> tuple[str, ...]:
    names = ", ".join(asked.hidden)
    return (f"its note hides the values of {names}: give them again after --",) if names else ()


def known(ctx: Context, record: Record, wanted: AdoptRequest) -> Record:
    """The record of a run that is here, as it is to be tied. Nothing is written. Raises UserError `run_live`,
    `run_of_no_branch`, ….

    On a branch `place` finds out where it works; without one it is this work tree's.
    """
    if record.role != "work":
        raise UserError(
            f"run {record.handle} has the role {record.role}, so it is never a branch's",
            code="run_of_no_branch",
            hints=(f"for a run of this branch with the same conversation: git agent fork {record.handle}",),
        )
    refuse_live(ctx, record)
    branch = _branch(ctx, wanted.branch)
    top = work_tree_of(ctx, wanted.cwd) if wanted.cwd else None if branch else ctx.repo.top
    if wanted.cwd and top is None:
        raise UserError(f"'{wanted.cwd}' is outside of this repository", code="directory_outside")
    if wanted.given:
        engine = load(record.agent_name, ctx.environ)
        program = find_program(ctx, engine)
        args = merged_args(engine, program, record.launch_args, wanted.given, resuming=True)
        record = record._replace(launch_args=args)
    if top is not None:
        record = record._replace(worktree=top, worktree_id=trees.identity_of(ctx.repo, top))
    return record._replace(branch=branch, cwd=wanted.cwd or record.cwd)


def taken(ctx: Context, engine: str, value: str) -> str | None:
    """The handle of the run that has this session."""
    rows = listing.listing(ctx.layout, time.time()).rows
    return next((row.handle for row in rows if (row.agent_name, row.session_value) == (engine, value)), None)


def _refuse_taken(ctx: Context, engine: Engine, value: str, branch: str | None) -> None:
    if handle := taken(ctx, engine.name, value):
        named = f" --branch {quote(branch)}" if branch else ""
        raise UserError(
            f"session {value} already belongs to run {handle}",
            code="session_taken",
            hints=(
                f"git agent resume {handle} {wording.message(engine.name)}",
                f"to tie that run to another branch: git agent adopt {handle}{named}",
            ),
        )


def _located(engine: Engine, query: StoreQuery, args: tuple[str, ...]) -> Located:
    """Raises UserError `session_missing` where the engine's store says that it has none of that id."""
    located = asking.locate(engine, query, args)
    if located.state == "absent":
        detail = located.detail or f"{engine.name} has no such session"
        raise UserError(
            f"session {query.session} cannot be adopted: {detail}",
            code="session_missing",
            hints=(f"its sessions of this directory: git agent adopt {engine.name}",),
        )
    return located


def _refuse_untrusted(
    ctx: Context, note: Note, engine: Engine, located: Located, asked: trust.NoteArgs, wanted: AdoptRequest
) -> None:
    """Raises UserError `note_refused` with all that keeps the note from being followed, and the flags that let it be.

    Not for a session that is proven to be of a directory outside: where it is, is reported then.
    """
    home = os.path.realpath(located.cwd) if located.state == "present" and located.cwd else None
    outside = home is not None and work_tree_of(ctx, home) is None
    wide = f"it asks for {', '.join(asked.wide)}, which gives {engine.name} more permissions" if asked.wide else None
    whys = [why for why in (wide, _unproven(ctx, note, engine, located.state, home)) if why]
    if wide and outside:
        whys.append(f"its session belongs to '{home}', outside of this repository")
    if not whys:
        return
    passes = f", and the agent may have {command_line(asked.args)}" if wide else ""
    place = " --cwd ." if outside and wanted.cwd is None else ""
    raise UserError(
        f"the note of run {note.handle} cannot be used: {'; '.join(whys)}",
        code="note_refused",
        hints=(f"if you trust who wrote it{passes}: git agent adopt {note.handle} --trust{place}",),
    )


def _unproven(ctx: Context, note: Note, engine: Engine, state: str, home: str | None) -> str | None:
    """What the store does not prove: that it has the session, and that the session's directory is in no other
    repository.

    A session proven to be of this repository shows that the person has used its engine here, whatever records say.
    """
    if home is not None:
        if (top := work_tree_of(ctx, home)) is None or not refs.is_nested(home, top):
            return None
        return f"its session belongs to '{home}', another repository inside this one"
    if not _known_engine(ctx, engine.name):
        return f"you have neither used {engine.name} in this repository nor configured it"
    if state == "present":
        return f"{engine.name} does not show which directory session {note.session.value} belongs to"
    return f"{engine.name}'s store does not show that it has session {note.session.value}"


def _known_engine(ctx: Context, name: str) -> bool:
    """Has the person used this engine here, named it in their settings, or added it?"""
    settings = ctx.settings
    if name in (settings.engine, *settings.binaries, *settings.args, *settings.modes) or name not in MODULES:
        return True
    return any(row.agent_name == name for row in listing.listing(ctx.layout, time.time()).rows)


def _doubt(engine: Engine, located: Located) -> tuple[str, ...]:
    if located.state == "present":
        return ()
    return (f"cannot tell before a resume whether {engine.name} has this session: {located.detail}",)


def _directory(ctx: Context, engine: Engine, located: Located, asked: str | None, again: str, *, free: bool) -> str:
    """Where the run resumes: the session's own directory, if it is in this repository; else, if `free`, the one asked.
    `again` is the command that says to adopt it all the same, but for the directory.

    Raises UserError `directory_outside`.
    """
    home = os.path.realpath(located.cwd) if located.cwd else None
    if home and not (asked and free) and work_tree_of(ctx, home) is None:
        raise UserError(
            f"the session belongs to '{home}', outside of this repository",
            code="directory_outside",
            hints=(
                *(() if free else (f"continue it there: cd {quote(home)}",)),
                f"to continue it here, if {engine.name} can: {again} --cwd .",
            ),
        )
    cwd = asked or home or (ctx.cwd if work_tree_of(ctx, ctx.cwd) else ctx.repo.top)
    if work_tree_of(ctx, cwd) is None:
        raise UserError(f"'{cwd}' is outside of this repository", code="directory_outside")
    return cwd


def _branch(ctx: Context, asked: str | None) -> str | None:
    if asked is None:
        return ctx.repo.branch or refs.busy_branch(ctx.repo.git_dir)
    if asked != ctx.repo.branch and not _is_branch(ctx, asked):
        raise UserError(f"there is no branch {asked!a}", code="unknown_revision")
    return asked


def _is_branch(ctx: Context, name: str) -> bool:
    """To git, `main~1` below refs/heads is a commit; it is no branch."""
    return name in refs.branches(ctx.repo, None).heads


def _placed(ctx: Context, record: Record, program: Probe, branch: str | None, cwd: str) -> Record:
    top = work_tree_of(ctx, cwd) or ctx.repo.top
    return moved.at_home(record, ctx.layout.common_dir)._replace(
        branch=branch,
        worktree=top,
        worktree_id=trees.identity_of(ctx.repo, top),
        cwd=cwd,
        start_commit=refs.commit_of(ctx.repo, HEADS + branch) if branch else ctx.repo.head,
        attempts=1,
        engine_version=dotted(program.version),
        host=os.uname().nodename,
        updated_at=timestamp(),
    )
