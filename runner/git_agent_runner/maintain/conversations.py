"""Conversations and a remote: which go there and which come, after the person has seen what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from git_agent_runner.console.lines import say, warn
from git_agent_runner.context import Context
from git_agent_runner.conversation import outgoing
from git_agent_runner.conversation.outgoing import Outgoing
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.core.text import shown
from git_agent_runner.find.lookup import Where, find, found_record
from git_agent_runner.maintain.exchange import came_of
from git_agent_runner.maintain.sharing import alone
from git_agent_runner.store import notes
from git_agent_runner.store.records import listing
from git_agent_runner.store.shared import objects

Look = Callable[
    [bytes], Mapping[str, int]
]  # a conversation's bytes -> kinds of what looks like a secret, and how often


class Going(NamedTuple):
    """A conversation and what looks like a secret in the part of it that the remote does not have."""

    what: Outgoing
    secrets: Mapping[str, int]

    @property
    def asks(self) -> bool:
        """Is the person to see it before it goes?"""
        return self.what.goes and (self.what.theirs is None or bool(self.secrets))

    def line(self) -> str:
        manifest, turns = self.what.manifest, self.what.turns
        found = ", ".join(f"{count} {kind}" for kind, count in self.secrets.items()) or "nothing"
        branch = f" of branch '{shown(manifest.branch)}'" if manifest.branch else ""
        return (
            f"run {manifest.handle}{branch}, {manifest.agent_name}: {turns} turn{'s' * (turns != 1)},"
            f" {self.what.size} bytes; looks like a secret: {found}"
        )

    def object(self, result: str, detail: str | None = None) -> dict[str, Any]:
        return came_of(self.what.handle, result, self.what.turns, self.what.size, self.secrets, detail)


def chosen(ctx: Context, branches: tuple[str, ...], now: float, *, everything: bool) -> list[Record]:
    """The runs of these branches, of this one if it has one, or all. Raises UserError `no_run`, ….

    A run that is not a branch's own work, such as a review, is none of them.
    """
    if everything:
        rows = listing.listing(ctx.layout, now).rows
        found = [ctx.runs.read(row.handle) for row in rows if row.session_value]
        return [record for record in found if record.role == "work"]
    if branches:
        return [found_record(ctx, Where(branch=name), ties=False) for name in branches]
    run = find(ctx, Where(), ties=False)
    if isinstance(run, Record):
        return [run]
    if run.code not in ("no_run", "record_elsewhere"):
        raise run
    say(f"no conversation is pushed: {run.message}")
    return []


def prepare(ctx: Context, remote: str, records: Iterable[Record], look: Look, *, lenient: bool) -> list[Going]:
    """What there is to push. `lenient`: a conversation that cannot be had is a warning. Raises UserError."""
    found = []
    with alone(ctx):
        tips = outgoing.tips(ctx, remote, (record.handle for record in records))
    for record in records:
        try:
            what = outgoing.prepare(ctx, record, tips.get(record.handle))
        except UserError as error:
            if not lenient:
                raise
            warn(f"run {record.handle} is left out: {error.message}")
            continue
        found.append(Going(what, look(what.new) if what.goes else {}))
    return found


def push(ctx: Context, remote: str, going: list[Going]) -> list[dict[str, Any]]:
    """Push; compare and push again what another clone was faster with. What came of each.

    Raises GitError where nothing can be pushed at all, e.g. where git does not know who the person is.
    """
    done = {one.what.handle: one.object(one.what.relation) for one in going}
    left = {one.what.handle: one for one in going if one.what.goes}
    with alone(ctx):
        for _ in range(outgoing.TRIES):
            made = {handle: outgoing.commit(ctx, one.what) for handle, one in left.items()}
            failed = objects.push(ctx.repo, remote, made) if made else {}
            for handle, one in left.items():
                result = "refused" if handle in failed else "parted" if one.what.relation == "parted" else "pushed"
                done[handle] = one.object(result, failed.get(handle))
            tips = outgoing.tips(ctx, remote, failed) if failed else {}
            left = {handle: again for handle in failed if (again := _again(ctx, left[handle], tips.get(handle)))}
            for handle, one in left.items():
                done[handle] = one.object(one.what.relation)
            left = {handle: one for handle, one in left.items() if one.what.goes}
    return list(done.values())


def _again(ctx: Context, one: Going, tip: str | None) -> Going | None:
    """The same after another clone has pushed; None where nobody has, and the server refused it."""
    known = one.what.theirs.commit if one.what.theirs else None
    if tip == known:
        return None
    return one._replace(what=outgoing.prepare(ctx, ctx.runs.read(one.what.handle), tip))


def fetch(ctx: Context, remote: str, *, prune: bool) -> list[dict[str, Any]]:
    """Bring all of the remote's conversations here; nothing of them is put anywhere. `prune`: forget those that the
    remote has no more. Raises GitError.
    """
    with alone(ctx):
        before, there = objects.here(ctx.repo, remote), objects.at_remote(ctx.repo, remote)
        objects.fetch(ctx.repo, remote, there)
        done = [_came(ctx, handle, oid) for handle, oid in there.items() if before.get(handle) != oid]
        for handle in set(before) - set(there) if prune else ():
            notes.shared(ctx.repo, "update-ref", "-d", objects.tracking(remote, handle))
            done.append(came_of(handle, "forgotten"))
    return done


def _came(ctx: Context, handle: str, oid: str) -> dict[str, Any]:
    try:
        manifest = objects.read(ctx.repo, oid, handle).manifest
    except UserError as error:
        return came_of(handle, "refused", detail=error.message)
    return came_of(handle, "fetched", size=sum(file.size for file in manifest.files))


def delete(ctx: Context, remote: str, handle: str) -> None:
    """Take a conversation away from the remote. Raises UserError `unknown_handle`, `git_failed`."""
    with alone(ctx):
        if handle not in objects.at_remote(ctx.repo, remote):
            raise UserError(f"{remote} has no conversation of a run {handle!a}", code="unknown_handle")
        failed = objects.push(ctx.repo, remote, {handle: ""})
    if failed:
        raise UserError(f"{remote} did not delete it: {failed[handle]}", code="git_failed")
