"""When engines delete sessions by themselves, by their own settings: what `doctor` and `status` warn of."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_runner.engines import retention
from git_agent_runner.engines.spec import Located, StoreQuery, Version

WRITTEN = 1_795_000_000.0
DAY = 86400.0


def located(tmp_path: Path) -> Located:
    path = tmp_path / "session"
    path.touch()
    os.utime(path, (WRITTEN, WRITTEN))
    return Located("present", str(path))


def query(tmp_path: Path, version: Version) -> StoreQuery:
    return StoreQuery({"HOME": str(tmp_path)}, str(tmp_path / "repo"), version, "x")


def write(path: Path, settings: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings))


@pytest.mark.parametrize(
    ("told", "version", "days"),
    [
        pytest.param(None, (0, 61, 0), 30, id="default"),
        pytest.param(None, (0, 36, 0), 30, id="default of 0.36.0"),
        pytest.param(None, (0, 20, 2), None, id="0.20.2 deletes nothing by itself"),
        pytest.param({"enabled": True, "maxAge": "7d"}, (0, 20, 2), 7, id="unless told to"),
        pytest.param({"enabled": False}, (0, 61, 0), None, id="off"),
        pytest.param({"maxAge": "48h"}, (0, 61, 0), 2, id="hours"),
        pytest.param({"maxAge": "2w"}, (0, 61, 0), 14, id="weeks"),
        pytest.param({"maxAge": "3m"}, (0, 61, 0), 90, id="months"),
        pytest.param({"maxAge": "soon"}, (0, 61, 0), None, id="an age that gemini refuses"),
        pytest.param([], (0, 61, 0), 30, id="another shape"),
        pytest.param("{} // a comment", (0, 61, 0), 30, id="not to be read"),
    ],
)
def test_when_gemini_deletes_a_session(tmp_path: Path, told: object, version: Version, days: float | None) -> None:
    if told is not None:
        text = told if isinstance(told, str) else {"general": {"sessionRetention": told}}
        write(tmp_path / ".gemini/settings.json", text)
    found = retention.gemini(query(tmp_path, version), located(tmp_path))
    assert found == (None if days is None else WRITTEN + days * DAY)


@pytest.mark.parametrize(
    ("files", "days"),
    [
        pytest.param({}, 30, id="default"),
        pytest.param({".claude/settings.json": {"cleanupPeriodDays": 5}}, 5, id="the person's"),
        pytest.param({".claude/settings.json": {"cleanupPeriodDays": 0}}, None, id="never"),
        pytest.param({".claude/settings.json": "[]"}, 30, id="another shape"),
        pytest.param(
            {
                ".claude/settings.json": {"cleanupPeriodDays": 5},
                "repo/.claude/settings.json": {"cleanupPeriodDays": 6},
                "repo/.claude/settings.local.json": {"cleanupPeriodDays": 7},
            },
            7,
            id="the project's come last",
        ),
    ],
)
def test_when_claude_deletes_a_session(tmp_path: Path, files: dict[str, object], days: float | None) -> None:
    for name, settings in files.items():
        write(tmp_path / name, settings)
    found = retention.claude(query(tmp_path, (2, 1, 332)), located(tmp_path))
    assert found == (None if days is None else WRITTEN + days * DAY)


@pytest.mark.parametrize("ask", [retention.claude, retention.gemini], ids=["claude", "gemini"])
def test_a_session_that_is_not_there(tmp_path: Path, ask: Callable[[StoreQuery, Located], float | None]) -> None:
    absent, gone = Located("absent"), Located("present", str(tmp_path / "gone"))
    assert ask(query(tmp_path, (9, 9, 9)), absent) is None
    assert ask(query(tmp_path, (9, 9, 9)), gone) is None
