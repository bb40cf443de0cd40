"""README and docs say what the program takes: every command, option, setting and link in them exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from git_agent_runner import cli
from git_agent_runner.cli import COMMANDS, git_agent
from git_agent_runner.core import errors
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Settings
from git_agent_runner.engines import MODULES
from git_agent_runner.engines import load as load_engine
from git_agent_runner.engines.refuse import check_version
from git_agent_runner.engines.spec import Version
from git_agent_runner.git.settings import load
from support import docs
from support.gitrepo import GitRepo

README = (docs.ROOT / "README.md").read_text()
REFERENCE = (docs.ROOT / "docs/reference.md").read_text()
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def command(word: str) -> click.Command:
    found = git_agent.get_command(click.Context(git_agent), word)
    assert found, f"no command '{word}'"
    return found


def options(word: str) -> set[str]:
    """Every spelling of the command's own options, or of all commands of the group."""
    found = command(word)
    every = found.commands.values() if isinstance(found, click.Group) else [found]
    return {name for one in every for param in one.params if isinstance(param, click.Option) for name in param.opts}


def typed(page: Path) -> list[list[str]]:
    """The words after `git agent` of every such command in the page's code blocks, fenced or indented, and CI jobs."""
    text = page.read_text()
    shown = [step.command for step in docs.session(text)]
    scripts = [line for body in docs.blocks(text, "sh") for line in body.splitlines()]
    indented = [line for line in text.splitlines() if line.startswith("    git")]
    jobs = [found for body in docs.blocks(text, "yaml") for found in re.findall("git agent .*", body)]
    return [found for line in (*shown, *scripts, *indented, *jobs) for found in agent_words(line)]


def agent_words(line: str) -> list[list[str]]:
    """A shell line may hold several commands, with variables before them and comments behind."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("();<>|&"):
            commands.append([])
        elif commands[-1] or not re.match(r"\w+=", word):
            commands[-1].append(word)
    return [words[2:] for words in commands if words[:2] == ["git", "agent"]]


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_command_line_in_a_code_block_parses(page: Path) -> None:
    # With the program's own context: a command keeps the help option that it was asked for first.
    parent = click.Context(git_agent, help_option_names=git_agent.context_settings["help_option_names"])
    for words in typed(page):
        if words[0] not in ("-h", "help"):
            assert command(words[0]).make_context(words[0], words[1:], parent=parent).params is not None


def test_the_readme_shows_the_main_commands() -> None:
    """A check of nothing would pass, too."""
    assert {words[0] for words in typed(docs.ROOT / "README.md")} >= {"start", "resume", "status"}


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_command_named_in_the_text_exists_with_its_options(page: Path) -> None:
    for code in docs.inline_code(page.read_text()):
        found = re.fullmatch(r"git[ -]agent ([a-z]+)\b(.*)", code)
        if found is None or found[1] == "help":
            continue
        own = re.split(r"(?<=[\s\[])--(?=\s|$)", found[2])[0]
        assert set(OPTION.findall(own)) <= options(found[1]) | {"-h", "--help"}, code


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_path_named_in_the_text_exists(page: Path) -> None:
    """Paths from the root of the tree: `tests/runner/test_git.py`, `.ci/run`."""
    for code in docs.inline_code(page.read_text()):
        if re.fullmatch(r"(runner|extractors|hooks|fixtures|tests|docs|benchmarks|\.ci)/[\w./-]+", code):
            assert (docs.ROOT / code).exists(), code


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for link in docs.links(page.read_text()):
        if "://" not in link and not link.startswith("#"):
            assert (page.parent / link.partition("#")[0]).exists(), link


@pytest.mark.parametrize("page", docs.PAGES, ids=docs.name)
def test_every_make_target_exists(page: Path) -> None:
    text = page.read_text()
    code = "\n".join([*docs.blocks(text, "sh"), *docs.inline_code(text)])
    (targets,) = re.findall(r"^\.PHONY: (.*)$", (docs.ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"^make (?:\w+=\S+ )?([a-z-]+)", code, re.MULTILINE)) <= set(targets.split())


def test_the_gate_runs_the_readmes_test_command() -> None:
    (developing,) = docs.blocks(docs.section(README, "Developing"), "sh")
    tests = [line.partition("#")[0].strip() for line in developing.splitlines() if "tests" in line]
    assert tests
    assert set(tests) <= set((docs.ROOT / ".ci/run").read_text().splitlines())


def test_the_reference_lists_the_commands() -> None:
    cells = docs.rows(docs.section(REFERENCE, "Commands"))
    named = [found[1] for row in cells if (found := re.match(r"`git agent ([a-z]+)", row[0]))]
    assert named == list(COMMANDS)


@pytest.mark.parametrize("word", [word for word in COMMANDS if word not in ("start", "resume")])
def test_the_reference_lists_a_commands_options(word: str) -> None:
    cells = docs.rows(docs.section(REFERENCE, "Commands"))
    (text,) = (row[1] for row in cells if re.match(rf"`git agent {word}\b", row[0]))
    named = {option for code in docs.inline_code(text) for option in OPTION.findall(code)}
    assert named == options(word)


@pytest.mark.parametrize("word", ["start", "resume"])
def test_the_reference_lists_the_options_of(word: str) -> None:
    cells = [row for row in docs.rows(docs.section(REFERENCE, "Commands")) if len(row) == 4]
    column = {"start": 1, "resume": 2}[word]
    named = {option for row in cells if row[column] == "yes" for option in OPTION.findall(row[0])}
    assert named == options(word)


def test_the_reference_lists_every_setting(repo: GitRepo) -> None:
    """Each row of the table, put into git's configuration, changes one setting, and no setting is left over."""
    defaults = Settings()
    changed = []
    for key, example, _ in docs.rows(docs.section(REFERENCE, "Configuration")):
        name = key.strip("`").replace("<engine>", "claude")
        repo.git("config", name, example.strip("`"))
        settings, _ = load(repo.facts(), {"HOME": "/home/ann"})
        repo.git("config", "--unset", name)
        changed += [field for field, old, new in zip(Settings._fields, defaults, settings, strict=True) if old != new]
    assert sorted(changed) == sorted([*Settings._fields, "modes"])  # of all engines, and of one


def engine_rows() -> list[tuple[str, Version]]:
    """(engine, the first version that can resume by id) of the README's table."""
    cells = docs.rows(docs.section(README, "Engines"))
    return [(re.sub(r"\[(\w+)\].*", r"\1", row[0]), tuple(map(int, row[1].split(".")))) for row in cells]


def test_the_readme_lists_every_engine() -> None:
    assert [name for name, _ in engine_rows()] == list(MODULES)


@pytest.mark.parametrize(("name", "first"), engine_rows())
def test_the_readme_names_the_first_version_that_resumes(name: str, first: Version) -> None:
    check_version(load_engine(name), first)
    with pytest.raises(UserError):
        check_version(load_engine(name), before(first))


def before(version: Version) -> Version:
    """A version just below: 1.0 comes after 0.999."""
    *head, last = version
    return (*head, last - 1) if last else (*before(tuple(head)), 999)


def test_the_reference_names_the_exit_statuses() -> None:
    cells = docs.rows(docs.section(REFERENCE, "Exit status"))
    named = {int(number) for row in cells for number in re.findall(r"\d+", row[0])}
    ours = {errors.FATAL, errors.USAGE, errors.INTERRUPTED, errors.BUG, cli.BROKEN_PIPE}
    assert named == ours | {1, 143}
