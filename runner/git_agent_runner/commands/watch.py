"""`git agent watch`: resume runs that die, fail or fall silent, as the policies say, until nothing is left to do."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from git_agent_runner import context
from git_agent_runner.console.lines import print_json, say, table, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.process.signals import ENDING, caught
from git_agent_runner.store.files import locks
from git_agent_runner.unattended.policies import places
from git_agent_runner.unattended.policies.model import Policy
from git_agent_runner.unattended.policies.watch import RunReport, Watch

SCHEMA = 1
JOBS = 4


@click.command(short_help="Resume runs that die or fail, following your policies")
@click.option("--jobs", type=click.IntRange(min=1), default=JOBS, show_default=True, help="Attempts at the same time.")
@click.option("--once", is_flag=True, help="Do what is due now, then exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def command(jobs: int, once: bool, as_json: bool) -> int:
    """Watch this repository's runs, those of all branches and work trees, until none can change any more.

    Policies are read from policies.toml, or from agent.onDead, agent.onError, agent.onIdle and agent.onCi: see
    git agent --help.
    The exit status is 1 if a run was given up or needs a person.
    """
    ctx = context.load()
    policy = places.load(ctx, warn)
    if not policy.origins:
        raise UserError(
            "no policy is set for runs that die or fail",
            code="no_policy",
            hints=(
                "git config agent.onDead resume",
                f"or write '{places.users_file(ctx)}'",
            ),
        )
    with _only_one(ctx), caught(ENDING) as inbox:
        _announce(policy)
        watch = Watch(ctx, policy, jobs, inbox)
        number = watch.run(once=once)
    told = [watch.told[handle] for handle in sorted(watch.told)]
    _report(told, as_json=as_json)
    if number:
        return 128 + number
    return 1 if any(one.end in ("failed", "escalated") for one in told) else 0


def _only_one(ctx: Context) -> locks.Lock:
    path = ctx.layout.lock("watch")
    lock = locks.try_lock(path)
    if lock is None:
        holder = _read(path)
        raise UserError(
            f"another git agent watch is running in this repository{f': process {holder}' if holder else ''}",
            code="watch_live",
            hints=("one watches all runs, whatever their work tree",),
        )
    with suppress(OSError):  # only a name for the people who read it
        os.truncate(lock.fd, 0)
        os.write(lock.fd, str(os.getpid()).encode())
    return lock


def _read(path: str) -> str:
    with suppress(OSError):
        text = locks.written(path, 20).decode("ascii", "replace")
        return text if text.isdecimal() else ""
    return ""


def _announce(policy: Policy) -> None:
    for origin in policy.origins:
        say(f"policy: {origin}")


def _report(told: list[RunReport], *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": SCHEMA, "runs": [one._asdict() for one in told]})
    elif told:
        rows = [(one.handle, one.branch or "", str(one.actions), one.end or "", one.reason) for one in told]
        print(table(("HANDLE", "BRANCH", "ACTIONS", "END", "REASON"), rows))
