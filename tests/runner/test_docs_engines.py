"""The pages about engines say what the code does, and every pitfall is answered by a test or a sentence."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from git_agent_fixtures.engines import NEWEST, OLDER, PINS
from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.spec import Engine, Launch

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "engines.md"
PAGES = {file.stem: file for file in (ROOT / "docs" / "engines").glob("*.md")}
UUID = "0199c9a8-0000-7000-8000-00000000beef"
IDS = {"opencode": "ses_0123456789ABCDEFGHIJabcdef", "iflow": f"session-{UUID}"}
VERSIONS = {pin.engine: tuple(map(int, pin.version.split("."))) for pin in NEWEST} | {"iflow": (0, 5, 19)}

every_engine = pytest.mark.parametrize("name", MODULES)


def rows(file: Path, *heads: str) -> dict[str, list[str]]:
    """The rows of the table with these column heads, by their first cell."""
    lines = file.read_text().split(f"| {' | '.join(heads)} |")[1].split("\n")[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[: lines.index("")]]
    return {first.strip(): rest for first, *rest in cells}


def command(engine: Engine, *, resume: bool, terminal: bool) -> str:
    """The command line that the engine's compiler writes, with the names that the page uses."""
    launch = Launch(
        binary=engine.binary,
        version=VERSIONS[engine.name],
        args=() if terminal and engine.name == "opencode" else ("--flags",),
        message="MESSAGE",
        session=IDS.get(engine.name, UUID),
        cwd="DIR",
        interactive=terminal,
    )
    start = launch if engine.mint(launch.version) else launch._replace(session=None)
    argv = engine.resume(launch).argv if resume else engine.start(start).argv
    return f"`{shlex.join(argv).replace('--flags', '[flags]').replace(IDS.get(engine.name, UUID), 'ID')}`"


@every_engine
def test_command_lines_are_those_that_are_run(name: str) -> None:
    engine = load(name)
    start, resume = rows(PAGE, "engine", "start", "resume")[name]
    assert (start, resume) == tuple(command(engine, resume=again, terminal=False) for again in (False, True))
    start, resume, tried = rows(PAGE, "engine", "start", "resume", "tried")[name]
    assert (start, resume) == tuple(command(engine, resume=again, terminal=True) for again in (False, True))
    assert tried == engine.interactive


@every_engine
def test_session_facts_are_those_that_are_used(name: str) -> None:
    heads = ("engine", "field of the id", "who makes it up", "where sessions are kept", "can be resumed from")
    engine, version = load(name), VERSIONS[name]
    field, maker, _, place = rows(PAGE, *heads)[name]
    assert field == f"`{engine.field}`"
    assert maker == ("git-agent" if engine.mint(version) else name)
    assert place == ("anywhere" if engine.elsewhere(version, False) else "its own directory")


def test_versions_are_those_that_are_run() -> None:
    told = rows(PAGE, "engine", "newest", "older")
    assert told == {
        pin.engine: [pin.version, old.version] for pin in NEWEST for old in OLDER if pin.engine == old.engine
    }
    matrix = PAGE.with_name("system-matrix.md").read_text()
    assert [str(pin) for pin in PINS if pin.version not in matrix] == []


def pitfalls(*engines: str) -> dict[int, list[str]]:
    """number -> what the pages say of how it is met."""
    met: dict[int, list[str]] = {}
    for engine in engines:
        for numbers, (_, how) in rows(PAGES[engine], "#", "pitfall", "how git-agent meets it").items():
            for number in numbers.split(","):
                met.setdefault(int(number), []).append(how)
    return met


def test_every_pitfall_is_answered() -> None:
    assert set(pitfalls("claude", "codex")) == set(range(1, 31))
    others = pitfalls("gemini", "opencode", "qwen", "copilot")
    assert set(others) == set(range(1, 26))
    for answers in (*pitfalls("claude", "codex").values(), *others.values()):
        assert all(re.search(r"`test_\w+…?`", how) or len(how.split()) > 1 for how in answers)


def test_tests_that_the_pages_name_exist() -> None:
    written = [file.read_text() for file in (ROOT / "tests").rglob("test_*.py")]
    known = {name for text in written for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
    named = {name for file in (PAGE, *PAGES.values()) for name in re.findall(r"`(test_\w+…?)`", file.read_text())}
    assert len(named) > 30
    lost = [name for name in named if not any(_is(name, test) for test in known)]
    assert lost == []


def _is(name: str, test: str) -> bool:
    return test.startswith(name[:-1]) if name.endswith("…") else test == name
