"""Records that a person has edited: they can be read, but have a key twice, or times of another time zone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from git_agent_runner import context
from git_agent_runner.adopt.write import attempt_of
from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Record
from git_agent_runner.store import notes
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.notes import noteline
from git_agent_runner.store.notes.joining import union
from git_agent_runner.store.records import attempts
from git_agent_runner.store.records.listing import ListRequest, listing
from support.cli import Cli
from support.gitrepo import GitRepo
from support.runs import find, index, leave, record

LATER = "2026-11-20T22:00:00Z"
EARLIER = "2026-11-20T23:30:00+02:00"  # half an hour before, though not as text


def file_of(cli: Cli, record: Record) -> Path:
    return Path(cli.layout.index_file(record.handle))


def add(path: Path, line: str) -> None:
    path.write_text(f"{path.read_text()}{line}\n")


# faults B10


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ('branch: "other"', "branch", "other"),
        ("status: failed", "status", "failed"),
        ("agentName: claude", "engine", "claude"),
        ("cwd: /elsewhere", "cwd", "/elsewhere"),
        ("createdAt: 2026-01-01T00:00:00Z", "createdAt", "2026-01-01T00:00:00.000Z"),
        ('"updatedAt": 2026-01-01T00:00:00Z', "updatedAt", "2026-01-01T00:00:00.000Z"),
    ],
)
def test_of_a_key_that_is_there_twice_every_command_takes_the_last_and_names_the_file(
    cli: Cli, line: str, key: str, value: str
) -> None:
    path = file_of(cli, leave(cli.repo, "aaaaaaaa"))
    add(path, line)
    twice = line.partition(":")[0].strip('"')
    for _ in range(2):  # the second list is from the cache
        listed, shown = cli.ok("list", "--json"), cli.ok("show", "aaaaaaaa", "--json")
        assert (listed.json["runs"][0][key], shown.json[key]) == (value, value)
        for done in (listed, shown):
            assert done.err.count(f"warning: '{path}': `{twice}` is in lines ") == 1


@pytest.mark.parametrize(
    "words", [("status",), ("resume", "aaaaaaaa", "on", "--dry-run"), ("resume", "--all", "--dry-run")]
)
def test_a_key_that_is_there_twice_is_warned_of_once(cli: Cli, words: tuple[str, ...]) -> None:
    path = file_of(cli, leave(cli.repo, "aaaaaaaa", status="interrupted"))
    add(path, "status: failed")
    assert cli.run(*words).err.count(f"warning: '{path}': `status` is in lines ") == 1


def test_doctor_names_a_key_that_is_there_twice_until_one_line_is_deleted(cli: Cli) -> None:
    path = file_of(cli, leave(cli.repo, "aaaaaaaa"))
    whole = path.read_text()

    def doubled() -> list[str]:
        found = json.loads(cli.run("doctor", "--json", "--repair").out)["problems"]
        return [one["problem"] for one in found if one["code"] == "record_doubled"]

    assert doubled() == []
    add(path, "branch: other")
    (problem,) = doubled()
    assert problem == f"'{path}': `branch` is in lines 11 and 26; the last one counts"
    path.write_text(whole)
    assert doubled() == []


def test_a_key_that_is_there_twice_in_an_attempt_is_named_by_show_and_doctor(cli: Cli) -> None:
    made = leave(cli.repo, "aaaaaaaa")
    attempts.begin(cli.layout, attempt_of(made, made.updated_at))
    path = Path(cli.layout.attempt(made.run_id, 1), attempts.FILE)
    add(path, "kind: resume")
    words = f"'{path}': `kind` is in lines "
    assert words in cli.ok("show", "aaaaaaaa").err
    found = cli.run("doctor", "--json").json["problems"]
    assert [one["code"] for one in found if one["problem"].startswith(words)] == ["record_doubled"]


# faults B11


def two(repo: GitRepo, what: str) -> None:
    """The run that ended last is the one whose time is less as text."""
    leave(repo, "aaaaaaaa", what, updated_at=EARLIER, created_at=EARLIER)
    leave(repo, "bbbbbbbb", what, updated_at=LATER, created_at=LATER)


def test_runs_are_listed_by_instants(repo: GitRepo) -> None:
    two(repo, "record")
    layout = Layout(repo.facts().common_dir)
    for _ in range(2):
        assert [row.handle for row in listing(layout, moment(LATER) or 0.0).rows] == ["bbbbbbbb", "aaaaaaaa"]
    assert [row.updated_at for row in listing(layout, moment(LATER) or 0.0, ListRequest(1)).rows] == [LATER]


@pytest.mark.parametrize("what", ["record", "note", "record note"])
def test_the_run_that_ended_last_is_the_branchs(repo: GitRepo, what: str) -> None:
    two(repo, what)
    assert find(repo).handle == "bbbbbbbb"


def test_of_two_pointers_the_run_that_ended_last_counts(repo: GitRepo) -> None:
    two(repo, "record")
    for handle in ("bbbbbbbb", "aaaaaaaa"):
        repo.git("config", "--add", "branch.main.agentHandle", handle)
    assert find(repo).handle == "bbbbbbbb"


def test_of_two_lines_of_one_run_the_later_instant_wins(repo: GitRepo) -> None:
    older = noteline.render(leave(repo, "aaaaaaaa", "record", updated_at=EARLIER))
    newer = noteline.render(index(repo).read("aaaaaaaa")._replace(updated_at=LATER))
    assert union(older, newer) == union(newer, older) == f"{newer}\n"
    (note,) = noteline.parse(f"{newer}\n{older}")[0]
    assert note.updated_at == LATER


def test_a_note_dated_in_another_time_zone_is_a_run(repo: GitRepo) -> None:
    leave(repo, "aaaaaaaa", "note", updated_at=EARLIER)
    found = notes.read(repo.facts())
    assert (found.problems, [note.updated_at for runs in found.by_commit.values() for note in runs]) == ((), [EARLIER])


def test_a_run_is_to_come_by_its_instant(repo: GitRepo) -> None:
    soon = context.timestamp(datetime.now(UTC) + timedelta(hours=2))
    assert not noteline.is_to_come(record(repo, "aaaaaaaa", updated_at=soon))
    assert noteline.is_to_come(record(repo, "aaaaaaaa", updated_at=soon.replace("Z", "-23:00")))  # in 25 hours


@pytest.mark.parametrize("seen", [(EARLIER, LATER), (LATER, EARLIER), ("no time", LATER)])
def test_what_a_run_was_last_seen_at_is_the_later_instant(
    seen: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = moment("2026-11-20T21:45:00Z")  # the clock was set back
    monkeypatch.setattr("git_agent_runner.context.time.time", lambda: now)
    assert context.later(*seen) == "2026-11-20T22:00:00.000Z"
