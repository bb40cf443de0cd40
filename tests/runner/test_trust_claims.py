"""What the pages promise of trust and privacy, sentence by sentence: docs/trust.md names the attack and its test."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from git_agent_runner.engines import load
from git_agent_runner.engines.arguments import parse, widening
from support import docs
from support.cli import Cli
from support.engines.stand_in import IDS
from support.gitrepo import make

SECURITY = (docs.ROOT / "docs/security.md").read_text()
RECOVERY = (docs.ROOT / "docs/recovery.md").read_text()
TABLE = docs.rows((docs.ROOT / "docs/trust.md").read_text())
SECRET = "swordfish-7f3a"

# In a process of its own: an audit hook stays for ever.
OFFLINE = """
import sys
from git_agent_runner import cli
seen = []
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "urllib.Request"):
        seen.append((event, str(args)))
sys.addaudithook(hook)
for words in (["list"], ["start", "-e", "codex", "x"], ["resume", "y"], ["status"], ["show"], ["log", "--no-pager"],
              ["doctor", "--repair"], ["engines"], ["init"], ["hooks", "install"], ["prune", "--merged", "-n"],
              ["resume", "--all", "-n"], ["watch", "--once"], ["uninstall"]):
    assert cli.main(words) in (0, 1, 128), words
    assert not seen, (words, seen)
"""


def sentences(text: str) -> list[str]:
    """Those of a list, links and line breaks taken out."""
    items = re.findall(r"^- (.*?)(?=^- |^$|\Z)", text, re.MULTILINE | re.DOTALL)
    plain = [re.sub(r"\s+", " ", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", item)).strip() for item in items]
    return [part.strip(" ()") for item in plain for part in re.split(r"(?<=[.)]) (?=[A-Z(])", item)]


def promised() -> list[str]:
    return sentences(docs.section(SECURITY, "Trust and privacy")) + sentences(docs.section(RECOVERY, "Adopt"))


def test_every_sentence_has_a_row_and_every_row_a_sentence() -> None:
    begins = [row[0] for row in TABLE]
    assert all(len(begin) >= 12 for begin in begins)
    assert [text for text in promised() if not any(text.startswith(begin) for begin in begins)] == []
    assert [begin for begin in begins if not any(text.startswith(begin) for text in promised())] == []


def test_every_row_names_a_test_that_exists() -> None:
    for begin, _, tests in TABLE:
        for named in tests.split(", "):
            file, _, function = named.strip("`").partition("::")
            assert f"def {function}(" in (docs.ROOT / file).read_text(), (begin, named)


def test_files_are_the_persons_alone_whatever_the_umask(cli: Cli) -> None:
    old = os.umask(0)
    try:
        cli.begin("codex", FAKE_CMD="umask 0")
        cli.ok("resume", "x")
    finally:
        os.umask(old)
    for path in Path(cli.layout.root).rglob("*"):
        if not path.is_symlink():
            assert path.stat().st_mode & 0o077 == 0, path


def test_no_connection_is_opened(cli: Cli) -> None:
    words = (sys.executable, "-P", "-c", OFFLINE)
    done = subprocess.run(words, cwd=cli.repo.path, env=cli.environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_plain_push_carries_nothing_of_ours(cli: Cli, tmp_path: Path) -> None:
    """With hooks installed, and a commit made by the agent itself."""
    bare = make(tmp_path / "bare", "--bare")
    cli.repo.git("remote", "add", "origin", str(bare.path))
    cli.ok("hooks", "install")
    begun = cli.begin("codex", FAKE_CMD="git commit -q --allow-empty -m agents")
    cli.repo.git("push", "-q", "origin", "main")
    cli.repo.git("push", "-q", "--all", "origin")
    refs = bare.git("for-each-ref", "--format=%(refname)")
    assert refs == "refs/heads/main"
    assert begun.handle not in bare.git("log", "--format=%B%an%ae%cn%ce", "main")


@pytest.mark.parametrize("engine", sorted(IDS))
def test_a_note_holds_no_prompt_answer_or_environment(cli: Cli, engine: str) -> None:
    started = cli.run(
        "start",
        "-e",
        engine,
        "--json",
        f"prompt {SECRET}",
        "--",
        "--model",
        "m",
        DB_PASS=SECRET,
        FAKE_CMD=f"echo {SECRET}",
    )
    assert started.json["handle"]
    cli.run("resume", f"more {SECRET}", DB_PASS=SECRET)
    note = cli.repo.git("notes", "--ref=agent", "show", "HEAD")
    assert SECRET not in note
    keys = {"schema", "handle", "runId", "agentName", "session", "branch", "launch", "updatedAt", "host"}
    assert set(json.loads(note.removeprefix("- "))) == keys


@pytest.mark.parametrize("engine", sorted(IDS))
def test_no_permission_is_added(cli: Cli, engine: str) -> None:
    """Whatever starts or resumes: without a flag of the person's the engine is given none that widens or permits."""
    cli.run("start", "-e", engine, "x")
    for words in (["resume", "y"], ["start", "--resume", "z"], ["resume", "--fallback", "fresh", "w"]):
        cli.run(*words)
    options = load(engine).options
    calls = cli.calls()
    assert len(calls) == 4
    for call in calls:
        found = parse(options, tuple(call["argv"]))
        assert [word.name for word in found if word.option and word.option.role == "permission"] == []
        assert widening(options, tuple(call["argv"])) == ()
