"""docs/notes-and-index.md shows one run in its four forms: each is read by what reads it, and no key is left out."""

from __future__ import annotations

import json

import pytest
from ruamel.yaml import YAML

from git_agent_runner.git.settings import read
from git_agent_runner.store import pointer, records
from git_agent_runner.store.notes import noteline
from git_agent_runner.store.records import attempts, document
from git_agent_runner.store.records.document import Shape
from support import docs
from support.gitrepo import GitRepo

PAGE = (docs.ROOT / "docs/notes-and-index.md").read_text()
RECORD, ATTEMPT = docs.blocks(PAGE, "yaml")
(NOTE,) = docs.blocks(PAGE, "text")
(POINTER,) = docs.blocks(PAGE, "ini")


def refuse(warning: str) -> None:
    raise AssertionError(warning)


@pytest.mark.parametrize(
    ("shape", "text"),
    [pytest.param(records.SHAPE, RECORD, id="record"), pytest.param(attempts.SHAPE, ATTEMPT, id="attempt")],
)
def test_an_example_is_what_git_agent_writes(shape: Shape[object], text: str) -> None:
    assert document.render(shape, document.parse(shape, text, "example", refuse)) == text
    assert list(YAML(typ="safe").load(text)) == [field.key for field in shape.fields]


@pytest.mark.parametrize(
    ("shape", "heading"),
    [pytest.param(records.SHAPE, "Record", id="record"), pytest.param(attempts.SHAPE, "Attempt", id="attempt")],
)
def test_every_key_is_explained(shape: Shape[object], heading: str) -> None:
    cells = docs.rows(docs.section(PAGE, heading))
    explained = [key for row in cells for key in docs.inline_code(row[0])]
    assert sorted(explained) == sorted(field.key for field in shape.fields)


def test_the_note_is_that_records_line_and_yaml() -> None:
    record = records.parse(RECORD, "example")
    assert noteline.render(record) == NOTE.rstrip("\n")
    assert YAML(typ="safe").load(NOTE) == [json.loads(NOTE[2:])]
    (note,), problems = noteline.parse(NOTE)
    assert (note.handle, note.session, problems) == (record.handle, record.session, [])


def test_the_pointer_is_read_from_gits_configuration(repo: GitRepo) -> None:
    with (repo.path / ".git/config").open("a") as config:
        config.write(POINTER)
    record = records.parse(RECORD, "example")
    assert pointer.read(repo.facts(), read(repo.facts())) == {record.branch: record.handle}


def test_the_attempt_is_the_records_last() -> None:
    record = records.parse(RECORD, "example")
    attempt = document.parse(attempts.SHAPE, ATTEMPT, "example", refuse)
    assert (attempt.run_id, attempt.number, attempt.session, attempt.launch_args) == (
        record.run_id,
        record.attempts,
        record.session,
        record.launch_args,
    )
