"""Runs that no attempt of ours began: a session that an engine has already, or a run that only a note knows."""

from __future__ import annotations

from git_agent_runner.model import Attempt, Record


def attempt_of(record: Record, moment: str) -> Attempt:
    """The attempt that stands for what is known of a run: no engine was started, and nothing was printed."""
    return Attempt(
        number=max(1, record.attempts),
        kind="adopt",
        run_id=record.run_id,
        agent_name=record.agent_name,
        branch=record.branch,
        worktree=record.worktree,
        cwd=record.cwd,
        start_commit=record.start_commit,
        argv=(),
        launch_args=record.launch_args,
        message=None,
        engine_version=record.engine_version,
        host=record.host,
        started_at=moment,
        created_at=record.created_at,
        ended_at=moment,
        status=record.status,
        session=record.session,
        session_from="record" if record.session.value else None,
        parent_session=record.parent_session,
    )
