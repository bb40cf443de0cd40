"""Small facts that a verdict hangs on: finish reasons, exit statuses, warnings, whose id it is. Faults E."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_agent_extractors.find import search
from git_agent_extractors.model import Transcript
from git_agent_extractors.profiles import profile_of
from git_agent_extractors.read import read

ID = "00000000-0001-4abc-8def-000000000001"
SES = "ses_ddb81468afferX5tPdTB0omA6o"


def reading(folder: Path, engine: str, *lines: dict[str, Any], stderr: str = "", exit_status: int = 0) -> Transcript:
    (folder / "stdout").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "stderr").write_text(stderr)
    return read(engine, {"stdout": folder / "stdout", "stderr": folder / "stderr"}, exit_status=exit_status)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", "completed"),
        ("length", "failed"),
        ("content-filter", "failed"),
        ("error", "failed"),
        ("other", "failed"),
        ("tool-calls", "interrupted"),
        ("unknown", "interrupted"),
    ],
)
def test_finish_reasons_of_opencode(tmp_path: Path, reason: str, status: str) -> None:
    step = {"type": "step_finish", "sessionID": SES, "part": {"reason": reason, "tokens": {}, "cost": 0}}
    assert reading(tmp_path, "opencode", step).status == status


@pytest.mark.parametrize(
    ("exit_status", "status"),
    [
        (41, "auth_failed"),
        (55, "untrusted"),
        (145, "auth_failed"),
        (147, "auth_failed"),
        (173, "rate_limited"),
        (244, "overloaded"),
        (247, "overloaded"),
        (42, "failed"),
        (1, "failed"),
    ],
)
def test_exit_statuses_of_gemini(tmp_path: Path, exit_status: int, status: str) -> None:
    """The HTTP status & 255 in its JSON modes; nothing else is printed here."""
    assert reading(tmp_path, "gemini", exit_status=exit_status).status == status


@pytest.mark.parametrize(
    ("severity", "whole", "status", "error"),
    [
        ("warning", True, "completed", None),
        ("warning", False, "interrupted", None),
        ("error", False, "failed", "Loop detected"),
    ],
)
def test_a_warning_of_gemini_ends_nothing(
    tmp_path: Path, severity: str, whole: bool, status: str, error: str | None
) -> None:
    """Also where no result follows, as after an end from outside."""
    init = {"type": "init", "session_id": ID, "model": "auto"}
    said = {"type": "message", "role": "assistant", "content": "ok"}
    told = {"type": "error", "severity": severity, "message": "Loop detected"}
    end = [{"type": "result", "status": "success", "stats": {}}] if whole else []
    read_back = reading(tmp_path, "gemini", init, said, told, *end)
    assert (read_back.status, read_back.error) == (status, error)


def test_codex_names_its_thread_in_its_own_events_only(tmp_path: Path) -> None:
    """An untyped line with a `session_id` counts as the first of its source, as 0.29.0's configuration is, alone."""
    other = {"session_id": ID.replace("1", "2"), "model": "m", "workdir": "/w"}
    started = {"type": "thread.started", "thread_id": ID}
    assert reading(tmp_path, "codex", started, other).session.value == ID
    assert reading(tmp_path, "codex", other).session.value == other["session_id"]
    begun = {"type": "turn.started"}
    for lines in (
        (begun, other),
        (begun, {"thread_id": ID, **other}),
        (begun, {"note": "thread.started", **other}),
        ({**begun, **other},),
        ({**begun, "note": "thread.started", **other},),
    ):
        assert reading(tmp_path, "codex", *lines).session.value is None, lines


def test_codex_configuration_is_found_before_much_else(tmp_path: Path) -> None:
    """The first line has no needle, and is looked at all the same."""
    first = json.dumps({"session_id": ID, "model": "m", "workdir": "/w"})
    (tmp_path / "stdout").write_text(f"{first}\n" + '{"prompt": "x"}\n' * 500)
    found, _ = search(profile_of("codex"), {"stdout": tmp_path / "stdout"}, 512)
    assert found.value == ID
