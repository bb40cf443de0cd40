"""The man page, which is what `git agent --help` shows, names every option and setting, and no other."""

from __future__ import annotations

import re

import click
import pytest

from git_agent_runner.cli import COMMANDS, git_agent
from git_agent_runner.core.model import Settings
from support import docs

PAGE = docs.ROOT / "docs/git-agent.1"
TEXT = PAGE.read_text().replace("\\-", "-")
OPTION = re.compile(r"(?:\\fB|\[)(-{1,2}[a-z][a-z-]*)(?=\\fR|\])")


def section(name: str) -> str:
    found = re.search(rf"^\.SS git agent {name}\b.*?(?=^\.S[SH])", TEXT, re.DOTALL | re.MULTILINE)
    assert found, f"no section for {name}"
    return found[0]


def options(name: str) -> set[str]:
    """Those of the command, or of all commands of the group."""
    found = git_agent.get_command(click.Context(git_agent), name)
    assert found
    every = found.commands.values() if isinstance(found, click.Group) else [found]
    params = [param for command in every for param in command.params]
    return {spelling for param in params if isinstance(param, click.Option) for spelling in param.opts}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_options(name: str) -> None:
    assert set(OPTION.findall(section(name))) == options(name)


def test_settings() -> None:
    """Git does not care about the case of their names."""
    named = {key.replace(".", "").lower() for key in re.findall(r"^\\fBagent\.([A-Za-z.]+)\\fR$", TEXT, re.MULTILINE)}
    of_engines = set(re.findall(r"^\\fBagent\.\\fIENGINE\\fB\.([A-Za-z]+)\\fR$", TEXT, re.MULTILINE))
    known = {name.replace("_", "") for name in Settings._fields} - {"binaries", "args", "handovertokens", "modes"} | {
        "mode"
    }
    assert (named, of_engines) == (known, {"binary", "args", "handoverTokens", "mode"})


def test_roff() -> None:
    """No formatter is asked: a machine may have none. What could go wrong is in a few rules of man(7)."""
    lines = PAGE.read_text().splitlines()
    macros = [line.split()[0] for line in lines if line.startswith(".")]
    assert macros[0] == ".TH"
    assert set(macros) == {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"}
    assert [macro for macro in macros if macro in (".nf", ".fi")] == [".nf", ".fi"] * macros.count(".nf")
    for number, line in enumerate(lines, 1):
        fonts = re.findall(r"\\f(.)", line)
        assert fonts[-1:] in ([], ["R"]), f"line {number} ends in another font: {line}"
        assert not line.startswith("'"), f"line {number} would be taken for a request: {line}"
        assert set(re.findall(r"\\(.)", line)) <= {"f", "-"}, f"line {number} has an unknown escape: {line}"
