"""The man page, which is what `git agent --help` shows, names every option and setting, and no other."""

from __future__ import annotations

import re
import subprocess

import click
import pytest

from git_agent_runner.cli import COMMANDS, git_agent
from git_agent_runner.model import Settings
from support import docs

PAGE = docs.ROOT / "docs/git-agent.1"
TEXT = PAGE.read_text().replace("\\-", "-")
OPTION = re.compile(r"(?:\\fB|\[)(-{1,2}[a-z][a-z-]*)(?=\\fR|\])")


def section(name: str) -> str:
    found = re.search(rf"^\.SS git agent {name}\b.*?(?=^\.S[SH])", TEXT, re.DOTALL | re.MULTILINE)
    assert found, f"no section for {name}"
    return found[0]


def options(name: str) -> set[str]:
    command = git_agent.get_command(click.Context(git_agent), name)
    assert command
    return {spelling for param in command.params if isinstance(param, click.Option) for spelling in param.opts}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_options(name: str) -> None:
    assert set(OPTION.findall(section(name))) == options(name)


def test_settings() -> None:
    """Git does not care about the case of their names."""
    named = {key.lower() for key in re.findall(r"^\\fBagent\.([A-Za-z]+)\\fR$", TEXT, re.MULTILINE)}
    of_engines = set(re.findall(r"^\\fBagent\.\\fIENGINE\\fB\.([a-z]+)\\fR$", TEXT, re.MULTILINE))
    known = {name.replace("_", "") for name in Settings._fields} - {"binaries", "args"}
    assert (named, of_engines) == (known, {"binary", "args"})


def test_a_formatter_takes_it() -> None:
    man = subprocess.run(("man", "--warnings", "-l", str(PAGE)), capture_output=True, text=True, check=False)
    assert (man.returncode, man.stderr) == (0, "")
    assert "git agent resume [HANDLE] [MESSAGE | -]" in man.stdout
