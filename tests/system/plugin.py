"""The options of system tests, and the choice of versions; `tests/conftest.py` loads it before any collecting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from git_agent_fixtures.engines import PINS
from system.matrix import Matrix
from system.selection import Slice, of_change, selected, selected_of_long

HERE = Path(__file__).parent
_CHOSEN = pytest.StashKey[Slice | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("system tests")
    group.addoption("--all-versions", action="store_true", help="every test on older engine versions too")
    group.addoption("--slice", metavar="COMMIT", help="draw the tests on older versions as that commit does")
    group.addoption("--matrix", metavar="FOLDER", help="write there what passed on which version as Markdown")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "every_version: runs on every pinned engine version in every run")
    config.addinivalue_line("markers", "long_matrix: of these a part runs, on the newest versions too")
    if hasattr(config, "workerinput"):
        given = config.workerinput["slice"]
        config.stash[_CHOSEN] = given and Slice(*given)
        return
    every = config.getoption("--all-versions")
    config.stash[_CHOSEN] = None if every else of_change(config.rootpath, config.getoption("--slice"))
    if folder := config.getoption("--matrix"):
        config.pluginmanager.register(Matrix(Path(folder, "system-matrix.md")))
        config.pluginmanager.register(Matrix(Path(folder, "fault-matrix.md"), long=True))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers of pytest-xdist must collect the same tests, whatever is committed meanwhile."""
    chosen = node.config.stash[_CHOSEN]
    node.workerinput["slice"] = chosen and tuple(chosen)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What was chosen, where it is seen with -q, too; nothing when no system test ran."""
    reports = (report for kind in terminalreporter.stats.values() for report in kind)
    if any("tests/system/" in getattr(report, "nodeid", "") for report in reports):
        terminalreporter.write_line(f"slice: {config.stash[_CHOSEN] or 'every test on every engine version'}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `pin` (or `world`) runs on each engine version, unless it names its own pins."""
    named = any("pin" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if _is_ours(metafunc.definition) and "pin" in metafunc.fixturenames and not named:
        metafunc.parametrize("pin", PINS, ids=str, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.stash[_CHOSEN]
    for item in filter(_is_ours, items):
        item.add_marker(pytest.mark.system)
    left = [item for item in items if not (chosen is None or _is_selected(item, chosen))]
    kept = [item for item in items if chosen is None or _is_selected(item, chosen)]
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def _is_ours(item: pytest.Item) -> bool:
    return item.path.is_relative_to(HERE)


def _is_selected(item: pytest.Item, chosen: Slice) -> bool:
    case = getattr(item, "callspec", None)  # only parametrized functions have one
    pin = case.params.get("pin") if case and _is_ours(item) else None
    if item.get_closest_marker("long_matrix") is not None:
        return selected_of_long(item.nodeid, chosen)
    every = item.get_closest_marker("every_version") is not None
    return pin is None or selected(item.nodeid, pin, chosen, every=every)
