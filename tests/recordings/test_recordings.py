"""Every recording of every engine version: session and status right, every event known, the story as it was read."""

from __future__ import annotations

from git_agent_fixtures.pytest_plugin import Held


def test_recording(git_agent_recording: Held) -> None:
    read = git_agent_recording.hold()
    assert read.status == git_agent_recording.recording.truth.status
