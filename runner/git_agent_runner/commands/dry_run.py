"""`--dry-run`: the exact command, and nothing started. Its imports are part of what a person waits for."""

from __future__ import annotations

import shlex

from git_agent_runner.engines.spec import Invocation
from git_agent_runner.plan import Plan
from git_agent_runner.present import command_line, print_json

SCHEMA = 1


def dry_run(plan: Plan, *, as_json: bool) -> None:
    """The exact command, copyable: `cd`, then the engine with its stdin. Nothing is started."""
    text = _pasteable(plan.invocation)
    if not as_json:
        print(text)
        return
    record, invocation = plan.record, plan.invocation
    print_json(
        {
            "schema": SCHEMA,
            "handle": record.handle or None,
            "engine": record.agent_name,
            "engineVersion": record.engine_version,
            "branch": record.branch,
            "kind": plan.kind,
            "session": plan.session,
            "cwd": invocation.cwd,
            "argv": list(invocation.argv),
            "stdin": None if invocation.stdin is None else invocation.stdin.decode(),
            "env": dict(invocation.env),
            "command": text,
        }
    )


def _pasteable(invocation: Invocation) -> str:
    unset = [f"-u {name}" for name, value in invocation.env if value is None]
    words = [f"{name}={shlex.quote(value)}" for name, value in invocation.env if value is not None and name != "PWD"]
    head = " ".join(["env", *unset, *words, ""]) if unset or words else ""
    line = f"{head}{command_line(invocation.argv)}"
    if invocation.stdin is not None:
        line = f"printf %s {shlex.quote(invocation.stdin.decode())} | {line}"
    return f"cd {shlex.quote(invocation.cwd)} && {line}"
