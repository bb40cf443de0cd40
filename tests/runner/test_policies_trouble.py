"""What is the matter with a run, from what its engine printed: how long it asks to wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner import context
from git_agent_runner.unattended.policies.trouble import LONGEST, retry_after
from support.cli import Cli

RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings"
OPENCODE = (RECORDINGS / "opencode/1.18.33/rate-limit/stdout").read_text()
ERROR = (
    '{{"type":"thread.started","thread_id":"01a21f23-5ab8-7ef1-9437-807dbdda8fbf"}}\n'
    '{{"type":"error","message":"{}"}}\n'
)


@pytest.mark.parametrize(
    ("engine", "printed", "seconds"),
    [
        pytest.param("opencode", OPENCODE, 1.0, id="a header, recorded"),
        pytest.param("opencode", OPENCODE.replace('"retry-after":"1"', '"retry-after":"90"'), 90.0, id="a longer one"),
        pytest.param(
            "opencode",
            OPENCODE.replace('"retry-after":"1"', '"retry-after":"Sat, 28 Nov 2026 03:04:05 GMT"'),
            None,
            id="a date",
        ),
        pytest.param(
            "opencode", OPENCODE.replace('"retry-after":"1"', '"retry-after":"999999"'), LONGEST, id="for ever"
        ),
        pytest.param("codex", ERROR.format("Rate limit reached. Please try again in 12.5s."), 12.5, id="words"),
        pytest.param("codex", ERROR.format("quota exceeded, retry after 2 minutes"), 120.0, id="minutes"),
        pytest.param("codex", ERROR.format("please try again in 250ms"), 0.25, id="milliseconds"),
        pytest.param("codex", ERROR.format("exceeded retry limit, last status: 429"), None, id="no time"),
    ],
)
def test_how_long_it_asks_to_wait(here: Cli, tmp_path: Path, engine: str, printed: str, seconds: float | None) -> None:
    path = tmp_path / "printed"
    path.write_text(printed)
    here.begin(engine, FAKE_OUT=str(path), FAKE_EXIT="1")
    assert retry_after(context.load(), here.attempt(1)) == seconds
