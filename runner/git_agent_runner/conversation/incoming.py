"""A conversation that was fetched: whose it is, what it holds, and whether it may be put into an engine's store.

Who can push may have written it, and an agent will believe it. So it is shown first, and nothing of it is put anywhere
without the person's word.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from git_agent_extractors.model import Session
from git_agent_runner.context import Context
from git_agent_runner.conversation import formats, place, states
from git_agent_runner.conversation.place import Bundle
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.engines.spec import Engine, Piece, StoreQuery, Turn
from git_agent_runner.find import remote
from git_agent_runner.git import GitError, refs
from git_agent_runner.store.files.layout import HEX
from git_agent_runner.store.shared import objects
from git_agent_runner.store.shared.form import Manifest
from git_agent_runner.store.shared.objects import Sender

_WORDS = 72  # characters of a turn that are shown


class Incoming(NamedTuple):
    """A whole conversation out of a remote's ref, checked. `contents`: the last step of a file's name -> its bytes."""

    remote: str
    manifest: Manifest
    sender: Sender
    bundle: Bundle
    turns: tuple[Turn, ...]

    @property
    def contents(self) -> dict[str, bytes]:
        return {os.path.basename(piece.name): piece.data for piece in self.bundle.pieces}

    @property
    def prompts(self) -> int:
        return sum(turn.prompt for turn in self.turns)

    def lines(self) -> tuple[str, ...]:
        """Who, when, how much, and its first and last words."""
        manifest, said = self.manifest, [turn.text for turn in self.turns if turn.text.strip()]
        size = sum(len(piece.data) for piece in self.bundle.pieces)
        by = f"pushed to {self.remote} by {shown(self.sender.name)} on {shown(self.sender.when)}"
        signed = {"G": "signed", "U": "signed by a key that git does not know"}.get(self.sender.signed, "not signed")
        return (
            f"{by} ({signed}), from host '{shown(manifest.host)}'",
            f"{manifest.agent_name}, {self.prompts} turn{'s' * (self.prompts != 1)}, {size} bytes",
            *(f"first: {_short(said[0])}" for _ in said[:1]),
            *(f"last: {_short(said[-1])}" for _ in said[1:2]),
        )


def _short(text: str) -> str:
    words = shown(" ".join(text[: 8 * _WORDS].split()))
    return words if len(words) <= _WORDS else f"{words[:_WORDS]}…"


def sought(ctx: Context, handle: str, since: str = "") -> tuple[str, str] | None:
    """(remote, commit) of the run's conversation, fetched now unless a state that is as new as `since` is here.

    Raises GitError where the remote cannot be asked.
    """
    name = remote.usual(ctx)
    known = [(other, objects.here(ctx.repo, other).get(handle)) for other in _remotes(ctx, name)]
    for other, commit in known:
        if commit and since and _is_new(ctx, commit, handle, since):
            return other, commit
    if name is None:
        return None
    found = objects.at_remote(ctx.repo, name, handle)
    objects.fetch(ctx.repo, name, found)
    return (name, found[handle]) if handle in found else None


def _remotes(ctx: Context, first: str | None) -> list[str]:
    return [*filter(None, dict.fromkeys((first, *ctx.config.subsections("remote", "url"))))]


def _is_new(ctx: Context, commit: str, handle: str, since: str) -> bool:
    with suppress(UserError):
        return objects.read(ctx.repo, commit, handle).manifest.updated_at >= since
    return False


def opened(ctx: Context, where: tuple[str, str], handle: str, engine: Engine, session: Session) -> Incoming:
    """The conversation, if it is that of this run, engine and session, of this project, and its files are the session's
    own. Raises UserError `conversation_refused`.
    """
    name, commit = where
    state = objects.read(ctx.repo, commit, handle)
    manifest = state.manifest
    if (manifest.agent_name, manifest.session) != (engine.name, session.value):
        theirs = f"{shown(manifest.agent_name)} session {shown(manifest.session)}"
        raise objects.refused(handle, f"it is {theirs}, and the run's is {engine.name} session {session.value}")
    _refuse_other_project(ctx, manifest)
    contents = objects.contents(ctx.repo, state)
    bundle = Bundle(manifest.session, tuple(Piece(path, data) for path, data in contents.items()))
    _refuse_strange(ctx, engine, manifest, bundle)
    found = {os.path.basename(path): data for path, data in contents.items()}
    turns = tuple(states.turns(engine, found))
    return Incoming(name, manifest, objects.sender(ctx.repo, commit), bundle, turns)


def _refuse_other_project(ctx: Context, manifest: Manifest) -> None:
    """In a shallow clone, the first commit is not known."""
    for root in manifest.roots:
        if root.strip(HEX) or (refs.commit_of(ctx.repo, root) != root and not refs.is_shallow(ctx.repo)):
            raise objects.refused(manifest.handle, "it is of another project")


def _refuse_strange(ctx: Context, engine: Engine, manifest: Manifest, bundle: Bundle) -> None:
    if engine.name not in formats.KNOWN or manifest.exported != (engine.import_ is not None):
        raise objects.refused(manifest.handle, f"conversations of {engine.name} are not shared like this")
    version = engine.parse_version(manifest.engine_version) or ()
    query = StoreQuery(ctx.environ, ctx.repo.top, version, manifest.session)
    if manifest.exported and len(bundle.pieces) != 1:
        raise objects.refused(manifest.handle, "it is more than one document")
    try:
        place.laid(engine, query, bundle)
    except ValueError as error:
        raise objects.refused(manifest.handle, error) from error


def trusted(ctx: Context, coming: Incoming, *, given: bool) -> bool:
    """By the person's word, or because somebody signed it whom they named."""
    if given:
        return True
    sender, named = coming.sender, set(ctx.settings.trust_from)
    if sender.signed not in ("G", "U") or not sender.signers:
        return False
    by_name, *by_key = sender.signers
    known = {*by_key, *([by_name] if sender.signed == "G" else [])} - {""}
    return not named.isdisjoint(known)


def untrusted(coming: Incoming, resume: str) -> UserError:
    """`resume` is what takes it. What it holds is shown first."""
    return UserError(
        f"the conversation of run {coming.manifest.handle} comes from {coming.remote}, and is text that the agent will"
        " believe",
        code="conversation_untrusted",
        hints=(*coming.lines(), f"to take it: {resume}"),
    )


def unreachable(name: str | None, error: GitError) -> str:
    return f"{name or 'the remote'} cannot be asked for the conversation: {error.message}"
