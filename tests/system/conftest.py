"""Real engines for tests: each is installed once, into the user's cache, and every test gets a world of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from git_agent_fixtures import home
from git_agent_fixtures.engines import Pin, cache_directory, install
from git_agent_fixtures.server.serving import serving
from git_agent_runner.engines import MODULES, load
from git_agent_runner.engines.probe import flags, probe, user_cache_dir
from git_agent_runner.engines.spec import parse_version
from support.pre_commit import shared
from system.evidence import evidence
from system.support import BIN, World, end_all, prepare

# Read before any test has a home of its own: the cache is the person's.
CACHE = cache_directory(os.environ)


@pytest.fixture(scope="session")
def binary(pin: Pin) -> Path:
    """The engine's executable; the first to ask installs it, others wait."""
    return install(pin, CACHE)


class Probed(NamedTuple):
    """What a binary printed as its version, and the directory of what git-agent keeps of having asked it."""

    printed: str
    cache: Path


def ask(pin: Pin, binary: Path, base: Path) -> Probed:
    """Once for all tests of a run: gemini and opencode take seconds to tell their version and their flags."""
    kept = base / f"probed-{pin}"
    with (base / f"probed-{pin}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            _ask(pin, binary, kept)
    return Probed((kept / "printed").read_text(), kept / "cache")


def _ask(pin: Pin, binary: Path, kept: Path) -> None:
    """Into a directory that is whole as soon as it is there."""
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        place = home.make(pin, Path(folder, "home"), "http://127.0.0.1:9")
        told = subprocess.run((binary, "--version"), env=place.env, cwd=folder, capture_output=True, check=True)
        printed = (told.stdout or told.stderr).decode().strip().partition("\n")[0]  # copilot adds advice
        assert parse_version(printed) == parse_version(pin.version)
        if pin.engine in MODULES:
            engine, asked = load(pin.engine), user_cache_dir(place.env)
            flags(engine, probe(engine, str(binary), place.env, asked), place.env, asked)
        cache = place.root / ".cache/git-agent"
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(folder, "kept")
        shutil.copytree(cache, made / "cache")
        (made / "printed").write_text(printed)
        made.rename(kept)


@pytest.fixture
def world(
    pin: Pin,
    binary: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> Iterator[World]:
    """A repository on `feature/retry` with one commit, and this engine, of this version, configured in it."""
    monkeypatch.setenv("GIT_AGENT_CACHE", str(CACHE))  # where homes look for an engine's own Node.js
    probed = ask(pin, binary, shared(tmp_path_factory))
    record_property("printed", probed.printed)
    record_property("pin", str(pin))
    with serving(tmp_path / "requests.jsonl") as server:
        place = home.make(pin, tmp_path / "home", server.url)
        place.env["PATH"] = f"{BIN}:{place.env['PATH']}"
        shutil.copytree(probed.cache, place.root / ".cache/git-agent")
        made = prepare(World(pin, place, server, tmp_path / "repo", binary))
        try:
            yield made
        finally:
            end_all(place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure in a world comes with what its engine did."""
    report = yield
    world = getattr(item, "funcargs", {}).get("world")
    if report.when == "call" and report.failed and isinstance(world, World):
        printed = dict(item.user_properties).get("printed", "")
        report.sections.append(("engine", evidence(world, str(printed))))
    return report
