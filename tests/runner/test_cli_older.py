"""`git agent start --resume` where the branch's newest run is not the one to continue."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.store.records.index import Index
from support.cli import Cli


def test_the_newest_run_with_a_session_and_of_that_engine(cli: Cli) -> None:
    """`start --resume` passes over a run that has none, and one of another engine than the one asked for."""
    codex = cli.begin("codex", FAKE_ID="new")
    claude = cli.begin("claude")
    cli.begin("codex", FAKE_ID="none")
    cli.ok("start", "--resume", "x")
    cli.ok("start", "--resume", "-e", "codex", "y")
    argv = [call["argv"] for call in cli.calls()[-2:]]
    assert (argv[0][-1], argv[1][-2]) == (claude.session.value, codex.session.value)
    done = cli.ok("start", "--resume", "-e", "gemini", "z")
    assert done.lines[1] == "warning: no run of gemini found for branch 'main'; starting a new run"


@pytest.mark.parametrize("readable", [True, False], ids=["by their start", "by their names"])
def test_of_older_runs_the_one_that_began_last(cli: Cli, readable: bool) -> None:
    """Not the one that was written last; a run's name tells its start where the record does not."""
    begun = [cli.begin("codex", FAKE_ID="new"), cli.begin("codex", FAKE_ID="new")]
    starts = ["2023-01-02T00:00:00+02:00", "2023-01-01T23:00:00Z"] if readable else ["soon", "0001-01-01T00:00:00"]
    for run, start, day in zip(begun, starts, "12", strict=True):
        run_id = run.run_id if readable else f"2023010{day}{run.run_id[8:]}"
        Path(cli.layout.run(run.run_id)).rename(cli.layout.run(run_id))
        path = Path(cli.layout.index_file(run.handle))
        path.write_text(path.read_text().replace(run.created_at, start).replace(run.run_id, run_id))
    Index(cli.layout).update(begun[0].handle, lambda old: old._replace(updated_at="2030-01-01T00:00:00.000Z"))
    cli.begin("codex", FAKE_ID="none")
    cli.ok("start", "--resume", "x")
    assert [cli.record(run.handle).attempts for run in begun] == [1, 2]


def test_a_damaged_record_gives_way_and_is_named(cli: Cli) -> None:
    older = cli.begin("codex", FAKE_ID="new")
    damaged = cli.begin("codex", FAKE_ID="new")
    cli.begin("codex", FAKE_ID="none")
    Path(cli.layout.index_file(damaged.handle)).write_text("]")
    done = cli.ok("start", "--resume", "x")
    assert cli.record(older.handle).attempts == 2
    assert any(f"cannot read '{cli.layout.index_file(damaged.handle)}'" in line for line in done.lines)


def test_an_older_run_goes_on_where_the_branchs_record_is_damaged(cli: Cli) -> None:
    """Unattended, it is skipped with a warning; without an older one nothing begins."""
    older = cli.begin("codex", FAKE_ID="new")
    damaged = cli.begin("codex", FAKE_ID="new")
    Path(cli.layout.index_file(damaged.handle)).write_text("]")
    done = cli.ok("start", "--resume", "x")
    assert cli.record(older.handle).attempts == 2
    why = f"warning: the record of run {damaged.handle} is missing or damaged; its run directory is here"
    assert f"{why}; using the older run {older.handle}" in done.lines
    Path(cli.layout.index_file(older.handle)).write_text("]")
    done = cli.run("start", "--resume", "-e", "codex", "x", "--json")
    assert (done.status, done.json["error"]["code"], len(cli.calls())) == (128, "corrupt_record", 3)


def test_a_dead_branchs_run_is_not_taken(cli: Cli) -> None:
    """The older run with a session belonged to a branch that had the same name, and is gone."""
    cli.repo.switch_new("feature")
    dead = cli.begin(FAKE_ID="new")
    Index(cli.layout).update(dead.handle, lambda old: old._replace(updated_at="2023-01-01T00:00:00.000Z"))
    cli.repo.git("checkout", "-q", "main")
    cli.repo.git("branch", "-q", "-D", "feature")
    cli.repo.switch_new("feature")
    begun = cli.begin(FAKE_ID="none")
    cli.ok("start", "--resume", "x")
    assert (cli.attempt(2, begun.handle).kind, cli.record(dead.handle).attempts) == ("fresh", 1)
