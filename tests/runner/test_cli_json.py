"""docs/json.md names every code that is raised, and no other; outputs that no other test asks for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import git_agent_fixtures
import git_agent_hooks.main
import git_agent_runner.cli
from git_agent_extractors.model import Status
from git_agent_hooks import finding as hooks_finding
from support import docs
from support.cli import Cli

PAGE = (docs.ROOT / "docs/json.md").read_text()


def documented(heading: str) -> set[str]:
    return {row[0].strip("`") for row in docs.rows(docs.section(PAGE, heading))}


def test_review(cli: Cli) -> None:
    (cli.repo.path / "f").write_text("x\n")
    cli.repo.git("add", "f")
    finding = {"file": "f", "line": 1, "severity": "low", "text": "x"}
    said = json.dumps({"verdict": "pass", "summary": "", "findings": [finding]})
    good = cli.ok("review", "-e", "codex", "--json", FAKE_SAY=said)
    bad = cli.run("review", "-e", "iflow", "--json", "--on-error", "fail")
    assert good.json["reviews"][0]["findings"] == [finding]
    assert bad.json["reviews"][0]["error"]["code"] == "no_read_only"


def test_engines(cli: Cli) -> None:
    found = cli.ok("engines", "--json").json
    assert [row["resume"] for row in found["engines"]] == ["yes"] * 7


def test_engines_test(cli: Cli) -> None:
    cli.repo.git("config", "agent.codex.binary", "/nowhere/codex")
    done = cli.run("engines", "test", "codex", "--json")
    assert (done.status, done.json["reason"]["code"]) == (1, "binary_missing")


def test_resume_all(cli: Cli) -> None:
    old = cli.begin("claude", FAKE_CMD="kill -9 $PPID")
    cli.begin(FAKE_CMD="kill -9 $PPID")
    found = cli.ok("resume", "--all", "--json")
    assert [one["handle"] for one in found.json["skipped"]] == [old.handle]


def test_start_on_branches(cli: Cli) -> None:
    cli.repo.git("branch", "one")
    cli.repo.git("branch", "two")
    cli.ok("start", "-e", "codex", "--branch", "two", "x")
    cli.repo.git("config", "extensions.worktreeConfig", "true")
    tree = str(cli.repo.path.parent / "repo.worktrees/two")
    cli.repo.git("-C", tree, "config", "--worktree", "agent.codex.binary", "/nowhere/codex")
    found = cli.run("start", "-e", "codex", "--branch", "one", "--branch", "two", "--json", "x")
    assert [one["branch"] for one in found.json["failed"]] == ["two"]


def test_extract(cli: Cli, tmp_path: Path) -> None:
    """One object for each file, in order; one that is not there has an error instead."""
    cli.begin()
    kept = str(Path(cli.layout.attempt(cli.record().run_id, 1), "stdout"))
    done = cli.run("extract", "codex", kept, str(tmp_path / "gone"), "-", "--json", stdin=Path(kept).read_bytes())
    first, gone, last = map(json.loads, done.out.splitlines())
    assert done.status == 128
    assert {**last, "file": kept} == first
    assert (gone["file"], gone["error"]["code"]) == (str(tmp_path / "gone"), "unreadable")


def test_every_status() -> None:
    assert documented("Status") == set(get_args(Status))


def test_every_code() -> None:
    mains = (git_agent_runner.cli.__file__, git_agent_hooks.main.__file__, git_agent_fixtures.__file__)
    rooms = [Path(file).parent for file in mains]
    sources = "".join(path.read_text() for room in rooms for path in room.rglob("*.py"))
    assert documented("Codes") == set(re.findall(r'(?:\bcode(?:: str)?=|\bcode: str = |"code": )"([a-z_]+)"', sources))


def test_every_code_of_the_doctor() -> None:
    folder = Path(git_agent_runner.__file__).parent / "maintain/doctor"
    files = (*folder.glob("*.py"), Path(hooks_finding.__file__))
    source = "".join(path.read_text() for path in files)
    (row,) = [row for row in docs.rows(docs.section(PAGE, "doctor")) if row[0] == "`problems.code`"]
    assert set(re.findall("`([a-z_]+)`", row[1])) == set(re.findall(r'Finding\(\s*"([a-z_]+)"', source))
