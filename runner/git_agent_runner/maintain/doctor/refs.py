"""Findings of `git agent doctor`: pointers to nothing, runs that no note names, notes that git would lose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from git_agent_runner.context import Context
from git_agent_runner.core.model import Record
from git_agent_runner.core.text import quote
from git_agent_runner.find.running import hold
from git_agent_runner.git import refs
from git_agent_runner.maintain.doctor.finding import REPAIR, Finding, RepositoryFacts, still
from git_agent_runner.store import gitconfig, notes, pointer
from git_agent_runner.store.notes import writing

MANY = 1000  # pointers; 5,000 take a `git rev-parse` from 1.5 to 7 ms

# What loses lines when two notes meet: on a merge of notes, and on a squash.
_LOSSY = {"notes.mergestrategy": ("ours", "theirs"), "notes.rewritemode": ("overwrite", "ignore")}


def elsewhere(known: RepositoryFacts) -> list[str]:
    """The handles that only notes know: another clone's runs, and those that were pruned here. Nothing is wrong."""
    return sorted(_noted(known) - {*known.records, *known.runs, *known.ctx.runs.handles()})


def pointers(known: RepositoryFacts) -> Iterator[Finding]:
    """A pointer whose run has neither a record nor a directory; and that many that git is slowed."""
    ctx = known.ctx
    here = {*known.records, *known.runs, *ctx.runs.handles()}
    noted = _noted(known)
    pointers = [
        (branch, handle) for branch, handles in pointer.every(ctx.repo, ctx.config).items() for handle in handles
    ]
    if len(pointers) > MANY:
        yield Finding(
            "pointers_many",
            f"{len(pointers)} pointers of branches are in git's configuration, which every git command reads",
            "git agent prune --merged, which removes the runs of merged branches and their pointers",
        )
    for branch, handle in pointers:
        if handle in here:
            continue
        key = f"branch.{branch}.agentHandle"
        unset = f"git config --unset {quote(key)} {handle}"
        yield Finding(
            "pointer_dangling",
            f"branch '{branch}' points at run {handle}, which has no record",
            f"git agent adopt {handle}, which rebuilds it from the note; or: {unset}" if handle in noted else unset,
            prune=partial(gitconfig.unset, ctx.repo, key, handle),
        )


def unnoted(known: RepositoryFacts) -> Iterator[Finding]:
    """Runs that have ended on a commit, and are on none of the notes: another clone would never know of them."""
    noted = _noted(known)
    left = {handle: commit for handle, commit in _ends(known).items() if handle not in noted}
    gone = refs.missing(known.ctx.repo, left.values()) if left else set()
    for handle, commit in left.items():
        if commit not in gone:
            yield Finding(
                "note_missing",
                f"run {handle}, which ended on commit {commit[:12]}, has no note",
                REPAIR,
                partial(_note, known.ctx, commit, known.records[handle]),
            )


def _noted(known: RepositoryFacts) -> set[str]:
    return {note.handle for runs in known.noted.by_commit.values() for note in runs}


def _ends(known: RepositoryFacts) -> dict[str, str]:
    """Handle -> the commit that its run ended on. Only what can be a branch's is noted."""
    ends = {}
    for handle, record in known.records.items():
        attempt = known.seen.latest(record.run_id) if record.role == "work" and handle in known.runs else None
        if attempt and attempt.ended_at and attempt.head_after:
            ends[handle] = attempt.head_after
    return ends


def _note(ctx: Context, commit: str, record: Record) -> None:
    with hold(ctx, record):
        if now := still(ctx, record.handle):
            writing.write(ctx.repo, commit, now)


def carried(known: RepositoryFacts) -> Iterator[Finding]:
    """Does git carry notes along, and keep every line of them?"""
    ctx = known.ctx
    if not notes.exists(ctx.repo):
        return
    if not notes.carried(ctx.config):
        problem = "notes are lost when a commit is amended or rebased"
        yield Finding("notes_not_carried", problem, "git agent init", partial(notes.ensure_config, ctx.repo))
    for command in ("amend", "rebase"):
        if ctx.config.last(f"notes.rewrite.{command}") in ("false", "no", "off", "0"):
            problem = f"notes.rewrite.{command} is off, so git {command} loses notes"
            yield Finding("notes_not_carried", problem, f"git config notes.rewrite.{command} true")
    for key, lossy in _LOSSY.items():
        # `notes.agent.mergeStrategy` is for our ref alone, and wins.
        value = (key == "notes.mergestrategy" and ctx.config.last("notes.agent.mergestrategy")) or ctx.config.last(key)
        if value in lossy:
            own = "notes.rewriteMode" if key == "notes.rewritemode" else "notes.agent.mergeStrategy"
            best = "concatenate" if key == "notes.rewritemode" else "cat_sort_uniq"
            problem = f"git's setting '{value}' for notes keeps only one of two runs noted on one commit"
            yield Finding("notes_lossy", problem, f"git config {own} {best}")


def malformed(known: RepositoryFacts) -> Iterator[Finding]:
    """Lines in notes that are no run, or are dated in the future."""
    for runs in known.noted.by_commit.values():
        for note in filter(notes.is_to_come, runs):
            problem = f"note on {note.commit[:12]}: run {note.handle} is dated {note.updated_at}, in the future"
            fix = "any other line of the run takes precedence; the next resume corrects the date"
            yield Finding("note_malformed", problem, fix)
    for wrong in known.noted.problems:
        yield Finding("note_malformed", wrong.problem, wrong.fix)
