"""Real engines for tests: each is installed once, into the user's cache, and every test gets a world of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import NEWEST, PINS, Pin, cache_directory, install
from git_agent_fixtures.server.serving import serving
from system.matrix import Matrix
from system.support import BIN, BRANCH, World, end_all

# Read before any test has a home of its own: the cache is the person's.
CACHE = cache_directory(os.environ)
HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-versions", action="store_true", help="older pinned engine versions too")
    parser.addoption("--matrix", type=Path, metavar="FILE", help="write what passed on which version as Markdown")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--matrix", default=None)
    if file and not hasattr(config, "workerinput"):  # pytest-xdist's workers report to the one that writes
        config.pluginmanager.register(Matrix(file))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.system)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `pin` (or `world`) runs on each engine, unless it names its own pins."""
    named = any("pin" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "pin" in metafunc.fixturenames and not named:
        pins = PINS if metafunc.config.getoption("--all-versions", default=False) else NEWEST
        metafunc.parametrize("pin", pins, ids=str, scope="session")


@pytest.fixture(scope="session")
def binary(pin: Pin) -> Path:
    """The engine's executable; the first to ask installs it, others wait."""
    return install(pin, CACHE)


@pytest.fixture
def world(pin: Pin, binary: Path, tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[World]:
    """A repository on `feature/retry` with one commit, and this engine configured in it."""
    with serving(tmp_path / "requests.jsonl") as server:
        place = home.make(pin, tmp_path / "home", server.url)
        place.env["PATH"] = f"{BIN}:{place.env['PATH']}"
        made = World(pin, place, server, tmp_path / "repo")
        made.repo.mkdir()
        made.git("init", "-q")
        made.commit("begin", readme="scratch\n")
        made.git("switch", "-q", "-c", BRANCH)
        made.git("config", f"agent.{pin.engine}.binary", str(binary))
        record_property("printed", made.run(str(binary), "--version").out.strip())
        try:
            yield made
        finally:
            end_all(place)
