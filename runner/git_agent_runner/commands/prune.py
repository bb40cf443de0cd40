"""`git agent prune`: remove runs that are old, large or no longer needed."""

from __future__ import annotations

import re
import time
from typing import Any

import click

from git_agent_runner import context
from git_agent_runner.console.lines import print_json, table, warn
from git_agent_runner.console.progress import counted
from git_agent_runner.context import Context
from git_agent_runner.core.clock import age, duration, told
from git_agent_runner.core.errors import UsageError, UserError
from git_agent_runner.core.text import shown
from git_agent_runner.maintain import pruning
from git_agent_runner.maintain.pruning import Criteria, PruneItem
from git_agent_runner.store.records import listing
from git_agent_runner.store.records.rows import Row

SCHEMA = 1
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _seconds(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    if text is None:
        return None
    seconds = duration(text)
    if seconds is None or text[-1].isdigit():  # a bare number must not delete what somebody meant in days
        raise UsageError(f"invalid age '{shown(text)}'", hints=("write 12h, 30d or 8w",))
    return seconds


def _bytes(_ctx: click.Context, _param: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,12})([KMGT]?)", text.upper())
    if not found:
        raise UsageError(f"'{text}' is not a size", hints=("write 500M or 2G, of 1024 bytes to the K",))
    return int(found[1]) * _SIZES[found[2]]


@click.command(short_help="Remove runs that are old, large or no longer needed")
@click.argument("handles", metavar="[HANDLE]...", nargs=-1)
@click.option(
    "--older-than",
    metavar="AGE",
    callback=_seconds,
    help="Only runs that have not changed for this long: 12h, 30d, 8w.",
)
@click.option(
    "--keep-size", metavar="SIZE", callback=_bytes, help="Remove the oldest until the rest fits in SIZE, e.g. 1G."
)
@click.option("--merged", is_flag=True, help="Only runs of branches that are merged or deleted.")
@click.option("--notes", "with_notes", is_flag=True, help="Also remove their lines from this clone's notes.")
@click.option("-n", "--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    handles: tuple[str, ...],
    older_than: float | None,
    keep_size: int | None,
    merged: bool,
    with_notes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove records, run directories and pointers of finished runs: the HANDLEs, or those that match all criteria.

    A run that is running or was never settled is not removed, nor is one that an unmerged branch points at,
    unless you name it. Sessions stay in their engines' own stores.
    """
    criteria = Criteria(older_than, keep_size, merged)
    if bool(handles) == (criteria != Criteria()):
        what = "both handles and criteria were given" if handles else "which runs?"
        raise UsageError(what, hints=("name handles, or give --older-than, --keep-size or --merged",))
    ctx = context.load()
    now = time.time()
    rows, problems = listing.listing(ctx.layout, now)
    for problem in problems:
        warn(f"skipped: {problem.message}")
    if handles:
        runs = pruning.named(ctx, _named(ctx, rows, handles))
    else:
        runs = pruning.choose(ctx, rows, criteria, now, lambda meant: counted("runs", meant))
    done = [
        run if run.kept or dry_run else _removed(ctx, run, with_notes=with_notes) for run in counted("removals", runs)
    ]
    if as_json:
        print_json(_object(done, dry_run=dry_run))
    else:
        _print(done, now, dry_run=dry_run)
    return 1 if any(run.kept for run in done) and handles else 0


def _named(ctx: Context, rows: list[Row], handles: tuple[str, ...]) -> list[Row]:
    """Raises UserError `unknown_handle` or `ambiguous_handle`, before anything is removed."""
    found = []
    for text in dict.fromkeys(handles):
        known = ctx.runs.find_prefix(text)
        row = next((row for row in rows if [row.handle] == known), None)
        if row is None:
            code, what = ("ambiguous_handle", "more than one") if len(known) > 1 else ("unknown_handle", "no")
            hints = ("`git agent list` shows the runs of this repository",)
            raise UserError(f"{what} readable run has the handle {text!a}", code=code, hints=hints)
        found.append(row)
    return found


def _removed(ctx: Context, run: PruneItem, *, with_notes: bool) -> PruneItem:
    try:
        pruning.remove(ctx, run, with_notes=with_notes)
    except UserError as error:
        return run._replace(kept=error.message)
    return run


def _print(runs: list[PruneItem], now: float, *, dry_run: bool) -> None:
    gone = [run for run in runs if not run.kept]
    if gone:
        print(table(("HANDLE", "ENGINE", "BRANCH", "WHEN", "SIZE"), [_cells(run, now) for run in gone]))
    for run in runs:
        if run.kept:
            warn(f"run {run.row.handle} was not removed: {run.kept}")
    total = sum(run.size for run in gone)
    print(
        f"{'would remove' if dry_run else 'removed'} {len(gone)} {'run' if len(gone) == 1 else 'runs'}, {_size(total)}"
    )


def _cells(run: PruneItem, now: float) -> tuple[str, ...]:
    row = run.row
    return (row.handle, row.agent_name, row.branch or "(detached)", age(row.updated_at, now), _size(run.size))


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _object(runs: list[PruneItem], *, dry_run: bool) -> dict[str, Any]:
    """Schema 1 of `prune --json`; docs/json.md describes it."""
    gone = [run for run in runs if not run.kept]
    return {
        "schema": SCHEMA,
        "dryRun": dry_run,
        "removed": [_facts(run) for run in gone],
        "bytes": sum(run.size for run in gone),
        "kept": [{"handle": run.row.handle, "reason": run.kept} for run in runs if run.kept],
    }


def _facts(run: PruneItem) -> dict[str, Any]:
    row = run.row
    return {
        "handle": row.handle,
        "runId": row.run_id,
        "engine": row.agent_name,
        "branch": row.branch,
        "updatedAt": told(row.updated_at),
        "bytes": run.size,
    }
