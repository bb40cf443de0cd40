"""A run's conversation on its way to a remote: what it holds, and what it is to the one that is there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from git_agent_runner import git
from git_agent_runner.context import Context
from git_agent_runner.conversation import formats, states, whole
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.conversation.session import value_and_use
from git_agent_runner.conversation.states import Relation
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.engines import load
from git_agent_runner.engines.spec import Engine
from git_agent_runner.git import refs
from git_agent_runner.store.shared import form, objects
from git_agent_runner.store.shared.form import Manifest
from git_agent_runner.store.shared.objects import SharedState

TRIES = 6  # pushes; each that another clone was faster than is compared and tried again
_MOST_PIECES = 4096  # of one file; then it is cut afresh


class Outgoing(NamedTuple):
    """A conversation as it is here. `theirs` is the remote's state, None where it has none, and `relation` what ours is
    to it; `new` is what the remote does not have.
    """

    manifest: Manifest
    pieces: Mapping[str, bytes]
    theirs: SharedState | None
    relation: Relation
    turns: int
    new: bytes

    @property
    def handle(self) -> str:
        return self.manifest.handle

    @property
    def size(self) -> int:
        return sum(file.size for file in self.manifest.files)

    @property
    def goes(self) -> bool:
        return self.relation in ("ahead", "parted")


def prepare(ctx: Context, record: Record, tip: str | None) -> Outgoing:
    """Nothing is written. `tip` is the remote's commit, which is here.

    Raises UserError `session_unknown`, `session_missing`, `share_unsupported`, `conversation_refused`, ….
    """
    engine = load(record.agent_name, ctx.environ)
    if engine.name not in formats.KNOWN:
        raise UserError(
            f"conversations of {engine.name} cannot be shared",
            code="share_unsupported",
            hints=(f"of these they can: {', '.join(formats.KNOWN)}",),
        )
    value, busy = value_and_use(ctx, record, engine)
    bundle = whole.source(ctx, engine, record, value, copied=busy)
    theirs = objects.read(ctx.repo, tip, record.handle) if tip else None
    manifest, pieces = _cut(ctx, engine, record, bundle, theirs)
    mine = {os.path.basename(piece.name): piece.data for piece in bundle.pieces}
    return Outgoing(
        manifest,
        pieces,
        theirs,
        _relation(ctx, engine, mine, theirs),
        sum(turn.prompt for turn in states.turns(engine, mine)),
        b"\n".join(data for name, data in pieces.items() if theirs is None or name not in theirs.blobs),
    )


def _cut(
    ctx: Context, engine: Engine, record: Record, bundle: Bundle, theirs: SharedState | None
) -> tuple[Manifest, dict[str, bytes]]:
    before = {os.path.basename(file.path): file.parts for file in theirs.manifest.files} if theirs else {}
    files: list[form.SharedFile] = []
    pieces: dict[str, bytes] = {}
    for piece in bundle.pieces:
        earlier = before.get(os.path.basename(piece.name), ())
        cut = form.cut(piece.data, earlier if len(earlier) < _MOST_PIECES else ())
        files.append(form.file(piece.name, cut))
        pieces |= zip((part.sha256 for part in files[-1].parts), cut, strict=True)
    below = os.path.relpath(record.cwd, record.worktree) if record.cwd and record.worktree else "."
    manifest = Manifest(
        handle=record.handle,
        run_id=record.run_id,
        agent_name=engine.name,
        engine_version=record.engine_version,
        session=bundle.session,
        branch=record.branch,
        host=record.host,
        below="." if below.startswith("..") else below,
        roots=_roots(ctx),
        updated_at=record.updated_at,
        exported=engine.import_ is not None,
        files=tuple(files),
    )
    return manifest, pieces


def _roots(ctx: Context) -> tuple[str, ...]:
    """The first commit of this branch's history, which tells projects apart; none where that is cut off."""
    if ctx.repo.head is None or refs.is_shallow(ctx.repo):
        return ()
    words = ("rev-list", "--first-parent", "--max-parents=0", ctx.repo.head)
    return tuple(git.in_repo(ctx.repo, *words).out.split()[:1])


def _relation(ctx: Context, engine: Engine, mine: dict[str, bytes], theirs: SharedState | None) -> Relation:
    if theirs is None:
        return "ahead"
    earlier = {os.path.basename(file.path): file for file in theirs.manifest.files}
    if earlier.keys() <= mine.keys() and all(form.begins(mine[name], file) for name, file in earlier.items()):
        same = sum(file.size for file in earlier.values()) == sum(map(len, mine.values()))
        return "same" if same else "ahead"
    found = {os.path.basename(path): data for path, data in objects.contents(ctx.repo, theirs).items()}
    return states.relation(engine, mine, found)


def commit(ctx: Context, going: Outgoing) -> str:
    """The commit to push: of our state; of theirs, with ours in its history, where they went different ways.

    Raises GitError, e.g. where git does not know who the person is.
    """
    sign = (ctx.config.last("commit.gpgsign") or "").lower() in ("true", "yes", "on", "1")
    parents = (going.theirs,) if going.theirs else ()
    made = objects.write(ctx.repo, going.manifest, going.pieces, parents, sign=sign)
    if going.relation != "parted" or going.theirs is None:
        return made
    return objects.joined(ctx.repo, going.theirs.commit, made, going.handle, sign=sign)


def tips(ctx: Context, remote: str, handles: Iterable[str]) -> dict[str, str]:
    """Handle -> the remote's commit, of those of these that it has; they are here then. Raises GitError."""
    wanted = set(handles)
    found = {handle: oid for handle, oid in objects.at_remote(ctx.repo, remote).items() if handle in wanted}
    objects.fetch(ctx.repo, remote, found)
    return found
