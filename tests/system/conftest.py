"""Real engines for tests: each is installed once, into the user's cache, and every test gets a world of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import Pin, cache_directory, install
from git_agent_fixtures.server.serving import serving
from git_agent_runner.engines.spec import parse_version
from system.support import BIN, World, end_all, prepare

# Read before any test has a home of its own: the cache is the person's.
CACHE = cache_directory(os.environ)


@pytest.fixture(scope="session")
def binary(pin: Pin) -> Path:
    """The engine's executable; the first to ask installs it, others wait."""
    return install(pin, CACHE)


@pytest.fixture
def world(
    pin: Pin,
    binary: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> Iterator[World]:
    """A repository on `feature/retry` with one commit, and this engine, of this version, configured in it."""
    monkeypatch.setenv("GIT_AGENT_CACHE", str(CACHE))  # where homes look for an engine's own Node.js
    with serving(tmp_path / "requests.jsonl") as server:
        place = home.make(pin, tmp_path / "home", server.url)
        place.env["PATH"] = f"{BIN}:{place.env['PATH']}"
        made = prepare(World(pin, place, server, tmp_path / "repo", binary))
        told = made.run(str(binary), "--version")
        printed = (told.out or told.err).strip().partition("\n")[0]  # copilot adds advice
        record_property("printed", printed)
        assert parse_version(printed) == parse_version(pin.version)
        try:
            yield made
        finally:
            end_all(place)
