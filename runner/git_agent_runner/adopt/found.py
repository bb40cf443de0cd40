"""Find the run that a command line names; adopt it if only a note knows it."""

from __future__ import annotations

import os

from git_agent_runner.attempt.go import Request
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.find.lookup import Elsewhere, Where, find


def found(ctx: Context, where: Where, request: Request, *, trusted: bool) -> Record | UserError:
    """The run that these words name; one that only a note knows is adopted."""
    run = find(ctx, where, verbose=request.verbose, ties=not request.dry_run)
    if isinstance(run, Record) and os.path.lexists(f"{ctx.layout.root}/continued/{run.handle}") and not request.session:
        from git_agent_runner.adopt import arrive  # a rare need

        return arrive.newer(ctx, run, given=trusted, dry_run=request.dry_run)
    if not isinstance(run, Elsewhere):
        return run
    return _taken_up(ctx, run, trusted=trusted, dry_run=request.dry_run)


def _taken_up(ctx: Context, elsewhere: Elsewhere, *, trusted: bool, dry_run: bool) -> Record | UserError:
    """The record of a run that only a note knows, written unless `dry_run`; or the reason why it cannot be resumed."""
    from git_agent_runner.adopt import decide  # a rare need
    from git_agent_runner.adopt.write import write
    from git_agent_runner.console.lines import say, warn

    try:
        adoption = decide.noted(ctx, elsewhere.note, decide.AdoptRequest(trusted=trusted))
    except UserError as error:
        if error.code not in ("session_missing", "directory_outside"):
            return error
        from git_agent_runner.adopt import arrive

        coming = arrive.new(ctx, elsewhere.note, given=trusted, dry_run=dry_run)
        if coming is not None:
            return coming
        others = (hint for hint in elsewhere.hints if "git agent adopt" not in hint)  # which has just failed
        elsewhere.hints = (error.message, *others)
        return elsewhere
    if dry_run:
        return adoption.record
    record, warnings = write(ctx, adoption)
    for line in (f"run {record.handle} is adopted from its note", *adoption.says):
        say(line)
    for text in warnings:
        warn(text)
    return record
