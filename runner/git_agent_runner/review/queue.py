"""Reviews that are to be made in the background: a queue for each work tree, and a process that works through it.

An entry is one commit, the newest of its branch. While it is reviewed its file is called `.now`, so that what a killed
process leaves behind is found again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.review.door import ReviewRequest
from git_agent_runner.store.files import locks

_LARGEST = 1 << 20  # bytes


class ReviewJob(NamedTuple):
    """A commit to review, as `git agent review` was asked to."""

    commit: str
    branch: str | None
    request: ReviewRequest


class Waiting(NamedTuple):
    """An entry of a queue. `begun`: it is being reviewed."""

    commit: str
    branch: str | None
    begun: bool


def put(ctx: Context, job: ReviewJob) -> None:
    """Queue the commit in place of an older one of its branch, and see to it that somebody reviews it."""
    atomic.make_dir(_folder(ctx))
    atomic.write(
        f"{_mine(ctx)}-{_short(job.branch or '')}.json",
        json.dumps({**job._asdict(), "request": job.request._asdict()}).encode(),
        durable=False,
    )
    if not locks.is_locked(lock(ctx)):
        _start(ctx)


def _start(ctx: Context) -> None:
    """A process in its own session, which the end of the terminal and of git does not reach.

    It is of no run, also when a run began it: whoever ends that run's engine must not take it for a part of it.
    """
    import subprocess

    from git_agent_runner.git import scrubbed
    from git_agent_runner.process import child

    inside = ("GIT_AGENT_HANDLE", "GIT_AGENT_RUN_DIR", "PRE_COMMIT")
    env = {name: value for name, value in scrubbed(ctx.environ).items() if not name.startswith(inside)}
    subprocess.Popen(
        child.python("git_agent_runner.review.background"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ctx.repo.top,
        env=env,
        start_new_session=True,
    )


def lock(ctx: Context) -> str:
    """Held by the process that works through this work tree's queue."""
    return ctx.layout.lock(f"reviews-{_short(ctx.repo.git_dir)}")


def take(ctx: Context) -> tuple[str, ReviewJob] | None:
    """The oldest entry of this work tree, which is running now; `done` takes its file. Under the lock."""
    names = sorted(_names(_mine(ctx), ".json"), key=_age)
    for name in names:
        now = f"{name.removesuffix('.json')}.now"
        with suppress(FileNotFoundError):
            os.replace(name, now)
            if job := _read(now):
                return now, job
            done(now)
    return None


def done(name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name)


def restore(ctx: Context) -> None:
    """Queue again what a killed process was at, unless its branch has a newer commit. Under the lock."""
    for name in _names(_mine(ctx), ".now"):
        queued = f"{name.removesuffix('.now')}.json"
        if os.path.exists(queued):
            done(name)
        else:
            os.replace(name, queued)


def empty(ctx: Context) -> bool:
    return not _names(_mine(ctx), ".json")


def waiting(ctx: Context) -> list[Waiting]:
    """All entries of this repository that a living process will get to, the oldest first."""
    folder = _folder(ctx)
    names = [f"{folder}/{name}" for name in (os.listdir(folder) if os.path.isdir(folder) else ())]
    entries = [(name, _read(name)) for name in sorted(names, key=_age) if name.endswith((".json", ".now"))]
    alive = {tree for tree in map(_tree, names) if locks.is_locked(ctx.layout.lock(f"reviews-{tree}"))}
    return [
        Waiting(job.commit, job.branch, name.endswith(".now")) for name, job in entries if job and _tree(name) in alive
    ]


def _folder(ctx: Context) -> str:
    return f"{ctx.layout.root}/verdicts/queue"


def _mine(ctx: Context) -> str:
    return f"{_folder(ctx)}/{_short(ctx.repo.git_dir)}"


def _tree(name: str) -> str:
    return os.path.basename(name).partition("-")[0]


def _short(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _names(start: str, end: str) -> list[str]:
    folder, head = os.path.split(start)
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    return [f"{folder}/{name}" for name in names if name.startswith(f"{head}-") and name.endswith(end)]


def _age(name: str) -> float:
    try:
        return os.stat(name).st_mtime
    except FileNotFoundError:
        return 0.0


def _read(name: str) -> ReviewJob | None:
    """None for what we would not have written."""
    from git_agent_extractors import ordinary

    try:
        found: Any = json.loads(ordinary.whole(name, _LARGEST))
        lists = {name: tuple(found["request"][name]) for name in ("exclude", "given")}
        job = ReviewJob(**{**found, "request": ReviewRequest(**{**found["request"], **lists})})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return job if type(job.commit) is str else None
