"""What is installed: a wheel is built from this tree, looked into, and installed into a place of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from support import docs, schemas

PACKAGES = {"git_agent_runner", "git_agent_extractors", "git_agent_hooks", "git_agent_fixtures"}
MAN = "share/man/man1/git-agent.1"


def run(*argv: str, cwd: Path, **env: str) -> str:
    done = subprocess.run(argv, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the backend itself: nothing is asked of the network."""
    place = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place), cwd=docs.ROOT)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture
def prefix(wheel: Path, tmp_path: Path) -> Path:
    words = (
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        "--prefix",
        str(tmp_path / "prefix"),
        str(wheel),
    )
    run(sys.executable, "-m", "pip", *words, cwd=tmp_path)
    return tmp_path / "prefix"


def test_the_wheel_holds_the_packages_and_the_manual(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name for name in names if ".dist-info/" not in name and ".data/" not in name}
    assert {name.split("/")[0] for name in inside} == PACKAGES
    typed = {f"{package}/py.typed" for package in PACKAGES}
    described = {f"git_agent_runner/schemas/{path.name}" for path in schemas.FOLDER.glob("*.json")}
    assert {name for name in inside if not name.endswith(".py")} == typed | described
    beside = sorted(name.partition(".data/")[2] for name in names if ".data/" in name)
    assert beside == [f"data/{MAN}", "scripts/git-agent", "scripts/git-agent-hook"]


def test_the_wheel_holds_every_module(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    roots = [docs.ROOT / package.removeprefix("git_agent_") for package in PACKAGES]
    assert inside == {str(path.relative_to(root)) for root in roots for path in root.glob("git_agent_*/**/*.py")}


def test_an_installed_git_agent_answers(wheel: Path, prefix: Path, tmp_path: Path) -> None:
    """`git agent` finds the script on PATH; the modules are the wheel's, their dependencies this environment's."""
    base = {"base": str(prefix), "platbase": str(prefix)}
    modules = sysconfig.get_path("purelib", vars=base)
    env = {
        "PATH": os.pathsep.join((f"{prefix}/bin", os.path.dirname(shutil.which("git") or ""), "/usr/bin", "/bin")),
        "PYTHONPATH": f"{modules}{os.pathsep}{sysconfig.get_path('purelib')}",
    }
    place = "import git_agent_runner; print(git_agent_runner.__file__)"
    assert run(sys.executable, "-c", place, cwd=tmp_path, **env).startswith(modules)
    assert run("git", "agent", "-h", cwd=tmp_path, **env).startswith("Usage: git agent")
    assert run("git", "agent", "--version", cwd=tmp_path, **env) == f"git-agent {wheel.name.split('-')[1]}\n"
    assert run("git", "agent", "engines", cwd=tmp_path, **env).startswith("ENGINE")
    assert (prefix / MAN).read_text() == (docs.ROOT / "docs/git-agent.1").read_text()
