"""One attempt of a reviewer: held to reading, in its own work tree, with a role of its own."""

from __future__ import annotations

import os
from typing import NamedTuple

from git_agent_runner import drive
from git_agent_runner.context import Context
from git_agent_runner.drive import Finished
from git_agent_runner.engines.spec import Engine
from git_agent_runner.errors import UserError
from git_agent_runner.live import View
from git_agent_runner.model import Record
from git_agent_runner.plan import Plan, plan_resume, plan_start
from git_agent_runner.review.place import inside, work_tree
from git_agent_runner.review.power import Power
from git_agent_runner.store import atomic


class Ask(NamedTuple):
    """`earlier` is the run whose session goes on."""

    engine: Engine
    power: Power
    args: tuple[str, ...]
    message: str
    earlier: Record | None
    timeout: float | None


def ask(ctx: Context, asked: Ask, commit: str, hidden: tuple[str, ...]) -> Finished:
    """Ask the reviewer, on that commit. A session that cannot go on is replaced by a new one."""
    folder = f"{ctx.layout.root}/reviews"
    atomic.make_dir(folder)
    if asked.power.file:
        name, text = asked.power.file
        atomic.write(f"{folder}/{name}", text.encode())
    path = asked.earlier.cwd if asked.earlier else f"{folder}/{os.urandom(4).hex()}"
    given = (*asked.args, *asked.power.given(folder))
    with work_tree(ctx, path, commit, hidden):
        here = inside(ctx, path)
        here = here._replace(settings=here.settings._replace(args={}))
        plan = _plan(here, asked, given, path)
        env = (*plan.invocation.env, *asked.power.env)
        record = plan.record._replace(role="review")
        return drive.run(
            here, plan._replace(record=record, invocation=plan.invocation._replace(env=env)), View(), asked.timeout
        )


def _plan(ctx: Context, asked: Ask, given: tuple[str, ...], path: str) -> Plan:
    if asked.earlier:
        try:
            return plan_resume(ctx, asked.earlier._replace(launch_args=()), given, asked.message, cwd=path)
        except UserError as error:
            if error.code in {"run_live", "session_held"}:
                raise
    return plan_start(ctx, asked.engine, given, asked.message)
