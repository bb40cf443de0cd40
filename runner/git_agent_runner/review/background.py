"""The process that reviews what is queued, one commit after another, while nobody waits."""

from __future__ import annotations

import os
from contextlib import suppress

from git_agent_runner import context
from git_agent_runner.console.boundary import save_trace
from git_agent_runner.context import Context, timestamp
from git_agent_runner.core.errors import FATAL, USAGE, UserError
from git_agent_runner.review import content, door, outcomes, queue
from git_agent_runner.review.outcomes import ReviewOutcome
from git_agent_runner.review.queue import ReviewJob
from git_agent_runner.store.files import locks


def main() -> int:
    """Work through this work tree's queue, unless another process does. An entry made since is seen again after."""
    ctx = context.load(refused=lambda _: None, tell=False)
    while lock := locks.try_lock(queue.lock(ctx)):
        with lock:
            queue.restore(ctx)
            while taken := queue.take(ctx):
                name, job = taken
                if status := _one(job):
                    return status
                queue.done(name)
        if queue.empty(ctx):
            break
    return 0


def _one(job: ReviewJob) -> int:
    """Review one commit, with settings as they are by now. An exit status where we are to end."""
    wrong: list[UserError] = []
    ctx = context.load(refused=wrong.append, tell=False)
    ctx = ctx._replace(repo=ctx.repo._replace(branch=job.branch))
    if wrong:
        _failed(ctx, job, wrong[0])
        return 0
    try:
        report = door.review(ctx, content.of_commit(ctx, job.commit), job.request, lambda _: None)
    except UserError as error:
        _failed(ctx, job, error)
        return 0 if error.exit_status in (FATAL, USAGE) else error.exit_status  # a signal ends us
    except Exception as error:  # noqa: BLE001  the one boundary of this process, as in cli
        _failed(ctx, job, UserError(f"a bug in git-agent; {save_trace(error, ('review',))}", code="bug"))
        return 0
    with suppress(UserError):  # the verdict is kept, and noted at the push
        door.file(ctx, report, unread=True)
    return 0


def _failed(ctx: Context, job: ReviewJob, error: UserError) -> None:
    facts = (error.code, error.message, tuple(error.hints))
    outcomes.save(
        ctx.layout, ReviewOutcome(job.commit, job.branch, timestamp(), job.request.engine, error=facts, unread=True)
    )


if __name__ == "__main__":
    os.umask(0o077)
    raise SystemExit(main())
