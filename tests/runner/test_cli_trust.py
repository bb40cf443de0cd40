"""What others wrote: settings in tracked files, programs in the work tree, records and notes full of escapes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from git_agent_extractors.model import Session
from git_agent_runner.store.records.index import Index
from support.cli import Cli

ESCAPES = "\x1b[2J\x07\u009b31m\u202e"
SHOWN = "^[[2J^G\\x9b31m\\u202e"


@pytest.mark.parametrize("key", ["agent.engine", "agent.codex.binary", "agent.codex.args", "agent.fallback"])
def test_a_tracked_file_chooses_nothing(cli: Cli, key: str) -> None:
    tracked = cli.repo.path / ".gitconfig"
    cli.repo.git("config", "--file", str(tracked), key, "fail")
    cli.repo.git("config", "include.path", "../.gitconfig")
    before = cli.state()
    for words in (["start", "-e", "codex", "x"], ["resume", "x"], ["list"], ["engines"]):
        done = cli.run(*words)
        assert done.status == 128
        assert (
            done.lines[0] == f"fatal: {key} comes from '{cli.repo.path}/.git/../.gitconfig', a file inside a work tree"
        )
    assert (cli.state(), cli.calls()) == (before, [])


@pytest.mark.parametrize("named", [True, False], ids=["by setting", "by PATH"])
def test_a_program_of_the_work_tree_is_not_run(cli: Cli, named: bool) -> None:
    program = cli.repo.path / "gemini"
    program.write_text("#!/bin/sh\ntouch pwned\n")
    program.chmod(0o755)
    if named:
        cli.repo.git("config", "agent.gemini.binary", str(program))
    path = os.pathsep.join([str(cli.repo.path), "/usr/bin", "/bin"])
    done = cli.run("start", "-e", "gemini", "x", PATH=path)
    assert (done.status, done.lines[0]) == (
        128,
        f"fatal: {program} is inside this repository, whose content must not choose what runs",
    )
    assert not list(cli.repo.path.rglob("pwned"))


def test_a_record_full_of_escapes(cli: Cli) -> None:
    begun = cli.begin("codex", "--", "-c", f"x='{ESCAPES}'")
    worse = begun._replace(branch=f"main{ESCAPES}", session=Session("thread_id", f"x{ESCAPES}"), cwd=f"/{ESCAPES}")
    Index(cli.layout).update(begun.handle, lambda _: worse)
    printed = ""
    for words in (["list"], ["show", begun.handle], ["doctor"], ["list", "--json"], ["show", "--json", begun.handle]):
        done = cli.run(*words)
        printed += done.out + done.err
    done = cli.run("resume", begun.handle, "x")
    assert (done.status, done.lines[0]) == (128, f"fatal: 'x{SHOWN}' is not a session id of codex")
    assert printed.count(SHOWN) >= 5
    assert not set("\x1b\x07\u009b\u202e") & set(printed + done.err)


def test_an_attempt_full_of_escapes(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "out"
    said = {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": ESCAPES}}
    begun = {"type": "thread.started", "thread_id": "01a21f23-5ab8-7ef1-9437-807dbdda8fbf"}
    failed = {"type": "turn.failed", "error": {"message": f"no{ESCAPES}"}}
    path.write_text("".join(json.dumps(event) + "\n" for event in (begun, said, failed)))
    done = cli.run("start", "-e", "codex", "--json", f"do{ESCAPES}", FAKE_OUT=str(path), FAKE_EXIT="1")
    printed = done.out + done.err + cli.ok("show").out + cli.ok("show", "--json").out
    assert not set("\x1b\x07\u009b\u202e") & set(printed)
    assert (done.status, done.json["finalMessage"], done.json["engineError"]) == (1, ESCAPES, f"no{ESCAPES}")


def test_a_run_that_only_a_note_knows(cli: Cli, tmp_path: Path) -> None:
    """Case B05: a clone has no notes until they are fetched; then the run is named, and not picked up."""
    cli.repo.switch_new("feature")
    cli.repo.commit("c3", h="h\n")
    begun = cli.begin()
    clone = Cli(cli.repo.clone(tmp_path / "clone"), cli.home)
    done = clone.run("resume", "x")
    fetch = "git agent fetch origin"
    assert (done.status, done.lines[:2]) == (
        128,
        [
            "fatal: no run found for branch 'feature'",
            f"hint: this clone has no refs/notes/agent, where others note their runs; fetch it with: {fetch}",
        ],
    )
    clone.ok(*fetch.split()[2:])
    done = clone.run("resume", "x")
    said = f"fatal: run {begun.handle} is known only from its note: codex ran it on host '{begun.host}'"
    assert (done.status, done.lines[0]) == (128, said)
    assert len(cli.calls()) == 1
    hostile = clone.repo.git("notes", "--ref=agent", "show", "HEAD").replace(f'"{begun.host}"', json.dumps(ESCAPES))
    clone.repo.git("notes", "--ref=agent", "add", "-f", "-F", "-", "HEAD", stdin=hostile)
    done = clone.run("resume", "x")
    assert (done.status, done.lines[0]) == (128, said.replace(f"'{begun.host}'", f"'{SHOWN}'"))


def test_secrets_do_not_leave_in_notes(cli: Cli) -> None:
    secret = "sk-" + "a1" * 20
    begun = cli.begin("codex", "--", "-c", f"api_key={secret}", "--model", "m")
    assert secret in begun.launch_args[1]
    note = cli.repo.git("notes", "--ref=agent", "show", "HEAD")
    assert secret not in note
    assert "--model" in note
    assert "begin" not in note.replace(begun.run_id, "")


def test_what_is_kept_is_for_the_person_alone(cli: Cli) -> None:
    cli.begin()
    modes = {path: path.stat().st_mode & 0o777 for path in Path(cli.layout.root).rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if not path.is_dir()} == {0o600}
