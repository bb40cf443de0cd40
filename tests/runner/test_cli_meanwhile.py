"""What is said and stored while an engine works."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import GitRepo


@pytest.fixture
def cli(repo: GitRepo, isolated: Path) -> Cli:
    return Cli(repo, isolated)


def test_silence_is_told_as_stalled(cli: Cli) -> None:
    """Engines that try a 429 or a 500 again say nothing meanwhile."""
    cli.repo.git("config", "agent.stallAfter", "1")
    done = cli.ok("start", "-e", "codex", "begin", FAKE_CMD="sleep 4.5")
    # Once more where the engine is slow to start.
    assert 1 <= done.err.count("git-agent: stalled: nothing printed for ") <= 2
    assert cli.record().status == "completed"


@pytest.mark.parametrize("engine", ["codex", "claude", "gemini", "opencode"])
def test_the_id_of_another_conversation_is_at_no_time_stored(cli: Cli, engine: str) -> None:
    """A resume that began again in silence: were we killed now, the run would have lost its session."""
    before = cli.begin(engine)
    seen = cli.home / "seen"
    look = f"sleep 1; cat '{cli.layout.index_file(before.handle)}' > '{seen}'"  # the id was printed before
    done = cli.run("resume", "go on", FAKE_UNKNOWN="new", FAKE_CMD=look)
    reported = cli.attempt(2).reported_session
    assert (done.status, cli.attempt(2).resumed) == (1, "as_new")
    assert reported not in (None, before.session.value)
    for text in (seen.read_text(), Path(cli.layout.index_file(before.handle)).read_text()):
        assert str(before.session.value) in text
        assert str(reported) not in text
