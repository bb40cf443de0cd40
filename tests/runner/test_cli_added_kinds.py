"""An engine of a person's own that forks, has its sessions in a database, and fails by its exit status. Faults E."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from git_agent_runner.store.files.locks import locked
from support.added import WREN, WREN_PROGRAM, add, program
from support.cli import Cli
from support.terminal import Person

HEADLESS = """\
resume:
  argv: ['--dir={cwd}', '{flags}', --chat, '{session}']
  stdin: true
"""


@pytest.fixture
def wren(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A person who has described wren, and has it on PATH."""
    add(cli.home, WREN.read_text(), "wren")
    path = program(cli.home, "wren", WREN_PROGRAM)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    return cli


@pytest.fixture
def only_in_a_terminal(wren: Cli) -> Cli:
    text = WREN.read_text()
    assert HEADLESS in text
    add(wren.home, text.replace(HEADLESS, ""), "wren")
    return wren


def said(cli: Cli, number: int) -> str:
    stdout = Path(cli.layout.attempt(cli.record().run_id, number), "stdout").read_text()
    return str(json.loads(stdout.splitlines()[1])["text"])


def test_a_resume_goes_on_with_the_session_that_it_made(wren: Cli) -> None:
    first = wren.begin("wren", "--", "--model", "m").session.value
    wren.ok("resume", "MK2")
    second = wren.record().session.value
    wren.ok("resume", "MK3")
    assert [wren.attempt(number).resumed for number in (2, 3)] == ["forked", "forked"]
    assert [wren.attempt(number).parent_session for number in (2, 3)] == [first, second]
    assert said(wren, 3) == f"{wren.repo.path} begin | MK2 | MK3"
    assert wren.attempt(3).argv[1:] == (f"--dir={wren.repo.path}", "--model", "m", "--chat", second)
    assert wren.record().session.value not in (first, second)
    assert wren.ok("doctor").out == "nothing is wrong\n"


def test_the_directory_is_that_of_the_run(wren: Cli) -> None:
    (wren.repo.path / "sub").mkdir()
    wren.ok("start", "-e", "wren", "x", cwd=wren.repo.path / "sub")
    shown = wren.ok("resume", "-n", "--json", "y").json
    assert (shown["argv"][1], shown["cwd"]) == (f"--dir={wren.repo.path / 'sub'}", str(wren.repo.path / "sub"))


def test_an_exit_status_above_0_is_a_failure(wren: Cli) -> None:
    done = wren.run("start", "-e", "wren", "BREAK")
    assert (done.status, wren.record().status, wren.record().session.value) == (3, "failed", "w-0000001a")
    wren.ok("resume", "fixed")
    assert said(wren, 2) == f"{wren.repo.path} BREAK | fixed"


def test_a_wrapper_that_says_something_and_exits_0_has_done_nothing(wren: Cli) -> None:
    """Faults B1"""
    says = "import sys\nprint('wren 2.1' if '--version' in sys.argv else 'no version is set')\n"
    program(wren.home, "wren", f"#!{sys.executable}\n{says}")
    done = wren.run("start", "-e", "wren", "x")
    assert (done.status, wren.record().status, wren.record().session.value) == (1, "no_output", None)


def test_an_error_that_names_the_session(wren: Cli) -> None:
    done = wren.run("start", "-e", "wren", "AUTHFAIL")
    assert (done.status, wren.record().status, wren.record().session.value) == (1, "auth_failed", "w-0000001a")
    assert wren.attempt().session_from == "stdout"
    wren.ok("resume", "logged in")
    assert said(wren, 2).endswith("AUTHFAIL | logged in")


def test_a_session_that_the_database_lacks(wren: Cli) -> None:
    """A database that is no database says nothing of it: then the engine is asked."""
    wren.begin("wren")
    database = wren.home / ".wren/chats.db"
    with sqlite3.connect(database) as store:
        store.execute("DELETE FROM chats")
    done = wren.run("resume", "--json", "x")
    assert (done.status, done.json["error"]["code"], wren.record().attempts) == (128, "session_missing", 1)
    database.write_text("no database")
    shown = wren.ok("resume", "-n", "--json", "x").json
    assert shown["argv"][-1] == "w-0000001a"


def test_a_session_that_was_not_printed_is_taken_from_the_database(wren: Cli) -> None:
    text = WREN_PROGRAM.replace('{{"type": "begun", "chat": chat}}', '{{"type": "begun"}}')
    program(wren.home, "wren", text.replace('{"type": "begun", "chat": chat}', '{"type": "begun"}'))
    assert wren.begin("wren").session.value == "w-0000001a"
    assert wren.attempt().session_from == "store"


def test_a_resume_that_needs_a_terminal_says_so(only_in_a_terminal: Cli) -> None:
    cli = only_in_a_terminal
    started = cli.ok("start", "-e", "wren", "MK1")
    assert "resume    git agent resume -i" in started.err.splitlines()
    assert "resume    git agent resume -i" in cli.ok("show").out
    refused = cli.run("resume", "--json", "x")
    assert (refused.status, refused.json["error"]["code"]) == (128, "resume_unsupported")
    assert refused.lines[0] == "fatal: wren resumes a session only in a terminal"
    assert "hint: on a terminal: -i" in refused.lines
    rows = cli.ok("engines", "--json").json["engines"]
    assert [row["resume"] for row in rows if row["engine"] == "wren"] == ["in a terminal"]
    assert {line.split()[0] for line in cli.ok("engines", "--check", "wren").out.splitlines()} == {"kept"}
    again = cli.ok("start", "--resume", "MK2")
    assert "NOT resumed: wren resumes a session only in a terminal; starting a new session in run" in again.err


def test_hints_name_the_form_that_it_has(only_in_a_terminal: Cli) -> None:
    """Faults A18: a message cannot be given to it."""
    cli, go_on = only_in_a_terminal, "to continue that one: git agent resume {} -i"
    first = cli.begin("wren").handle
    assert go_on.format(first) in cli.ok("start", "-e", "wren", "MK2").err
    second = cli.pointers()["main"]
    assert go_on.format(second) in cli.ok("adopt", first).err
    with locked(cli.layout.run_lock(first)):
        assert f"hint: wait for its end: git agent resume {first} --wait -i" in cli.run("resume", "MK3").lines


def test_a_resume_in_a_terminal(only_in_a_terminal: Cli) -> None:
    cli = only_in_a_terminal
    first = cli.begin("wren").session.value
    person = Person(cli)
    assert person.wait(person.start("resume", "-i", "MK2")) == 0
    assert f"{cli.repo.path} begin | MK2" in person.seen
    assert cli.attempt(2).argv[1:] == (f"--dir={cli.repo.path}", "--chat", first, "--ask=MK2")
