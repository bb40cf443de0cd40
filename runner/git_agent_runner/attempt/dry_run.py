"""`--dry-run`: the exact command, and nothing started. Its imports are part of what a person waits for."""

from __future__ import annotations

from typing import Any

from git_agent_runner.attempt.plan import Plan
from git_agent_runner.console.lines import pasteable, print_json, say

SCHEMA = 1


def dry_run(plan: Plan, *, as_json: bool) -> None:
    """The exact command, copyable: `cd`, then the engine with its stdin. Nothing is started."""
    text = pasteable(plan.invocation)
    if plan.restore:
        say(f"{plan.restore.why(plan.engine.name, 'has')}: the run's backup would be {plan.restore.where} first")
    if plan.carry:
        say(f"first, {plan.carry.why('would be')}")
    if plan.handed:
        say(f"first, {plan.handed.why('would be')}")
    if not as_json:
        print(text)
        return
    print_json({"schema": SCHEMA, **planned(plan), "command": text})


def planned(plan: Plan) -> dict[str, Any]:
    """What is about to run, as docs/json.md describes it."""
    record, invocation, error = plan.record, plan.invocation, plan.instead_of
    return {
        "handle": record.handle or None,
        "engine": record.agent_name,
        "engineVersion": record.engine_version,
        "branch": record.branch,
        "kind": plan.kind,
        "strategy": plan.strategy,
        "fallbackCode": error.code if error else None,
        "fallbackReason": error.message if error else None,
        "session": plan.session,
        "cwd": invocation.cwd,
        "argv": list(invocation.argv),
        "stdin": None if invocation.stdin is None else invocation.stdin.decode(),
        "env": dict(invocation.env),
        "restores": plan.restore is not None,
        "handOver": plan.handed and plan.handed.facts(),
    }
