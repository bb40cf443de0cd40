"""`doctor --repair` looks again, under the run's lock: what was forgotten meanwhile stays so (faults C4)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_runner.adopt.write import attempt_of
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.maintain.doctor import examine
from git_agent_runner.maintain.doctor.finding import Finding
from git_agent_runner.store.files import locks
from git_agent_runner.store.records import attempts
from support.cli import Cli, ask
from support.runs import leave

HANDLE = "7f3a9c21"
Harm = Callable[[Cli, Record], None]


def no_note(cli: Cli, _: Record) -> None:
    cli.repo.git("update-ref", "-d", "refs/notes/agent")


def no_directory(cli: Cli, record: Record) -> None:
    shutil.rmtree(cli.layout.run(record.run_id))


def no_record(cli: Cli, record: Record) -> None:
    os.unlink(cli.layout.index_file(record.handle))


def torn_attempt(cli: Cli, record: Record) -> None:
    Path(cli.layout.attempt(record.run_id, 1), attempts.FILE).write_text("number: ")


HARMS = {
    "note_missing": no_note,
    "run_directory_missing": no_directory,
    "record_missing": no_record,
    "attempt_unreadable": torn_attempt,
}


def finding(cli: Cli, code: str, harm: Harm) -> Finding:
    """A run that has ended, harmed; what doctor finds then."""
    record = leave(cli.repo, HANDLE, "record note")
    tip = cli.repo.head()
    ended = attempt_of(record, record.updated_at)._replace(head_after=tip, head_before=tip)
    attempts.new_run(cli.layout, record.run_id)
    attempts.begin(cli.layout, ended)
    harm(cli, record)
    _, found = examine.examine()
    (one,) = (one for one in found if one.code == code)
    return one


def forget(cli: Cli) -> None:
    """As `prune --notes` does, also where the record was gone already."""
    if os.path.exists(cli.layout.index_file(HANDLE)):
        assert ask("prune", HANDLE, "--notes") == 0
    else:
        cli.repo.git("update-ref", "-d", "refs/notes/agent")
        shutil.rmtree(cli.layout.runs_dir)


@pytest.mark.parametrize(("code", "harm"), HARMS.items(), ids=HARMS)
def test_what_was_forgotten_meanwhile_stays_forgotten(here: Cli, code: str, harm: Harm) -> None:
    found = finding(here, code, harm)
    forget(here)
    assert found.repair
    try:
        found.repair()
    except UserError as error:
        assert error.code == "not_rebuildable"  # noqa: PT017  the other outcome is as good
    runs = Path(here.layout.runs_dir)
    assert not os.path.lexists(here.layout.index_file(HANDLE))
    assert not runs.exists() or list(runs.iterdir()) == []
    assert here.noted() == []


@pytest.mark.parametrize(("code", "harm"), HARMS.items(), ids=HARMS)
def test_a_run_at_work_is_not_repaired(here: Cli, code: str, harm: Harm) -> None:
    found = finding(here, code, harm)
    before = here.state()
    assert found.repair
    with locks.locked(here.layout.run_lock(HANDLE)), pytest.raises(UserError, match="still running"):
        found.repair()
    assert (here.state(), len(here.noted())) == (before, 0 if code == "note_missing" else 1)


@pytest.mark.parametrize(("code", "harm"), HARMS.items(), ids=HARMS)
def test_else_it_is_repaired(here: Cli, code: str, harm: Harm) -> None:
    found = finding(here, code, harm)
    assert found.repair
    found.repair()
    assert here.record(HANDLE).handle == HANDLE
    assert here.attempt(1, HANDLE).number == 1
    assert here.noted() == [HANDLE]
