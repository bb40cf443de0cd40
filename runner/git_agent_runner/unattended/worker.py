"""One action on one run, in its own process: `watch` and `resume --all` start it with a JSON object on stdin.

It goes the same road as `git agent resume`, so that locks, signals and what is written are the same. Its stdout is the
JSON of the attempt, or of what went wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, NamedTuple

from git_agent_runner import context
from git_agent_runner.attempt.go import Fallback, Request, attempt, closed, go, planned, told, unattended
from git_agent_runner.attempt.plan import Plan, plan_start
from git_agent_runner.attempt.queue import end_live
from git_agent_runner.console.boundary import complain, report_bug
from git_agent_runner.console.lines import print_json, say
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.core.model import Record
from git_agent_runner.engines import load
from git_agent_runner.git import scrubbed
from git_agent_runner.process import child
from git_agent_runner.process.lifetime import Limits
from git_agent_runner.process.spawn import SpawnFailed, run
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.document import CorruptRecord


class Task(NamedTuple):
    """What to do with the run, once `gate`, where there is one, let it pass: `then` is resume, fresh, nudge, or end.

    `number` is the attempt that was seen last: when there is a newer one, somebody has continued the run already.
    `append`: a new session gets the run's own prompt and the message below it. `timeout` is in seconds.
    """

    handle: str
    number: int
    then: str = "resume"
    message: str | None = None
    append: bool = False
    gate: tuple[str, ...] = ()
    strict: bool = False
    timeout: float | None = None


class Worker(NamedTuple):
    """A process using a task, and the file that its answer goes to: a pipe would stop it when it is full."""

    process: subprocess.Popen[bytes]
    out: IO[bytes]

    def answer(self) -> dict[str, Any]:
        """Once it has ended: the object that it printed, of docs/json.md; empty when it was killed before that."""
        with self.out as out:
            out.seek(0)
            lines = out.read().splitlines()
        try:
            found = json.loads(lines[-1]) if lines else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def start(task: Task, ctx: Context, fds: tuple[int, ...] = ()) -> Worker:
    """Begin with the task. The process inherits `fds`, which may be locks."""
    words = ("git_agent_runner.unattended.worker",)
    return begin(words, json.dumps(task._asdict()).encode(), ctx.repo.top, ctx.environ, fds)


def begin(
    module: tuple[str, ...], stdin: bytes, cwd: str, environ: Mapping[str, str], fds: tuple[int, ...] = ()
) -> Worker:
    """Run a module of ours, with its arguments, in its own process.

    It leads its own session, so that Ctrl-C reaches it once,
    through us. What it would say to a person is in the run's files, too.
    """
    out = tempfile.TemporaryFile()  # noqa: SIM115  as long-lived as the worker
    process = subprocess.Popen(
        child.python(*module),
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=dict(environ),
        pass_fds=fds,
        start_new_session=True,
    )
    assert process.stdin
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(stdin)
    return Worker(process, out)


def came_to(one: dict[str, Any]) -> str:
    """For people. A fresh session in an old run, or one that began again silently, is not the same as one gone on."""
    silent = ", NOT resumed" if one.get("resumed") == "as_new" else ""
    return f"{one['status']}{', in a new session' if one.get('kind') == 'fresh' else silent}"


def at_length(answer: dict[str, Any]) -> str:
    """With what git-agent would have said aloud of one run alone: why it was not resumed, what was restored."""
    why = answer.get("fallbackReason") if answer.get("kind") in ("fresh", "continue") else None
    back = "; the run's backup of the session was restored" if answer.get("restored") else ""
    return f"{came_to(answer)}{f' ({why})' if why else ''}{back}"


def perform(task: Task) -> int:
    """The exit status. Raises UserError for what keeps the run from going on."""
    ctx = context.load(tell=False)
    record = ctx.runs.read(task.handle)
    if task.gate and (status := run_command(ctx, record, task.gate)):
        print_json({"gate": status})
        return 1
    _refuse_newer(ctx, record, task)
    if task.then == "end":
        ended = closed(ctx, end_live(ctx, record))
        print_json({"attempt": ended.attempts, "status": ended.status})
        return 0
    request, fallback = _request(ctx, record, task)
    if task.then != "fresh":
        return go(ctx, request, fallback, record)
    plan = _fresh(ctx, closed(ctx, record), task)
    return told(ctx, plan, attempt(ctx, plan, request), request, fallback)


def foreseen(ctx: Context, task: Task) -> Plan:
    """What a task to resume would begin. Raises UserError for what would keep it from that."""
    record = ctx.runs.read(task.handle)
    request, fallback = _request(ctx, record, task)
    return planned(ctx, request._replace(dry_run=True), fallback, record)


def _request(ctx: Context, record: Record, task: Task) -> tuple[Request, Fallback]:
    first = None
    with suppress(CorruptRecord):  # only a session that is gone needs it
        first = _prompt(ctx, record, task)
    message = task.message or ctx.settings.continue_message
    request = Request(
        message=message, fresh_message=first, as_json=True, kill=task.then == "nudge", timeout=task.timeout
    )
    return request, unattended(ctx, strict=task.strict)


def run_command(
    ctx: Context,
    record: Record,
    words: tuple[str, ...],
    patience: float | None = None,
    out: Callable[[memoryview], None] | None = None,
) -> int:
    """Run a gate's or an escalation's command where the run works; its exit status, 127 when it cannot be started.

    `out` gets what it prints; without it a person does. It ends with all that it began when a signal ends us, which is
    then obeyed, or after `patience` seconds: 124.
    """
    env = scrubbed(ctx.environ)
    env.pop("GIT_AGENT_RUN_DIR", None)  # by it the processes of a run that we may be part of would be taken for ours
    env["GIT_AGENT_RUN"] = record.handle
    env["GIT_AGENT_BRANCH"] = record.branch or ""
    env["GIT_AGENT_STATUS"] = record.status or "dead"
    cwd = record.cwd if os.path.isdir(record.cwd) else ctx.repo.top
    try:
        outcome = run(Invocation(words, None, cwd), env, out or _pass_on, _pass_on, Limits(patience))
    except SpawnFailed as error:
        say(error.message)
        return 127
    if outcome.received:
        os.kill(os.getpid(), outcome.received)
    if outcome.timed_out:
        return 124
    return 1 if outcome.exit_status is None else outcome.exit_status


def _pass_on(data: memoryview) -> None:
    with suppress(OSError):
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()


def _refuse_newer(ctx: Context, record: Record, task: Task) -> None:
    numbers = attempts.numbers(ctx.layout, record.run_id)
    if numbers and numbers[-1] > task.number:
        raise UserError(f"run {record.handle} was resumed by another git-agent just now", code="run_live")


def _fresh(ctx: Context, record: Record, task: Task) -> Plan:
    """A new session in the same run."""
    return plan_start(ctx, load(record.agent_name), (), _prompt(ctx, record, task), existing=record)


def _prompt(ctx: Context, record: Record, task: Task) -> str:
    """What a new session begins with: the task's message, the prompt that the run began with, or both."""
    if task.message and not task.append:
        return task.message
    own = attempts.read(ctx.layout, record.run_id, 1).message or ctx.settings.continue_message
    return f"{own}\n\n{task.message}" if task.message else own


def main() -> int:
    told: Any = json.load(sys.stdin)
    task = Task(**{**told, "gate": tuple(told["gate"])})
    try:
        return perform(task)
    except UserError as error:
        return complain(error, ("--json",))
    except Exception as error:  # noqa: BLE001  the one boundary of this process, as in cli
        return report_bug(error, ("watch",))


if __name__ == "__main__":
    raise SystemExit(main())
