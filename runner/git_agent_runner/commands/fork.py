"""`git agent fork`: a second conversation that starts from the first, for this branch."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import click

from git_agent_runner import context
from git_agent_runner.adopt import write
from git_agent_runner.attempt.go import Request, go, refuse_start
from git_agent_runner.attempt.plan import Plan, plan_resume
from git_agent_runner.console import parse
from git_agent_runner.console.lines import Summary, print_json, print_summary, say, warn
from git_agent_runner.context import Context
from git_agent_runner.conversation import fork
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines import arguments, load
from git_agent_runner.find.lookup import Where, found_record, named, resume_line
from git_agent_runner.git import refs
from git_agent_runner.store import pointer
from git_agent_runner.store.files.layout import new_handle, new_run_id
from git_agent_runner.windows import handover

SCHEMA = 1


@click.command(cls=parse.EngineCommand, short_help="Continue a copy of a conversation on this branch")
@click.argument("words", metavar="[HANDLE | BRANCH] [MESSAGE]", nargs=-1)
@click.option("-e", "--engine", metavar="ENGINE", help="The engine of the copy (default: the run's own).")
@click.option("--commit", metavar="REV", help="The conversation as it was when this commit was made.")
@click.option("-m", "--message", "message_text", metavar="TEXT", help="The message, e.g. a single word.")
@click.option("--message-file", metavar="FILE", help="Read the message from FILE.")
@click.option("-n", "--dry-run", is_flag=True, help="Print what would be copied, and the exact command.")
@click.option(
    "--timeout",
    callback=parse.seconds,
    metavar="TIME",
    help="End the engine after this time: 600, 90s, 10m, 2h.",
)
@click.option("--raw", is_flag=True, help="Show the engine's raw output.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Explain how run, session and directory were chosen.")
def command(  # noqa: PLR0917  click passes options by name
    words: tuple[str, ...],
    engine: str | None,
    commit: str | None,
    message_text: str | None,
    message_file: str | None,
    dry_run: bool,
    timeout: float | None,
    raw: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Copy a run's conversation under a new id, as a run of this branch. The first conversation is not changed.

    Which run: by its HANDLE or its BRANCH, renamed, merged or deleted ones too; this branch's without one. The MESSAGE
    (`-` reads it from standard input) is sent to the copy. What follows -- goes to the engine, on every resume.
    """
    parse.only_one({"--raw": raw, "--json": as_json})
    ctx = context.load()
    old, said = _source(ctx, words, verbose=verbose)
    message = parse.read_message(said, message_text, message_file, ("--message", "--message-file"))
    handover.drop(ctx.layout, message_file)
    request = Request(
        given=parse.engine_args(),
        message=message,
        timeout=timeout,
        raw=raw,
        as_json=as_json,
        verbose=verbose,
        dry_run=dry_run,
    )
    if message is None and dry_run:
        raise UsageError("-n needs a message", hints=('git agent fork -n BRANCH "<message>"',))
    until = None if commit is None else fork.until_commit(ctx, old, _commit(ctx, commit))
    forking = fork.prepare(ctx, old, engine, until, request.given)
    request = request._replace(given=_attached(ctx, forking, request))
    if message is not None:
        plan = _plan(
            ctx, forking, request
        )  # what keeps the message from being sent is found out before anything is made
        if dry_run:
            say(f"first, {forking.why('would be')}")
            return _shown(plan, as_json=as_json)
        refuse_start(ctx, interactive=False)
    made, warnings = _made(ctx, forking)
    say(forking.why("was"))
    for text in warnings:
        warn(text)
    if message is not None:
        return go(ctx, request, "strict", made)
    if as_json:
        print_json(_object(forking, made, warnings))
    else:
        print_summary(_summary(ctx, made))
    return 0


