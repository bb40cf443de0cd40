"""`git agent log`: a run's messages and tool calls, read from what its attempts printed."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from math import inf

import click

from git_agent_extractors.model import Event
from git_agent_extractors.read import events
from git_agent_runner import context, engines
from git_agent_runner.attempt.spending import before, of_attempt, of_event
from git_agent_runner.console.lines import print_json, warn
from git_agent_runner.console.pager import paged
from git_agent_runner.console.render import FULL, Renderer
from git_agent_runner.context import Context
from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Attempt, Record
from git_agent_runner.core.text import shown
from git_agent_runner.find.lookup import named
from git_agent_runner.store.records import attempts

SCHEMA = 1


@click.command(short_help="Show a run's messages and tool calls")
@click.argument("name", metavar="[HANDLE|BRANCH]", required=False)
@click.option("--attempt", "number", type=click.IntRange(min=1), metavar="N", help="Only this attempt.")
@click.option("--full", is_flag=True, help="Show the results of tools in full.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each event.")
@click.option("--no-pager", is_flag=True, help="On a terminal, print without a pager.")
def command(name: str | None, number: int | None, full: bool, as_json: bool, no_pager: bool) -> int:
    """Show the messages and tool calls of the run HANDLE, of BRANCH's run, or of this branch's: all attempts, oldest
    first."""
    ctx = context.look()
    record = named(ctx, name)
    found, problems = attempts.readable(ctx.layout, record.run_id)
    told = attempts.chosen(record, found, number) if number else found
    if as_json:
        for attempt in told:
            _print_objects(ctx, attempt)
    else:
        with paged(ctx.environ, lambda: context.own_value(ctx, "core.pager"), wanted=not no_pager) as out:
            for text in _story(ctx, record, told, full=full, colour=out.colour):
                out.write(text)
    for problem in problems:
        warn(problem)
    return 0


def _story(ctx: Context, record: Record, told: list[Attempt], *, full: bool, colour: bool) -> Iterator[str]:
    """The text piece by piece: a transcript may be larger than memory."""
    yield f"run {record.handle}  {shown(record.agent_name)} on {shown(record.branch or '(detached HEAD)')}\n"
    width = FULL if full else shutil.get_terminal_size((100, 24)).columns
    for attempt in told:
        began = shown(f"{attempt.kind}, {attempt.started_at}, {_came_to(attempt)}")
        yield f"\nattempt {attempt.number}  {began}\n"
        if attempt.message is not None:
            yield "".join(f"> {shown(line)}\n" for line in attempt.message.split("\n"))
        renderer, unknown = Renderer(colour=colour, width=width), Counter[str]()
        for event in _events(ctx, attempt):
            if event.data.get("role") == "user" and event.text == attempt.message:
                continue  # shown above
            if event.kind == "unknown":
                unknown[event.name] += 1
            yield renderer.text(event)
        yield renderer.close()
        if unknown:
            kinds = ", ".join(f"{shown(name)} {count}" for name, count in unknown.most_common())
            yield f"events that are not known: {kinds}\n"


def _came_to(attempt: Attempt) -> str:
    return attempt.status or ("nothing was run" if attempt.kind in ("adopt", "fork") else "not settled")


def _events(ctx: Context, attempt: Attempt) -> Iterator[Event]:
    """The events of an attempt. A terminal interface prints none, so its session is read."""
    if attempt.interactive:
        yield from _said(ctx, attempt)
    spent = before(ctx, of_attempt(attempt))
    for event in events(engines.profile(attempt.agent_name, ctx.environ), attempts.outputs(ctx.layout, attempt)):
        yield of_event(event, spent)


def _said(ctx: Context, attempt: Attempt) -> Iterator[Event]:
    """What both sides said during the attempt, from the backup of the session."""
    from git_agent_runner.conversation import place  # a rare need

    try:
        found = place.copied(ctx, attempt.run_id, attempt.session.value or "")
        engine = engines.load(attempt.agent_name, ctx.environ)
    except (OSError, ValueError, UserError):
        return
    began, ended = (moment(text or "") for text in (attempt.started_at, attempt.ended_at))
    for piece in sorted(found.pieces, key=lambda piece: os.path.basename(piece.name)) if found else ():
        for turn in engine.turns(piece.data):
            if turn.text and turn.at and (began or 0.0) <= turn.at <= (ended or inf):
                yield Event("message", turn.text, data={"role": "user" if turn.prompt else "assistant"})


def _print_objects(ctx: Context, attempt: Attempt) -> None:
    """docs/json.md describes them."""
    for event in _events(ctx, attempt):
        told = {"kind": event.kind, "name": event.name, "text": event.text, "data": event.data}
        print_json({"schema": SCHEMA, "attempt": attempt.number, **told})
