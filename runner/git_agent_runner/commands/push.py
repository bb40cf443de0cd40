"""`git agent push`: bring runs, and their conversations, to other clones. Git itself carries neither unless told to."""

from __future__ import annotations

import os
import time
from collections import Counter

import click

from git_agent_runner import context
from git_agent_runner.attempt.go import closed
from git_agent_runner.console import parse
from git_agent_runner.console.lines import print_json, say
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.text import quote
from git_agent_runner.find.remote import choose
from git_agent_runner.maintain import conversations, exchange, sharing
from git_agent_runner.maintain.conversations import Going
from git_agent_runner.review.noted import REVIEWS
from git_agent_runner.store import notes
from git_agent_runner.store.notes import joining
from git_agent_runner.store.records import listing

SCHEMA = 1
_NO_SECRETS = {"home", "host", "user", "e-mail"}  # what is left out of recordings, and says nothing that opens a door


@click.command(short_help="Share runs with other clones")
@click.argument("remote", required=False)
@click.argument("branches", metavar="[BRANCH]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="The conversations of all branches.")
@click.option("--sessions", is_flag=True, help="Push the conversations, too: this branch's, or those of each BRANCH.")
@click.option("--yes", is_flag=True, help="Push conversations without asking.")
@click.option("--delete", metavar="HANDLE", help="Delete the conversation of this run at REMOTE; push nothing.")
@click.option("-n", "--dry-run", is_flag=True, help="Print what each side lacks; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    remote: str | None,
    branches: tuple[str, ...],
    everything: bool,
    sessions: bool,
    yes: bool,
    delete: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Merge the notes of REMOTE with ours, and push them. REMOTE is this branch's, else origin, else the only one.

    Retried if another clone pushed first. Hooks for pushes are not run. Nothing of either side is lost: if a run has
    two notes, the newer one counts. Conversations are pushed only with --sessions, or agent.share = sessions.
    """
    parse.only_one({"BRANCH": bool(branches), "--all": everything})
    ctx = context.look() if dry_run else context.load()
    name = choose(ctx, remote)
    if delete is not None:
        parse.only_one({"--delete": True}, {"--sessions": sessions}, {"--all": everything}, {"--dry-run": dry_run})
        conversations.delete(ctx, name, delete)
        exchange.tell_deleted(name, delete, as_json=as_json)
        return 0
    sessions = sessions or ctx.settings.share == "sessions"
    if (branches or everything) and not sessions:
        raise UsageError("notes are pushed whole", hints=("to push the conversations of branches: --sessions",))
    going = _going(ctx, name, branches, everything=everything) if sessions else []
    if dry_run:
        _compare(ctx, name, going, as_json=as_json)
        return 0
    going = going if yes else _agreed(name, going)
    _settle(ctx)
    done = sharing.push(ctx, name, REVIEWS)
    sent = conversations.push(ctx, name, going) if going else []
    exchange.tell(ctx, name, done, sent, as_json=as_json)
    return 1 if any(one["result"] == "refused" for one in sent) else 0


def _settle(ctx: Context) -> None:
    """A run whose git-agent was killed has no note yet, so other clones would take an older one for its branch's."""
    for row in listing.listing(ctx.layout, time.time()).rows:
        if row.status != "completed":
            closed(ctx, ctx.runs.read(row.handle))


def _going(ctx: Context, remote: str, branches: tuple[str, ...], *, everything: bool) -> list[Going]:
    records = conversations.chosen(ctx, branches, time.time(), everything=everything)
    return conversations.prepare(ctx, remote, records, _secrets, lenient=not branches)


def _secrets(data: bytes) -> dict[str, int]:
    """Raises UserError `share_unsupported` where what finds them is not installed."""
    from git_agent_fixtures.recording.redact import findings

    try:
        found = Counter({one.kind: one.times for one in findings(data) if one.kind not in _NO_SECRETS})
    except ModuleNotFoundError as missing:
        hint = "in a checkout of git-agent: pip install '.[share]'"
        raise UserError(f"{missing.name} is not installed", code="share_unsupported", hints=(hint,)) from None
    return dict(found)


def _agreed(remote: str, going: list[Going]) -> list[Going]:
    """Those that may go: the person has seen what the new ones hold. Raises UserError `share_unconfirmed`."""
    asked = [one for one in going if one.asks]
    if not asked:
        return going
    if not (os.isatty(0) and os.isatty(2)):
        raise UserError(
            f"who can read {remote} will read what was said; nothing is pushed yet",
            code="share_unconfirmed",
            hints=(*(one.line() for one in asked), f"to push it: git agent push {quote(remote)} --sessions --yes"),
        )
    for one in asked:
        say(one.line())
    if click.confirm(f"Who can read {remote} will read this. Push it?", err=True):
        return going
    return [one for one in going if not one.asks]


def _compare(ctx: Context, remote: str, going: list[Going], *, as_json: bool) -> None:
    found = joining.compare(ctx.repo, notes.tip(ctx.repo, notes.REF), sharing.look(ctx, remote))
    if as_json:
        sent = [one.object(one.what.relation) for one in going]
        own = {"toPush": found.lacking, "toFetch": found.got, "conversations": sent}
        print_json({"schema": SCHEMA, "remote": remote, **own})
        return
    print(f"to push    {exchange.runs(found.lacking)}\nto fetch   {exchange.runs(found.got)}")
    for one in going:
        print(f"{exchange.COMPARED[one.what.relation]} {one.line()}")
