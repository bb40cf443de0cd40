"""Several runs at once, each in its own process: that many at a time, ended together, told one by one."""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import Any, NamedTuple

from git_agent_runner.console.progress import progress
from git_agent_runner.process.signals import ENDING, Inbox, caught
from git_agent_runner.unattended.worker import Worker, at_length, came_to

JOBS = 4
# What is reported of an attempt, of all that `start --json` and `resume --json` print.
_TOLD = ("attempt", "kind", "status", "resumed", "exit")


class RunJob(NamedTuple):
    """One run to begin. `facts` are told of it in any case; `name` is for people."""

    name: str
    facts: dict[str, Any]
    begin: Callable[[], Worker]


class Failed(NamedTuple):
    """A run that could not even begin."""

    job: RunJob
    reason: str


class Results(NamedTuple):
    """What became of each: the facts of those that ran, in the order in which they ended. `signal` ended them all."""

    ran: list[dict[str, Any]]
    failed: list[Failed]
    signal: int | None = None

    def exit_status(self) -> int:
        if self.signal:
            return 128 + self.signal
        return 1 if self.failed or any(one["exit"] for one in self.ran) else 0


def run(jobs: list[RunJob], at_once: int) -> Results:
    """All of them, to their end. Main thread only, as Python's signal handling is."""
    found = Results([], [])
    with caught(ENDING) as inbox, progress(len(jobs)) as bar:
        left, busy = list(jobs), list[tuple[RunJob, Worker]]()
        while left or busy:
            while left and len(busy) < at_once:
                job = left.pop(0)
                bar.began(job.name)
                busy.append((job, job.begin()))
            if found.signal is None and (number := _wait(inbox)):
                found = found._replace(signal=number)
                found.failed.extend(Failed(job, "not started: git-agent was ended") for job in left)
                left.clear()
                _end([worker for _, worker in busy], number)
            for one in [one for one in busy if one[1].process.poll() is not None]:
                busy.remove(one)
                bar.ended(one[0].name, _took(found, *one))
    return found


def _wait(inbox: Inbox) -> int | None:
    """A signal to end, if one came; the end of a worker wakes us too."""
    ready, _, _ = select.select([inbox.fd], [], [], 1.0)
    if ready:
        inbox.collect()
    return next(iter(inbox.take()), None)


def _end(workers: list[Worker], number: int) -> None:
    """Each ends its engine and settles its attempt, as git-agent does on that signal."""
    for worker in workers:
        worker.process.send_signal(number)
    for worker in workers:
        worker.process.wait()


def _took(found: Results, job: RunJob, worker: Worker) -> str:
    """Take in what an ended worker answered; a word about it."""
    answer = worker.answer()
    if "status" in answer:
        found.ran.append({**job.facts, **{name: answer[name] for name in ("handle", *_TOLD)}})
        return at_length(answer)
    error = answer.get("error") or {}
    found.failed.append(Failed(job, str(error.get("message") or f"git-agent ended with {worker.process.returncode}")))
    return "not started"


def outcome(one: dict[str, Any]) -> str:
    return f"{came_to(one)}, attempt {one['attempt']}"
