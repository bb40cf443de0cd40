"""What `git agent push` and `git agent fetch` print of what came and went."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from git_agent_runner.console.lines import hint, print_json, say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.engines import wording
from git_agent_runner.find.resolve import resolve
from git_agent_runner.git import settings
from git_agent_runner.maintain.sharing import BothSides
from git_agent_runner.store import continued, notes

SCHEMA = 1
COMPARED = {"ahead": "to push   ", "same": "there     ", "behind": "older here", "parted": "parted    "}
_DONE = {"same": "is there already", "behind": "the remote's is newer: git agent fetch"}


def came_of(
    handle: str,
    result: str,
    turns: int | None = None,
    size: int | None = None,
    secrets: Mapping[str, int] | None = None,
    detail: str | None = None,
) -> dict[str, Any]:
    """One of `conversations` in what `push` and `fetch` print as JSON; docs/json.md describes it."""
    return {
        "handle": handle,
        "result": result,
        "turns": turns,
        "size": size,
        "secrets": dict(secrets or {}),
        "detail": detail,
    }


def tell(ctx: Context, remote: str, done: BothSides, shared: list[dict[str, Any]], *, as_json: bool) -> None:
    """`shared` is what came of each conversation."""
    lines, reviews = done
    continued.mark(ctx.repo, ctx.layout, ctx.runs)
    if notes.exists(ctx.repo) and notes.ensure_config(ctx.repo):
        say("set up git to keep agent notes through amend and rebase (shown once)")
    if as_json:
        own = {"fetchedReviews": reviews.fetched, "pushedReviews": reviews.pushed}
        counts = {"fetched": lines.fetched, "pushed": lines.pushed}
        print_json({"schema": SCHEMA, "remote": remote, **counts, **own, "conversations": shared})
        return
    print(f"fetched {runs(lines.fetched)} from {remote}, pushed {runs(lines.pushed)}")
    if any(reviews):
        print(f"review verdicts: fetched {reviews.fetched}, pushed {reviews.pushed}")
    for one in shared:
        _tell_conversation(one)
    if lines.fetched:
        hint(_way_on(ctx))


def _tell_conversation(one: dict[str, Any]) -> None:
    handle, result = one["handle"], one["result"]
    if result == "refused":
        warn(f"conversation of run {handle}: {one['detail']}")
        return
    if result == "parted":
        warn(
            f"conversation of run {handle}: another machine continued it, too; the remote has both, and goes on with"
            " the other one",
            (f"to make the one here a conversation of its own: git agent fork {handle}",),
        )
        return
    facts = [f"{one['turns']} turns"] if one["turns"] else []
    facts += [f"{one['size']} bytes"] if one["size"] else []
    print(", ".join((f"conversation of run {handle}: {_DONE.get(result, result)}", *facts)))


def tell_deleted(remote: str, handle: str, *, as_json: bool) -> None:
    gone: dict[str, Any] = {
        "handle": handle,
        "result": "deleted",
        "turns": None,
        "size": None,
        "secrets": {},
        "detail": None,
    }
    if as_json:
        own = dict.fromkeys(("fetched", "pushed", "fetchedReviews", "pushedReviews"), 0)
        print_json({"schema": SCHEMA, "remote": remote, **own, "conversations": [gone]})
    else:
        print(f"conversation of run {handle}: deleted from {remote}; who has fetched it still has it")


def _way_on(ctx: Context) -> str:
    """How to continue with what came for this branch."""
    try:
        found = resolve(ctx.repo, settings.read(ctx.repo), ctx.runs, time.time())
    except UserError:
        return "see them: git agent list"
    here = f"branch '{ctx.repo.branch}'" if ctx.repo.branch else "this work tree"
    if found.record:
        return f"run {found.handle} belongs to {here}: git agent resume {wording.message(found.record.agent_name)}"
    engine = shown(found.note.agent_name) if found.note else "its engine"
    return f"run {found.handle} belongs to {here}; if {engine} has its session here: git agent adopt {found.handle}"


def runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
