"""The suite's options and the draw of what one run goes through; `tests/conftest.py` loads it before collecting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from git_agent_fixtures.engines import OLDER, PINS, Pin
from system.matrix import Matrix
from system.selection import Draw, Marks, name, of_change, one_of_each, selected, turns

TESTS = Path(__file__).parents[1]
HERE = TESTS / "system"
# What takes longest begins first, so that no worker is left alone with it at the end.
FIRST = ("system", "hooks")
LONG = 16  # a test that one in more parts of runs is too long to be in all of them
_DRAW = pytest.StashKey[Draw | None]()
# What runs git-agent, or git with our hooks, in processes of their own.
_COMMANDS = {"cli", "here", "pre_commit", "programs", "release_of_now"}
_MARKS = {
    "command": "runs git-agent as a command, with stand-ins for engines",
    "every_engine": "runs on the newest version of every engine in every run",
    "every_version": "the same, and on some of the older versions, which the commit draws",
    "engine_independent": "tests what is the same for every engine: one engine, not two, which the commit draws",
    "long_matrix(parts)": "one in so many of these runs, which the commit draws; they have a table of their own",
    "one_of(group)": "of each file's tests of a group one runs on each engine, which the commit draws",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("git-agent")
    group.addoption("--everything", action="store_true", help="every test, on every pinned engine version")
    group.addoption("--draw", metavar="WORD", help="draw as the commit of that name does, or as any other word")
    group.addoption("--matrix", metavar="FOLDER", help="write there what passed on which version as Markdown")


def pytest_configure(config: pytest.Config) -> None:
    for mark, meaning in _MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    if hasattr(config, "workerinput"):
        given = config.workerinput["draw"]
        config.stash[_DRAW] = given and Draw(*given)
        return
    everything = config.getoption("--everything")
    config.stash[_DRAW] = None if everything else of_change(config.rootpath, config.getoption("--draw"))
    if folder := config.getoption("--matrix"):
        config.pluginmanager.register(Matrix(Path(folder, "system-matrix.md")))
        config.pluginmanager.register(Matrix(Path(folder, "fault-matrix.md"), long=True))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers of pytest-xdist must collect the same tests, whatever is committed meanwhile."""
    draw = node.config.stash[_DRAW]
    node.workerinput["draw"] = draw and tuple(draw)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Which engines ran, and what was drawn, also with -q."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    for line in _engines(reports):
        terminalreporter.write_line(line)
    draw = config.stash[_DRAW]
    if draw is not None:
        terminalreporter.write_line(f"draw: {draw}; the same again: make test DRAW={draw.word or 'WORD'}")


def _engines(reports: Iterable[Any]) -> Iterator[str]:
    """A line for each engine version, as it printed its version, with the number of its tests."""
    called = [dict(report.user_properties) for report in reports if getattr(report, "when", "") == "call"]
    counted = Counter((facts["pin"], facts["printed"]) for facts in called if "pin" in facts)
    for (pin, printed), number in sorted(counted.items()):
        yield f"engine {pin}: {number} tests on the binary that prints '{printed}'"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `pin` (or `world`) runs on each engine version, unless it names its own pins."""
    named = any("pin" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if metafunc.definition.path.is_relative_to(HERE) and "pin" in metafunc.fixturenames and not named:
        metafunc.parametrize("pin", PINS, ids=str, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    draw = config.stash[_DRAW]
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.system)
        elif _COMMANDS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.command)
    chosen = items if draw is None else _chosen(items, draw)
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = sorted(chosen, key=_place)


def _chosen(items: list[pytest.Item], draw: Draw) -> list[pytest.Item]:
    """Of a group one test runs on each engine version that is chosen; of a file of system tests one at least."""
    marks = {item.nodeid: _marks(item) for item in items}
    pins = {item.nodeid: pin for item in items if (pin := _pin(item))}
    begin = turns((test, pin, marks[test]) for test, pin in pins.items())
    picked = {
        test
        for test in marks
        if selected(test, pin := pins.get(test), draw, marks[test], begin.get(name(test, pin, marks[test])))
    }
    groups = {test: f"{group} {pins.get(test)}" for test in picked if (group := marks[test].one_of)}
    picked -= groups.keys() - one_of_each(groups, draw)
    files = {_file(test) for test in picked}
    others = {item.nodeid: _file(item.nodeid) for item in items if _may_stand_for_its_file(item)}
    picked |= one_of_each({test: file for test, file in others.items() if file not in files}, draw)
    return [item for item in items if item.nodeid in picked]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _may_stand_for_its_file(item: pytest.Item) -> bool:
    """A test of an engine, in its newest version, that may take its time in every run."""
    return item.path.is_relative_to(HERE) and _pin(item) not in OLDER and _marks(item).long_matrix <= LONG


def _pin(item: pytest.Item) -> Pin | None:
    case = getattr(item, "callspec", None)  # only parametrized functions have one
    pin = case.params.get("pin") if case and item.path.is_relative_to(HERE) else None
    return pin if isinstance(pin, Pin) else None


def _marks(item: pytest.Item) -> Marks:
    marks = {
        mark.name: mark.args[0] if mark.args else True for mark in item.iter_markers() if mark.name in Marks._fields
    }
    return Marks(**{**marks, "one_of": f"{_file(item.nodeid)} {marks['one_of']}"} if "one_of" in marks else marks)


def _place(item: pytest.Item) -> int:
    room = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    return FIRST.index(room) if room in FIRST else len(FIRST)
