"""docs/json.md names every key that is printed and every code that is raised, and no other."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest

import git_agent_fixtures
import git_agent_hooks.main
import git_agent_runner.cli
from git_agent_extractors.model import Status
from git_agent_runner.policies import taken
from git_agent_runner.store import attempts
from support import docs
from support.cli import Cli

PAGE = (docs.ROOT / "docs/json.md").read_text()
# What these hold are names of the engine's, not of ours.
OPEN = {"usage", "events", "unknownEvents", "env"}


def documented(heading: str) -> set[str]:
    return {row[0].strip("`") for row in docs.rows(docs.section(PAGE, heading))}


def printed(value: Any, prefix: str = "") -> set[str]:
    """The keys of an object and of those within it, as `runs.handle`."""
    if isinstance(value, list):
        return {key for item in value for key in printed(item, prefix)}
    if not isinstance(value, dict) or prefix.rstrip(".") in OPEN:
        return set()
    return {key for name, item in value.items() for key in ({prefix + name} | printed(item, f"{prefix}{name}."))}


@pytest.mark.parametrize("words", [["start", "-e", "codex", "--json", "x"], ["resume", "--json", "x"]])
def test_start_and_resume(cli: Cli, words: list[str]) -> None:
    if words[0] == "resume":
        cli.begin()
    made = cli.ok(*words, cwd=None, FAKE_CMD="git switch -q -c made").json
    assert printed(made) | printed(refused(cli)) == documented("start and resume")


def refused(cli: Cli) -> Any:
    """The object of an attempt whose engine did not let its agent use a tool."""
    session = "8fe03d74-77e1-4cea-9127-7d706ad98311"
    denied = [{"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "make"}}]
    result = {"type": "result", "subtype": "success", "is_error": False, "session_id": session, "result": "done"}
    out = cli.home / "refused"
    out.write_text(json.dumps({**result, "permission_denials": denied}) + "\n")
    return cli.ok("start", "-e", "claude", "--json", "x", FAKE_OUT=str(out), FAKE_ID=session).json


@pytest.mark.parametrize("engine", ["codex", "opencode"])
def test_dry_run(cli: Cli, engine: str) -> None:
    cli.begin(engine)
    assert printed(cli.ok("resume", "-n", "--json", "x").json) == documented("resume --dry-run")


def test_uninstall(cli: Cli) -> None:
    cli.begin()
    assert printed(cli.ok("uninstall", "-n", "--json").json) == documented("uninstall")


def test_terminal(cli: Cli, tmp_path: Path) -> None:
    cli.begin()
    tmux = tmp_path / "tmux"
    tmux.write_text("#!/bin/sh\n")
    tmux.chmod(0o755)
    found = cli.ok("resume", "--terminal", "--json", PATH=f"{tmp_path}:{cli.environ()['PATH']}", TMUX="x").json
    assert printed(found) == documented("resume --dry-run") | documented("resume --terminal")


@pytest.mark.parametrize("command", ["status", "show"])
def test_status_and_show(cli: Cli, command: str) -> None:
    begun = cli.begin(FAKE_ID="none")
    taken.write(cli.layout, begun.run_id, taken.Kept(1, "on_error", 1, "no session", "escalated"))
    assert printed(cli.ok(command, "--json").json) == documented("status and show")


def test_list(cli: Cli) -> None:
    cli.begin()
    assert printed(cli.ok("list", "--json").json) == documented("list")


def test_review(cli: Cli) -> None:
    (cli.repo.path / "f").write_text("x\n")
    cli.repo.git("add", "f")
    finding = {"file": "f", "line": 1, "severity": "low", "text": "x"}
    said = json.dumps({"verdict": "pass", "summary": "", "findings": [finding]})
    good = cli.ok("review", "-e", "codex", "--json", FAKE_SAY=said)
    bad = cli.run("review", "-e", "iflow", "--json", "--on-error", "fail")
    assert printed(good.json) | printed(bad.json) == documented("review")


def test_adopt(cli: Cli) -> None:
    begun = cli.begin()
    shutil.rmtree(cli.layout.root)
    assert printed(cli.ok("adopt", begun.handle, "--json").json) == documented("adopt")


@pytest.mark.parametrize("word", ["push", "fetch", "status"])
def test_notes(cli: Cli, word: str) -> None:
    cli.repo.git("remote", "add", "origin", ".")
    done = cli.ok("notes", word, "--json")
    assert printed(done.json) == documented("notes status" if word == "status" else "notes push and fetch")


def test_prune(cli: Cli) -> None:
    begun = cli.begin()
    other = cli.begin("claude")
    attempts.save(cli.layout, cli.attempt(handle=other.handle)._replace(ended_at=None, status=None, pid=None))
    done = cli.run("prune", begun.handle, other.handle, "--json")
    assert (done.status, printed(done.json)) == (1, documented("prune"))


def test_engines(cli: Cli) -> None:
    found = cli.ok("engines", "--json").json
    assert printed(found) == documented("engines")
    assert [row["resume"] for row in found["engines"]] == ["yes"] * 7


def test_engines_test(cli: Cli) -> None:
    cli.repo.git("config", "agent.codex.binary", "/nowhere/codex")
    done = cli.run("engines", "test", "codex", "--json")
    assert (done.status, printed(done.json)) == (1, documented("engines test"))


def test_resume_all(cli: Cli) -> None:
    old = cli.begin("claude", FAKE_CMD="kill -9 $PPID")
    cli.begin(FAKE_CMD="kill -9 $PPID")
    found = cli.ok("resume", "--all", "--json")
    assert [one["handle"] for one in found.json["skipped"]] == [old.handle]
    assert printed(found.json) == documented("resume --all")


def test_start_on_branches(cli: Cli) -> None:
    cli.repo.git("branch", "one")
    cli.repo.git("branch", "two")
    cli.ok("start", "-e", "codex", "--branch", "two", "x")
    cli.repo.git("config", "extensions.worktreeConfig", "true")
    tree = str(cli.repo.path.parent / "repo.worktrees/two")
    cli.repo.git("-C", tree, "config", "--worktree", "agent.codex.binary", "/nowhere/codex")
    found = cli.run("start", "-e", "codex", "--branch", "one", "--branch", "two", "--json", "x")
    assert [one["branch"] for one in found.json["failed"]] == ["two"]
    assert printed(found.json) == documented("start --branch")


def test_watch(cli: Cli) -> None:
    cli.begin(FAKE_CMD="kill -9 $PPID")
    cli.repo.git("config", "agent.onDead", "done")
    assert printed(cli.ok("watch", "--json").json) == documented("watch")


def test_doctor(cli: Cli) -> None:
    cli.repo.git("config", "branch.main.agentHandle", "7f3a9c21")
    done = cli.run("doctor", "--json")
    assert (done.status, printed(done.json)) == (1, documented("doctor"))


def test_extract(cli: Cli, tmp_path: Path) -> None:
    """One object for each file, in order; one that is not there has an error instead."""
    cli.begin()
    kept = str(Path(cli.layout.attempt(cli.record().run_id, 1), "stdout"))
    done = cli.run("extract", "codex", kept, str(tmp_path / "gone"), "-", "--json", stdin=Path(kept).read_bytes())
    first, gone, last = map(json.loads, done.out.splitlines())
    assert (done.status, printed(first), printed(last)) == (128, documented("extract"), documented("extract"))
    assert {**last, "file": kept} == first
    assert (gone["file"], gone["error"]["code"]) == (str(tmp_path / "gone"), "unreadable")


def test_error(cli: Cli) -> None:
    assert printed(cli.run("status", "--json").json) == documented("error")


def test_every_status() -> None:
    assert documented("Status") == set(get_args(Status))


def test_every_code() -> None:
    mains = (git_agent_runner.cli.__file__, git_agent_hooks.main.__file__, git_agent_fixtures.__file__)
    rooms = [Path(file).parent for file in mains]
    sources = "".join(path.read_text() for room in rooms for path in room.rglob("*.py"))
    assert documented("Codes") == set(re.findall(r'(?:\bcode(?:: str)?=|\bcode: str = |"code": )"([a-z_]+)"', sources))


def test_every_code_of_the_doctor() -> None:
    commands = Path(git_agent_runner.__file__).parent / "commands"
    source = "".join(path.read_text() for path in commands.glob("doctor*.py"))
    (row,) = [row for row in docs.rows(docs.section(PAGE, "doctor")) if row[0] == "`problems.code`"]
    assert set(re.findall("`([a-z_]+)`", row[1])) == set(re.findall(r'Finding\(\s*"([a-z_]+)"', source))
