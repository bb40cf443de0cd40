"""The sandbox that codex's newest turn had, as its session file tells it (`turn_context`, 0.65.0 to 0.171.0)."""

from __future__ import annotations

from git_agent_runner.engines import files


def kind(path: str | None) -> str | None:
    """`read-only`, `workspace-write`, `danger-full-access`, …; None where nothing tells it."""
    try:
        turns = [record for record in files.records(path or "", last=True) if record.get("type") == "turn_context"]
    except OSError:
        return None
    payload = turns[-1].get("payload") if turns else None
    policy = payload.get("sandbox_policy") if isinstance(payload, dict) else None
    found = policy.get("type") if isinstance(policy, dict) else None
    return found if isinstance(found, str) else None
