"""The way through a fix: does the check pass, what does an agent change until it does, where does that go."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from git_agent_runner.attempt import run
from git_agent_runner.attempt.live import View
from git_agent_runner.attempt.plan import choose_engine, plan_resume, plan_start
from git_agent_runner.attempt.run import Finished
from git_agent_runner.console.lines import warn
from git_agent_runner.context import Context, find_program
from git_agent_runner.core import atomic
from git_agent_runner.core.data import fenced
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Role
from git_agent_runner.core.text import quote
from git_agent_runner.engines.spec import Engine
from git_agent_runner.process.signals import ENDING, caught
from git_agent_runner.review import content
from git_agent_runner.review.fixing import putting
from git_agent_runner.review.fixing.check import Checked, check, refuse_ended
from git_agent_runner.review.fixing.snapshot import ChangedPath, Changes, Snapshot, changes, snapshot

_PLACE = """You work in a copy of what is about to be committed. Change its files here, and do not commit:
your changes are taken over as a patch.
"""
_FAILS = "This command fails here: {check}\nChange the files until it passes.\n"


class FixRequest(NamedTuple):
    """What is asked for. `check` may be empty: then there is one attempt, at the prompt."""

    check: tuple[str, ...] = ()
    engine: str | None = None
    attempts: int = 1
    prompt: str | None = None
    given: tuple[str, ...] = ()
    role: Role = "fix"


class Made(NamedTuple):
    """What an agent made. `patch` is the file that has it, None where it changed nothing. `passes`: the check does.
    `output` is the check's, None where there was no time to run it again.
    """

    handle: str
    engine: str
    entries: tuple[ChangedPath, ...]
    patch: str | None
    status: str | None
    passes: bool
    output: str | None
    words: str | None


class Ways(NamedTuple):
    """`cancel` is asked all the time: is it to end now? `begun` is called with the engine's name before one is.
    `until` is when all of it must be over, by `time.monotonic`.
    """

    cancel: Callable[[], bool]
    begun: Callable[[str], None]
    until: float | None

    def left(self) -> float | None:
        return None if self.until is None else max(self.until - time.monotonic(), 0.0)


def after(timeout: float | None) -> float | None:
    """When that time is over, for `Ways.until`."""
    return None if timeout is None else time.monotonic() + timeout


def fix(ctx: Context, request: FixRequest, ways: Ways, refuse: str | None) -> tuple[Made | None, str | None]:
    """What was made, None where the check passes as things are; and why it is not in index and work tree, if it is not.

    `refuse` is why no agent may be started. Raises UserError where that is so, or there is none.
    """
    commit = content.commit_to_see(ctx, content.staged(ctx))
    with snapshot(ctx, commit, request.engine) as snap:
        first = _checked(snap, request, ways)
        if request.check and first.passed:
            return None, None
        if refuse:
            raise UserError(f"'{shlex.join(request.check)}' fails; {refuse}", code="held", hints=_look(first.output))
        made = make(ctx, snap, request, ways, first)
        if not made.entries or not made.passes:
            return made, None
        return made, _put(ctx, snap, ways, made.entries)


def _look(output: str) -> tuple[str, ...]:
    return tuple(line for line in output.splitlines() if line.strip())[-20:]


def _checked(snap: Snapshot, request: FixRequest, ways: Ways) -> Checked:
    if not request.check:
        return Checked(True, "")
    return check(request.check, snap.path, snap.ctx.environ, ways.left(), ways.cancel)


def make(ctx: Context, snap: Snapshot, request: FixRequest, ways: Ways, first: Checked) -> Made:
    """Let an agent work there until the check passes, at most so often, and save what it changed as a patch.

    That is saved, too, where something goes wrong after it.
    """
    engine = choose_engine(ctx, request.engine)
    find_program(ctx, engine)
    ways.begun(engine.name)
    found: Checked | None = first
    done = None
    try:
        while found and (done is None or _again(request, found, done)):
            done = _attempt(snap, engine, request, ways, found, done)
            refuse_ended(done.outcome)
            found = None if done.outcome.timed_out else _checked(snap, request, ways)
        changed = changes(snap)
    except BaseException:
        _rescue(ctx, snap, done.settled.record.handle if done else os.path.basename(snap.path))
        raise
    assert done is not None
    handle, status = done.settled.record.handle, done.settled.verdict.status
    patch = _save(ctx, handle, changed) if changed.entries else None
    words = done.settled.transcript.final_message
    passes = found is not None and found.passed and (bool(request.check) or status == "completed")
    return Made(handle, engine.name, changed.entries, patch, status, passes, found and found.output, words)


def _again(request: FixRequest, found: Checked, done: Finished) -> bool:
    settled = done.settled
    return not found.passed and settled.verdict.status == "completed" and settled.attempt.number < request.attempts


def _rescue(ctx: Context, snap: Snapshot, name: str) -> None:
    """What the agent changed is paid for, whatever it is that failed now."""
    with caught(ENDING), suppress(UserError, OSError):
        changed = changes(snap)
        if changed.entries:
            patch = _save(ctx, name, changed)
            warn("what the agent changed is saved", (f"to apply it: {to_apply(ctx, patch)}",))


def _attempt(
    snap: Snapshot, engine: Engine, request: FixRequest, ways: Ways, found: Checked, before: Finished | None
) -> Finished:
    message = _message(request, found)
    if before is None:
        plan = plan_start(snap.ctx, engine, request.given, message)
        plan = plan._replace(record=plan.record._replace(role=request.role))
    else:
        plan = plan_resume(snap.ctx, before.settled.record, (), message, cwd=snap.path)
    return run.run(snap.ctx, plan, View(), ways.left(), ways.cancel)


def _message(request: FixRequest, found: Checked) -> str:
    if request.role != "fix":
        return request.prompt or ""
    parts = [f"{request.prompt.rstrip()}\n\n"] if request.prompt else []
    parts.append(_PLACE)
    if request.check:
        parts.append(_FAILS.format(check=shlex.join(request.check)))
        parts.append(fenced("what it printed last", found.output))
    return "".join(parts).encode("utf-8", "replace").decode()


def _save(ctx: Context, handle: str, changed: Changes) -> str:
    folder = f"{ctx.layout.root}/patches"
    atomic.make_dir(folder)
    path = f"{folder}/{handle}.patch"
    atomic.write(path, changed.patch)
    return path


def _put(ctx: Context, snap: Snapshot, ways: Ways, entries: Sequence[ChangedPath]) -> str | None:
    """Why it was not put there, if it was not."""
    from git_agent_runner.git import discover

    try:
        now = discover(ctx.cwd, ctx.environ)
        if (now.head, now.branch) != (ctx.repo.head, ctx.repo.branch):
            return "HEAD has moved since"
        spare = tempfile.mkdtemp(prefix=".git-agent-", dir=snap.path)  # whatever the agent has made there
        with caught(ENDING):  # a Ctrl-C in the middle of it must not leave half of it
            if ways.cancel():
                return "the git that waited for it has ended"
            return putting.put(ctx, entries, _indexes(ctx), spare)
    except UserError as error:
        return error.message
    except OSError as error:
        return error.strerror or "it cannot be written"


def _indexes(ctx: Context) -> tuple[str, ...]:
    """Those that git commits from: for `git commit PATH` one for the commit, and git's own, which is locked."""
    index = content.index_file(ctx.repo.git_dir, ctx.environ, ctx.repo.top)
    own = f"{ctx.repo.git_dir}/index.lock"
    return (index, own) if os.path.basename(index).startswith("next-index-") else (index,)


def to_apply(ctx: Context, patch: str) -> str:
    """The command by which a person applies it, wherever in the work tree he is."""
    at_home = ctx.cwd == ctx.repo.top and patch.startswith(f"{ctx.repo.top}/")
    if at_home:
        return f"git apply --3way {quote(os.path.relpath(patch, ctx.repo.top))}"
    return f"git -C {quote(ctx.repo.top)} apply --3way {quote(patch)}"
