"""What counts as an engine's word that a session does not exist, and what is another trouble. faults A10"""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_extractors.profiles import profile_of
from git_agent_extractors.read import read

ID = "01a21f23-5ab8-7ef1-9437-807dbdda8fbf"


@pytest.mark.parametrize(
    ("engine", "text", "gone"),
    [
        (
            "codex",
            f"Error: thread/resume: thread/resume failed: no rollout found for thread id {ID} (code -32600)",
            True,
        ),
        ("codex", "Error: thread/resume: thread/resume failed: Model provider `work` not found (code -32600)", False),
        ("codex", "Error: thread/resume: thread/resume failed: failed to load configuration (code -32603)", False),
        ("codex", "Error: thread/resume: thread/resume failed: failed to read thread: Permission denied", False),
        ("gemini", f'Error resuming session: Invalid session identifier "{ID}".', True),
        ("gemini", "Error resuming session: No previous sessions found for this project.", True),
        ("gemini", "Error resuming session: EACCES: permission denied, open 'session.jsonl'", False),
        ("gemini", "Error resuming session: Unexpected end of JSON input", False),
    ],
)
def test_only_a_session_that_does_not_exist_is_gone(engine: str, text: str, gone: bool, tmp_path: Path) -> None:
    stderr = tmp_path / "stderr"
    stderr.write_text(f"{text}\n")
    found = read(profile_of(engine), {"stderr": stderr}, exit_status=1)
    assert (found.status == "session_missing") == gone
    assert found.status != "completed"
    assert found.error
