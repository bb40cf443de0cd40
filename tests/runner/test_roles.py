"""Runs that review a change, make a check pass or were started by a hook: they are no branch's, whatever happens."""

from __future__ import annotations

import os
import shutil
from typing import get_args

import pytest

from git_agent_runner.core.model import Record, Role
from git_agent_runner.store import notes
from git_agent_runner.store.notes import writing
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.index import Index
from support.cli import Cli
from support.gitrepo import GitRepo
from support.noted import record
from support.reviewing import asked, write


def of_role(cli: Cli, role: Role) -> Record:
    """A run of that role on this branch: what an ordinary one leaves, without its pointer and its note."""
    begun = cli.begin("claude")
    for number in attempts.numbers(cli.layout, begun.run_id):
        attempt = attempts.read(cli.layout, begun.run_id, number)
        attempts.save(cli.layout, attempt._replace(role=role))
    cli.repo.git("update-ref", "-d", notes.REF)
    cli.repo.git("config", "--unset-all", "branch.main.agentHandle")
    return Index(cli.layout).update(begun.handle, lambda old: old._replace(role=role))


def test_doctor_does_not_miss_the_note_of_a_review(cli: Cli) -> None:
    write(cli.repo, "f", "harmless\n")
    cli.repo.git("add", "f")
    assert asked(cli, "--staged").status == 0
    assert cli.ok("doctor").out == "nothing is wrong\n"
    os.unlink(cli.layout.index_file(cli.record().handle))
    assert cli.run("doctor", "--repair").out.endswith("\nnothing else is wrong\n")
    assert cli.record().role == "review"
    assert (cli.pointers(), cli.noted()) == ({}, [])


def test_a_record_is_rebuilt_without_pointer_and_note(cli: Cli) -> None:
    made = of_role(cli, "hook")
    assert cli.ok("doctor").out == "nothing is wrong\n"
    os.unlink(cli.layout.index_file(made.handle))
    cli.run("doctor", "--repair")
    assert cli.record(made.handle).role == "hook"
    assert (cli.pointers(), cli.noted()) == ({}, [])
    assert cli.ok("doctor").out == "nothing is wrong\n"


def test_doctor_does_not_miss_the_session_of_a_review(cli: Cli) -> None:
    made = of_role(cli, "review")
    shutil.rmtree(f"{cli.layout.run(made.run_id)}/session")
    for path in cli.home.glob(".claude/projects/*/*.jsonl"):
        path.unlink()
    assert cli.ok("doctor").out == "nothing is wrong\n"


@pytest.mark.parametrize("role", [role for role in get_args(Role) if role != "work"])
def test_it_is_in_no_note_whoever_would_write_one(repo: GitRepo, role: Role) -> None:
    """A hook after a commit that it makes, for one."""
    facts = repo.facts()
    writing.write(facts, facts.head, record(role=role))
    assert not notes.exists(facts)


def test_it_is_not_adopted(cli: Cli) -> None:
    made = of_role(cli, "fix")
    done = cli.run("adopt", made.handle, "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "run_of_no_branch"), done
    assert cli.record(made.handle).role == "fix"
    assert (cli.pointers(), cli.noted()) == ({}, [])
    hint = done.json["error"]["hints"][0].rpartition(": git agent ")[2]
    cli.ok(*hint.split())
    (pointed,) = cli.pointers().values()
    assert (pointed != made.handle, cli.record(pointed).role) == (True, "work")
