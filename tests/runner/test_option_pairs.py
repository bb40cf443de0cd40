"""Every two options of `start` and of `resume`: refused together just where the reference says so. faults F11"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import NoReturn

import click
import pytest

from git_agent_runner import context
from git_agent_runner.adopt import found
from git_agent_runner.cli import git_agent
from git_agent_runner.commands import start
from git_agent_runner.core.errors import UserError
from git_agent_runner.unattended import resume_all
from support import docs
from support.cli import Cli, ask

VALUES = {
    "--timeout": "5",
    "--jobs": "2",
    "--cwd": ".",
    "--branches-from": "names",
    "--fallback": "fresh",
    "--mode": "read",
}
TEXTS = {"-m", "--prompt-file", "--message-file"}
ROWS = docs.rows(docs.section((docs.ROOT / "docs/reference.md").read_text(), "Commands"))


def options(name: str) -> dict[str, click.Option]:
    """By the first spelling."""
    command = git_agent.get_command(click.Context(git_agent), name)
    assert command
    return {option.opts[0]: option for option in command.params if isinstance(option, click.Option)}


def said(name: str) -> set[frozenset[str]]:
    """What the table of options says: `not with …`, `not both`, `with … only`, and of `--all` `with it only …`."""
    found = set()
    for row in (row for row in ROWS if len(row) == 4 and row[1 if name == "start" else 2] == "yes"):
        own, meaning = first(name, row[0]), row[3]
        if only := re.search(r"; with it only (.*)", meaning):
            others = set(options(name)) - first(name, only[1])
        elif "; not both" in meaning:
            others = own
        elif clause := re.search(r"; not with ([^;]*)|; with (\S+) only", meaning):
            others = first(name, clause[1] or clause[2])
        else:
            continue
        found |= {frozenset((one, other)) for one in own for other in others if one != other}
    return found


def first(name: str, text: str) -> set[str]:
    """The options of the command that the text names, each by its first spelling."""
    words = {word.split()[0] for word in docs.inline_code(text)}
    return {opt for opt, known in options(name).items() if words & set(known.opts)}


def stop(*_: object, **__: object) -> NoReturn:
    raise UserError("no further", code="stopped")


def refused(name: str, capfd: pytest.CaptureFixture[str]) -> Iterator[frozenset[str]]:
    given = {
        word: word if option.is_flag else f"{option.opts[-1]}={VALUES.get(word, 'x')}"
        for word, option in options(name).items()
    }
    for one, other in combinations(given, 2):
        message = [] if {one, other} & TEXTS else ["a message"]
        capfd.readouterr()
        status = ask(name, given[one], given[other], *message)
        told = capfd.readouterr().err
        if status == 129 and ("cannot be used together" in told or "two messages" in told):
            yield frozenset((one, other))


@pytest.mark.parametrize("name", ["start", "resume"])
def test_the_reference_says_which_options_exclude_each_other(
    here: Cli, name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (here.repo.path / "names").write_text("main\n")
    (here.repo.path / "x").write_text("a message\n")
    loaded = context.load()
    monkeypatch.setattr(context, "load", lambda **_: loaded)
    for module, function in (
        (start, "choose_engine"),
        (start, "newest_with_session"),
        (found, "find"),
        (resume_all, "resume_all"),
    ):
        monkeypatch.setattr(module, function, stop)
    assert set(refused(name, capfd)) == said(name)
