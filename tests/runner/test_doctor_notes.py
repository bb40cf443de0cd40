"""A notes ref that git cannot read: `git agent doctor` names it, and what it says to do lets git work again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_runner.core.model import Record
from git_agent_runner.store.notes import REF
from support.cli import Cli


def ref(cli: Cli) -> Path:
    return cli.repo.path / ".git" / REF


def remove_object(cli: Cli, name: str) -> None:
    oid = cli.repo.git("rev-parse", name)
    (cli.repo.path / ".git/objects" / oid[:2] / oid[2:]).unlink()


def emptied(cli: Cli) -> None:
    """As a crash of the machine leaves it."""
    ref(cli).write_text("")


def overwritten(cli: Cli) -> None:
    ref(cli).write_text("garbage\n")


def without_its_commit(cli: Cli) -> None:
    remove_object(cli, REF)


def without_its_tree(cli: Cli) -> None:
    remove_object(cli, f"{REF}^{{tree}}")


def no_commit(cli: Cli) -> None:
    blob = cli.repo.git("hash-object", "-w", "f")
    ref(cli).write_text(f"{blob}\n")


def link_to_nothing(cli: Cli) -> None:
    ref(cli).write_text("ref: refs/notes/gone\n")


DAMAGE = [emptied, overwritten, without_its_commit, without_its_tree, no_commit, link_to_nothing]


@pytest.fixture
def record(cli: Cli) -> Record:
    """A run noted on two commits, the reflog of the notes naming both writes."""
    begun = cli.begin()
    cli.repo.commit("two", f="2\n")
    cli.ok("resume", "go on")
    assert len(cli.noted()) == 2
    return begun


def problems(cli: Cli) -> list[str]:
    return [one["code"] for one in cli.run("doctor", "--json").json["problems"]]


@pytest.mark.parametrize("damage", DAMAGE)
def test_it_is_named_and_goes_back_to_what_was_whole(cli: Cli, record: Record, damage: Callable[[Cli], None]) -> None:
    damage(cli)
    done = cli.run("doctor")
    assert done.status == 1
    assert f"problem: {REF} cannot be read: " in done.out
    assert "fix: git agent doctor --repair, which restores " in done.out
    cli.ok("doctor", "--repair")
    assert set(cli.noted()) == {record.handle}
    cli.repo.git("commit", "-q", "--amend", "-m", "amended")
    assert problems(cli) == []


@pytest.mark.parametrize("damage", DAMAGE)
def test_without_a_reflog_it_can_be_deleted(cli: Cli, record: Record, damage: Callable[[Cli], None]) -> None:
    (cli.repo.path / ".git/logs" / REF).unlink()
    damage(cli)
    assert "notes_damaged" in problems(cli)
    cli.run("doctor", "--prune")
    cli.ok("doctor", "--repair")
    assert cli.noted() == [record.handle]
    cli.repo.git("commit", "-q", "--amend", "-m", "amended")
    assert problems(cli) == []


def test_a_note_whose_text_is_missing(cli: Cli, record: Record) -> None:
    """The others are read, and the run is found."""
    remove_object(cli, f"{REF}:{cli.repo.head()}")
    done = cli.run("doctor")
    assert f"note on {cli.repo.head()[:12]}: its object " in done.out
    assert cli.noted() == [record.handle]
    cli.repo.git("config", "--unset", "branch.main.agentHandle")
    assert record.handle in cli.ok("status").out
    cli.ok("resume", "again")
