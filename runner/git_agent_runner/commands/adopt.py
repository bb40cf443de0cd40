"""`git agent adopt`: import a session that an engine already has, or a run known only from a note."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import click

from git_agent_runner import context
from git_agent_runner.adopt import decide
from git_agent_runner.adopt.write import Adoption, write
from git_agent_runner.console import parse
from git_agent_runner.console.lines import Summary, print_json, print_summary, say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines import load, wording
from git_agent_runner.find.lookup import Elsewhere, Where, find, resume_line
from git_agent_runner.find.tie import tie
from git_agent_runner.git import HEADS, refs
from git_agent_runner.store import pointer
from git_agent_runner.store.files.layout import HANDLE_LENGTH, HEX
from git_agent_runner.store.records.index import PREFIX_LENGTH

SCHEMA = 1


@click.command(cls=parse.EngineCommand, short_help="Tie an engine's session, or a run, to this branch")
@click.argument("words", metavar="[ENGINE [SESSION] | HANDLE]", nargs=-1)
@click.option("--branch", metavar="NAME", help="Tie it to this branch instead of the current one.")
@click.option("--cwd", metavar="DIR", help="Resume in this directory of the repository (default: the session's own).")
@click.option(
    "--trust", is_flag=True, help="Accept flags from the note of HANDLE that give the agent more permissions."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(words: tuple[str, ...], branch: str | None, cwd: str | None, trust: bool, as_json: bool) -> int:
    """Tie a session that was started by hand, or a run, to this branch, or to this work tree if it has none.

    No engine is started. A run has one branch: if it had another one before, that one is named.

    Without SESSION: the one session in this directory, of ENGINE or agent.engine, that belongs to no run yet. If there
    are several, they are listed. What follows -- are flags for the engine, passed again on every resume.
    """
    if cwd is not None and not os.path.isdir(cwd):
        raise UsageError(f"--cwd: there is no directory '{cwd}'", hints=("give one that exists",))
    ctx = context.load()
    place = None if cwd is None else os.path.realpath(cwd)
    wanted = decide.AdoptRequest(branch, place, parse.engine_args(), trust)
    found = _adoption(ctx, words, wanted)
    record, says, warnings, origin = _tied(ctx, found, wanted) if isinstance(found, Record) else _made(ctx, found)
    for line in says:
        say(line)
    for text in warnings:
        warn(text)
    if as_json:
        print_json(_object(record, origin, warnings))
    else:
        print_summary(_summary(ctx, record))
    return 0


class Adopted(NamedTuple):
    """The run as it is now, the lines to print, what could not be written, and where its session comes from."""

    record: Record
    says: tuple[str, ...]
    warnings: tuple[str, ...]
    origin: str


def _made(ctx: Context, adoption: Adoption) -> Adopted:
    before = pointer.read(ctx.repo, ctx.config).get(adoption.record.branch or "")
    record, warnings = write(ctx, adoption)
    return Adopted(record, (*adoption.says, *_replaced(ctx, record, before)), warnings, adoption.origin)


def _tied(ctx: Context, run: Record, wanted: decide.AdoptRequest) -> Adopted:
    """A run that already exists here, whatever branch it belonged to; that branch is named."""
    known = decide.known(ctx, run, wanted)
    done = tie(ctx, known)
    was = f"branch '{run.branch}'" if run.branch else f"the work tree '{run.worktree}'"
    same = (run.branch, run.worktree_id if run.branch is None else "") == (
        known.branch,
        known.worktree_id if known.branch is None else "",
    )
    says = () if same else (f"run {run.handle} belonged to {was} until now",)
    return Adopted(done.record, (*says, *_replaced(ctx, done.record, done.replaced)), done.warnings, "record")


def _adoption(ctx: Context, words: tuple[str, ...], wanted: decide.AdoptRequest) -> Adoption | Record:
    """The session or noted run to adopt, or the run that already exists here."""
    if len(words) > 2:
        raise UsageError("too many arguments", hints=("git agent adopt ENGINE SESSION, or git agent adopt HANDLE",))
    if len(words) == 1 and PREFIX_LENGTH <= len(words[0]) <= HANDLE_LENGTH and not words[0].strip(HEX):
        return _noted(ctx, words[0], wanted)
    if wanted.trusted:
        raise UsageError("--trust is only for a run known from a note", hints=("give its handle",))
    name = words[0] if words else ctx.settings.engine
    if name is None:
        hints = ("git agent adopt ENGINE", "or: git config --global agent.engine claude")
        raise UserError("no engine given, and agent.engine is not set", code="engine_unset", hints=hints)
    engine = load(name, ctx.environ)
    if len(words) == 2:
        return decide.session(ctx, engine, words[1], wanted)
    chosen = decide.choose(ctx, engine, wanted.cwd or ctx.cwd)
    return decide.session(ctx, engine, chosen, wanted, "store")


def _noted(ctx: Context, handle: str, wanted: decide.AdoptRequest) -> Adoption | Record:
    found = find(ctx, Where(handle))
    if isinstance(found, Elsewhere):
        return decide.noted(ctx, found.note, wanted)
    if isinstance(found, UserError):
        raise found
    return found


def _replaced(ctx: Context, record: Record, before: str | None) -> tuple[str, ...]:
    if before is None or before == record.handle:
        return ()
    words = f"branch '{record.branch}' used run {before} until now"
    try:
        return (f"{words}; to continue that one: {wording.resume(ctx.runs.read(before))}",)
    except UserError:  # its record cannot be read
        return (words,)


def _summary(ctx: Context, record: Record) -> Summary:
    return Summary(
        handle=record.handle,
        engine=record.agent_name,
        session=f"{record.session.field} {record.session.value}",
        branch=f"{record.branch or '(detached)'} @ {(_tip(ctx, record.branch) or 'unborn')[:7]}",
        run=f"{os.path.relpath(ctx.layout.run(record.run_id), ctx.cwd)}  adopted, nothing was run",
        resume=resume_line(ctx, record),
    )


def _tip(ctx: Context, branch: str | None) -> str | None:
    return refs.commit_of(ctx.repo, HEADS + branch) if branch else ctx.repo.head


def _object(record: Record, origin: str, warnings: tuple[str, ...]) -> dict[str, Any]:
    """Schema 1 of `adopt --json`; docs/json.md describes it."""
    return {
        "schema": SCHEMA,
        "handle": record.handle,
        "runId": record.run_id,
        "engine": record.agent_name,
        "session": record.session._asdict(),
        "sessionFrom": origin,
        "branch": record.branch,
        "cwd": record.cwd,
        "launch": {"args": list(record.launch_args)},
        "warnings": list(warnings),
    }