def _source(ctx: Context, words: tuple[str, ...], *, verbose: bool) -> tuple[Record, str | None]:
    """(the run, the message) of the words. Raises UsageError for a word that may be a mistyped name."""
    if len(words) > 2:
        raise UsageError("too many arguments", hints=('git agent fork BRANCH "<message>"',))
    if not words or (len(words) == 1 and (words[0] == "-" or any(map(str.isspace, words[0])))):
        return found_record(ctx, Where(), verbose=verbose, ties=False), (*words, None)[0]
    name, message = words[0], words[1] if len(words) == 2 else None
    try:
        return named(ctx, name, verbose=verbose, ties=False), message
    except UserError as error:
        if len(words) == 1 and error.code in ("no_run", "branch_unknown", "unknown_handle"):
            error.hints = (f"to send the word itself: git agent fork --message={name}", *error.hints)
        raise


def _attached(ctx: Context, forking: fork.Fork, request: Request) -> tuple[str, ...]:
    """The words for the engine that belong to this message; the copy has the others. Raises UsageError."""
    found = arguments.find(load(forking.record.agent_name, ctx.environ).options, request.given, "attachment")
    if found and request.message is None:
        raise UsageError(f"{found[0].name} needs a message", hints=('git agent fork BRANCH "<message>"',))
    return tuple(text for word in found for text in word.words)


def _commit(ctx: Context, revision: str) -> str:
    found = refs.commit_of(ctx.repo, revision)
    if found is None:
        raise UserError(f"{revision!a} is not a commit", code="unknown_revision", hints=("git log shows them",))
    return found


def _plan(ctx: Context, forking: fork.Fork, request: Request) -> Plan:
    """What sends the message to the copy. Raises UserError as `plan_resume` does."""
    handle = new_handle()  # no run has it
    record = forking.record._replace(
        handle=handle, run_id=new_run_id(datetime.now(UTC), forking.record.agent_name, handle)
    )
    return plan_resume(ctx, record, request.given, request.message, coming=True)


def _shown(plan: Plan, *, as_json: bool) -> int:
    from git_agent_runner.attempt.dry_run import dry_run

    dry_run(plan._replace(record=plan.record._replace(handle="")), as_json=as_json)
    return 0


def _made(ctx: Context, forking: fork.Fork) -> tuple[Record, tuple[str, ...]]:
    """The new run, and what could not be written of it."""
    before = pointer.read(ctx.repo, ctx.config).get(forking.record.branch or "")
    fork.put(ctx, forking)
    made, warnings = write.write(ctx, write.Adoption(forking.record, "record"))
    with suppress(OSError):  # a longer way back to what was shortened; the conversation itself is there
        fork.remember(ctx, forking, made)
    if before and before != made.handle:
        resume = f'git agent resume {before} "<message>"'
        say(f"branch '{made.branch}' used run {before} until now; to continue that one: {resume}")
    return made, warnings


def _summary(ctx: Context, record: Record) -> Summary:
    return Summary(
        handle=record.handle,
        engine=record.agent_name,
        session=f"{record.session.field} {record.session.value}",
        branch=f"{record.branch or '(detached)'} @ {(record.start_commit or 'unborn')[:7]}",
        run=f"{os.path.relpath(ctx.layout.run(record.run_id), ctx.cwd)}  fork of {record.forked_from}, nothing was run",
        resume=resume_line(ctx, record),
    )


def _object(forking: fork.Fork, record: Record, warnings: tuple[str, ...]) -> dict[str, Any]:
    """Schema 1 of `fork --json` without a message; docs/json.md describes it."""
    return {
        "schema": SCHEMA,
        "handle": record.handle,
        "runId": record.run_id,
        "engine": record.agent_name,
        "session": record.session._asdict(),
        "forkedFrom": record.forked_from,
        "parentSession": record.parent_session,
        "turns": forking.turns,
        "branch": record.branch,
        "cwd": record.cwd,
        "launch": {"args": list(record.launch_args)},
        "warnings": list(warnings),
    }
