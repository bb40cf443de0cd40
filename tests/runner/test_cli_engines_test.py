"""`git agent engines test`: one program asked again, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.spec import within
from support import docs
from support.cli import STAND_INS, Cli, Done, ask

RECORDED = sorted((docs.ROOT / "fixtures/recordings").glob("*/*/help"))
# As a real one answers: `exec resume --help` is recorded as help-exec-resume.
ANSWERS = """#!/bin/sh
[ "$1" != --version ] || exec echo '{version}'
page='{page}'
for word; do [ "$word" = --help ] || page="$page-$word"; done
cat "$page/stderr" >&2 && exec cat "$page/stdout"
"""


def asked(cli: Cli, engine: str, **environ: str) -> Done:
    return cli.run("engines", "test", engine, stdin=None, cwd=None, **environ)


def test_yes(cli: Cli) -> None:
    done = cli.ok("engines", "test", "codex")
    assert done.out.splitlines() == [
        "engine    codex",
        f"program   {STAND_INS}/codex",
        "version   0.171.0",
        "resume    yes, by id",
    ]
    assert done.err == ""


@pytest.mark.parametrize("page", RECORDED, ids=lambda page: f"{page.parts[-3]} {page.parts[-2]}")
def test_real_help_agrees_with_what_is_known_of_the_version(here: Cli, page: Path) -> None:
    """No version that can resume is refused for its help."""
    engine, version = load(page.parts[-3]), page.parts[-2]
    program = here.home / "program"
    line = {"codex": f"codex-cli {version}", "claude": f"{version} (Claude Code)"}.get(engine.name, version)
    program.write_text(ANSWERS.format(version=line, page=page))
    program.chmod(0o755)
    here.repo.git("config", f"agent.{engine.name}.binary", str(program))
    parsed = engine.parse_version(line)
    assert parsed
    bad = any(within(parsed, bad.since, bad.until) for bad in engine.bad)
    assert ask("engines", "test", engine.name) == (1 if bad or parsed < engine.first_resume else 0)


def test_the_answer_is_not_remembered(cli: Cli) -> None:
    """A version manager may put another version behind the same file."""
    cli.begin()
    assert asked(cli, "codex", FAKE_VERSION="0.35.0").out.splitlines()[2] == "version   0.35.0"
    assert asked(cli, "codex").out.splitlines()[2] == "version   0.171.0"


def test_missing(cli: Cli) -> None:
    cli.repo.git("config", "agent.claude.binary", "/nowhere/claude")
    done = asked(cli, "claude")
    assert done.status == 1
    assert done.out.splitlines()[1:] == [
        "program   -",
        "version   -",
        "resume    no: '/nowhere/claude' is not a program that can be run",
    ]
    assert done.lines == [
        f"hint: install it: {load('claude').install}",
        "hint: or set 'git config agent.claude.binary' to its absolute path",
    ]


def test_the_words_of_a_program_that_fails(cli: Cli) -> None:
    path = cli.home / "bro ken"
    path.write_text("#!/bin/sh\nprintf 'node: \\033[1mnot found\\n' >&2\nexit 127\n")
    path.chmod(0o755)
    cli.repo.git("config", "agent.codex.binary", str(path))
    done = asked(cli, "codex")
    assert (done.status, done.out.splitlines()[1]) == (1, f"program   {path}")
    assert done.out.splitlines()[3] == f"resume    no: {path} --version failed with 127"
    assert done.lines[0] == "hint: node: ^[[1mnot found"
    assert done.lines[-1] == f"hint: to see it, or to fix it: cd / && '{path}' --version"


def test_a_program_whose_help_names_no_such_flag(cli: Cli) -> None:
    done = asked(cli, "claude", FAKE_HELP="  --continue  Go on")
    assert (done.status, done.out.splitlines()[3]) == (
        1,
        "resume    no: the help of claude 2.1.332 does not name --resume",
    )
    assert done.lines[-1] == f"hint: to see it, or to fix it: cd / && {STAND_INS}/claude --help"


def test_known_bad(cli: Cli) -> None:
    done = asked(cli, "iflow", FAKE_VERSION="0.5.18")
    assert (done.status, "cannot be trusted to resume" in done.out) == (1, True)


def test_outside_of_a_repository(cli: Cli, tmp_path: Path) -> None:
    assert cli.run("engines", "test", "codex", cwd=tmp_path).status == 0


def test_an_engine_that_nobody_knows(cli: Cli) -> None:
    assert asked(cli, "emacs").lines[0].startswith("fatal: ")


@pytest.mark.parametrize("words", [["test"], ["tset", "codex"], ["test", *MODULES], ["test", "codex", "--check", "x"]])
def test_usage(cli: Cli, words: list[str]) -> None:
    done = cli.run("engines", *words)
    assert (done.status, done.lines[-1]) == (129, "hint: git agent engines test ENGINE")
