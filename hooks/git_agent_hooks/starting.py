"""How `git-agent-run` starts its agent: after git has finished, in the work tree; while git or a hook manager uses the
person's files, in a copy, which hands back a patch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from git_agent_hooks import pushing
from git_agent_hooks.fired import MANUAL, Fired
from git_agent_runner.console.aloud import say
from git_agent_runner.context import Context, find_program, load
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import refs
from git_agent_runner.review.fixing import held
from git_agent_runner.review.fixing.held import Hold

AFTER = {"post-commit", "post-merge", "post-checkout", "post-rewrite", MANUAL}


class Order(NamedTuple):
    """How to start the agent. `gate`: the run's outcome is the hook's exit status."""

    message: str
    engine: str | None
    timeout: float | None
    gate: bool


def start(fired: Fired, asked: Order, resume: Callable[[], int] | None) -> int:
    """The run's exit status. `resume`, if that is asked for, continues the branch's session, in its work tree."""
    ctx = load()
    hold = held.hold(ctx.environ, ctx.repo.git_dir, ctx.repo.common_dir, held.above())
    if hold is None and fired.hook in AFTER:
        return resume() if resume else _in_work_tree(ctx, asked)
    if resume:
        say("--resume is only for hooks that run after the fact: here the agent starts its own session, in a copy")
    if hold is None:
        return _in_copy(ctx, asked, _commit(ctx, fired))
    return _later(ctx, fired, asked, hold)


def _commit(ctx: Context, fired: Fired) -> str:
    """The commit that the copy is made from: the one that is pushed, or the index."""
    from git_agent_runner.review import content

    if fired.hook == "pre-push" and (oid := refs.commit_of(ctx.repo, pushing.branches(fired)[0].new)):
        return oid
    return content.commit_to_see(ctx, content.staged(ctx))


def _in_work_tree(ctx: Context, asked: Order) -> int:
    from git_agent_runner.attempt.live import View
    from git_agent_runner.attempt.plan import choose_engine, plan_start
    from git_agent_runner.attempt.run import run
    from git_agent_runner.process.parent import git_gone

    plan = plan_start(ctx, choose_engine(ctx, asked.engine), (), asked.message)
    plan = plan._replace(record=plan.record._replace(role="hook"))
    settled = run(ctx, plan, View(), asked.timeout, git_gone()).settled
    return _told(settled.record.handle, settled.verdict.status, settled.transcript.final_message)


def _in_copy(ctx: Context, asked: Order, commit: str, cancel: Callable[[], bool] | None = None) -> int:
    from git_agent_runner.process.parent import git_gone
    from git_agent_runner.review.fixing.check import Checked
    from git_agent_runner.review.fixing.door import FixRequest, Ways, after, make, to_apply
    from git_agent_runner.review.fixing.snapshot import snapshot

    request = FixRequest(engine=asked.engine, prompt=asked.message, role="hook")
    ways = Ways(
        cancel or git_gone(), lambda engine: say(f"{engine} is working in a copy; Ctrl-C ends it"), after(asked.timeout)
    )
    with snapshot(ctx, commit, asked.engine) as snap:
        made = make(ctx, snap, request, ways, Checked(True, ""))
    if made.patch:
        files = "1 file" if len(made.entries) == 1 else f"{len(made.entries)} files"
        say(f"run {made.handle} changed {files} in its copy: {to_apply(ctx, made.patch)}")
    return _told(made.handle, made.status, made.words)


def _told(handle: str, status: str | None, words: str | None) -> int:
    from git_agent_runner.core.text import shown

    for line in (words or "").splitlines():
        print(shown(line))
    if status == "completed":
        return 0
    say(f"run {handle}: {status}: git agent show {handle}")
    return 1


def _later(ctx: Context, fired: Fired, asked: Order, hold: Hold) -> int:
    """Start in the background: while a manager has set the person's changes aside, whatever is typed in these files is
    lost, so it must not wait for us."""
    from git_agent_runner.attempt.plan import choose_engine
    from git_agent_runner.review.fixing.background import go_on

    aside = f"{hold.manager} has set your unstaged changes aside"
    if asked.gate:
        hint = "stage or stash them, then try again"
        raise UserError(f"no agent ran: {aside}: {hint}", code="held", hints=(hint,))
    engine = choose_engine(ctx, asked.engine)
    find_program(ctx, engine)
    commit = _commit(ctx, fired)
    say(f"{aside}: {engine.name} is working in a copy, in the background: git agent list --all")
    go_on(lambda: _in_copy(ctx, asked, commit, lambda: False))
    return 0
