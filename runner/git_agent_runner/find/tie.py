"""Tying a run to another branch, or to another work tree without one, than it was tied to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from git_agent_runner.context import Context, later
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.git import HEADS, refs, settings, trees
from git_agent_runner.store import pointer
from git_agent_runner.store.notes import writing
from git_agent_runner.store.records import attempts


class Tied(NamedTuple):
    """The record now. `replaced` is the run that the branch pointed at before; `warnings` are what was not written."""

    record: Record
    replaced: str | None
    warnings: tuple[str, ...]


def tie(ctx: Context, record: Record) -> Tied:
    """Write down what the record says of branch and directory; its session and the rest stay as they are on disk.

    Raises UserError where the record cannot be written.
    """
    known = ctx.runs.update(
        record.handle,
        lambda old: old._replace(
            branch=record.branch,
            worktree=record.worktree,
            worktree_id=record.worktree_id,
            cwd=record.cwd,
            launch_args=record.launch_args,
            updated_at=later(old.updated_at),
        ),
    )
    replaced = pointer.read(ctx.repo, settings.read(ctx.repo)).get(known.branch or "")
    tip = refs.commit_of(ctx.repo, HEADS + known.branch) if known.branch else ctx.repo.head
    writes = (
        lambda: _save_attempt(ctx, known),
        lambda: writing.write(ctx.repo, tip, known),
        lambda: repoint(ctx, known),
    )
    warnings = tuple(text for write in writes if (text := _failed(write)))
    return Tied(known, None if replaced == known.handle else replaced, warnings)


def repoint(ctx: Context, record: Record) -> None:
    """Let the run's branch point at it, and no other. Raises ConfigError."""
    for branch, handles in pointer.every(ctx.repo, settings.read(ctx.repo)).items():
        if record.handle in handles and branch != record.branch:
            pointer.remove(ctx.repo, branch, record.handle)
    point(ctx, record)


def point(ctx: Context, record: Record) -> None:
    """Let the run's branch point at it, or mark the work tree of one without. A branch that is unborn has a pointer,
    too; one that is gone has none, since a branch made again with its name would inherit it. Raises ConfigError.
    """
    name = record.branch
    if name is None and record.worktree_id == trees.here(ctx.repo):
        trees.mark(ctx.repo)
    unborn = name == ctx.repo.branch and ctx.repo.head is None
    if name is not None and (unborn or refs.commit_of(ctx.repo, HEADS + name)):
        pointer.write(ctx.repo, name, record.handle)


def _save_attempt(ctx: Context, record: Record) -> None:
    """The newest attempt says what a lost record is made of."""
    attempt = attempts.latest(ctx.layout, record.run_id)
    if attempt is not None:
        attempt = attempt._replace(branch=record.branch, worktree=record.worktree, worktree_id=record.worktree_id)
        attempts.save(ctx.layout, attempt._replace(cwd=record.cwd))


def _failed(write: Callable[[], object]) -> str | None:
    try:
        write()
    except UserError as error:
        return error.message
    return None
