"""Tracked files that bear the names of what the program imports are never run, whatever PYTHONPATH says (faults C2)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import git_agent_runner
from git_agent_runner.process import child
from support.cli import Cli

SCRIPTS = Path(sys.executable).parent
HARM = "import pathlib; pathlib.Path({mark!r}).write_text(__name__); raise SystemExit('pwned')\n"
NAMES = ("click", "json", "__future__", "signal", "git", "importlib.metadata", "runpy", "git_agent_extractors")
PROGRAMS = {
    "git-agent": (str(SCRIPTS / "git-agent"), "list"),
    "pre-commit's hook": (str(SCRIPTS / "git-agent-hook"), "hint"),
    "a child of ours": child.python("git_agent_runner.entry", "list"),
}


@pytest.fixture
def mark(cli: Cli) -> Path:
    """What the tracked files write when they are run; they lie at the top and in a folder."""
    mark = cli.home / "pwned"
    for folder in (cli.repo.path, cli.repo.path / "lib"):
        folder.mkdir(exist_ok=True)
        for name in NAMES:
            (folder / f"{name.partition('.')[0]}.py").write_text(HARM.format(mark=str(mark)))
    cli.repo.git("add", ".")
    cli.repo.git("commit", "-qm", "modules")
    return mark


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("path", [":/nowhere", "{top}/lib"], ids=["an empty entry", "a folder of the work tree"])
def test_no_tracked_module_is_imported(cli: Cli, mark: Path, program: tuple[str, ...], path: str) -> None:
    env = {**os.environ, "PYTHONPATH": path.format(top=cli.repo.path)}
    done = subprocess.run(program, cwd=cli.repo.path, env=env, capture_output=True, text=True, check=False)
    assert not mark.exists(), mark.read_text()
    assert done.returncode == 0, done


@pytest.mark.parametrize("entry", ["", ".", "lib", "{top}", "{top}/lib", "{link}", "{top}/lib/..", "{linked}/lib"])
def test_entries_that_are_dropped(cli: Cli, tmp_path: Path, entry: str) -> None:
    """Python has made relative ones absolute by then. A linked work tree holds tracked files, too."""
    top, linked, link = cli.repo.path, tmp_path / "linked", tmp_path / "link"
    cli.repo.git("worktree", "add", "-q", "-b", "other", str(linked))
    link.symlink_to(top)
    named = entry.format(top=top, linked=linked, link=link)
    own, absolute = str(cli.home), os.path.abspath(os.path.join(top, named))
    found = git_agent_runner._searched([own, absolute, "/usr/lib"], f"{own}:{named}", str(top))
    assert found == [own, "/usr/lib"]
    if named != str(linked / "lib"):
        below = git_agent_runner._searched([own, absolute, "/usr/lib"], f"{own}:{absolute}", str(linked))
        assert below == [own, "/usr/lib"]


def test_the_persons_own_folders_are_still_searched(cli: Cli) -> None:
    """Engines come as packages, and PYTHONPATH may say where they lie."""
    lib = cli.home / "lib"
    lib.mkdir()
    (lib / "own.py").write_text("print('found')\n")
    words = (sys.executable, "-P", "-c", "import git_agent_runner, own")
    env = {**os.environ, "PYTHONPATH": f":{lib}"}
    done = subprocess.run(words, cwd=cli.repo.path, env=env, capture_output=True, check=True)
    assert done.stdout == b"found\n"
