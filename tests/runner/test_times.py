"""Durations as people type them, and times as JSON tells them: one form each."""

from __future__ import annotations

import pytest

from git_agent_runner.core.clock import duration, told
from support.cli import Cli


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("1.5m", 90.0),
        ("10 m", 600.0),
        ("2h", 7200.0),
        ("30d", 2592000.0),
        ("8w", 4838400.0),
        ("250ms", 0.25),
    ],
)
def test_a_duration(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "nan", "-1", "1e3", "10 minutes", "1M", "\u0661", "5m\n", "9" * 400])
def test_what_is_not_a_duration(text: str) -> None:
    assert duration(text) is None


@pytest.mark.parametrize("command", ["start", "resume"])
@pytest.mark.parametrize("text", ["0", "nan", "soon"])
def test_a_timeout_that_is_none(cli: Cli, command: str, text: str) -> None:
    done = cli.run(command, "x", "--timeout", text)
    assert done.status == 129
    assert done.err == f"fatal: invalid duration '{text}'\nhint: write seconds, or 90s, 10m, 2h: --timeout 10m\n"


def test_a_timeout_takes_what_settings_take(cli: Cli) -> None:
    """faults B17: `--timeout 10m` was refused where agent.stallAfter took it."""
    cli.ok("start", "-e", "codex", "x", "--timeout", "10m")


def test_an_age_needs_its_unit(cli: Cli) -> None:
    """A bare number of seconds would delete what somebody meant in days."""
    assert cli.run("prune", "--older-than", "30").err.startswith("fatal: invalid age '30'\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-11-27T10:15:02.250Z", "2026-11-27T10:15:02.250Z"),
        ("2026-11-27T23:30:00+02:00", "2026-11-27T21:30:00.000Z"),
        ("2026-11-27", "2026-11-27T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00+02:00", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_told_in_one_form(text: str | None, said: str | None) -> None:  # faults F6
    assert told(text) == said
