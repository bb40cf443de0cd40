"""No test sees the machine: its home, its git configuration, a repository that pytest was started from."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.gitrepo import EPOCH, GitRepo, dates, make

# Options and the choice of engine versions must be known before tests/system is collected.
pytest_plugins = ("system.plugin",)

# How long an example takes says nothing about the program. A function's fixtures are only read by those that take them.
settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("any machine")

IDENTITY = {
    "GIT_AUTHOR_NAME": "A. Author",
    "GIT_AUTHOR_EMAIL": "author@example.invalid",
    "GIT_COMMITTER_NAME": "C. Committer",
    "GIT_COMMITTER_EMAIL": "committer@example.invalid",
}


@pytest.fixture(scope="session", autouse=True)
def heard_signals() -> None:
    """`nohup` and a shell's `&` leave signals ignored, which every process below would inherit."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New directories: `mktemp` reads, for each, the names of all that were made before."""
    place = tmp_path_factory.mktemp("homes")
    return (place / str(number) for number in count())


@pytest.fixture(autouse=True)
def isolated(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, empty; git with fixed people, dates, language and no configuration."""
    home = next(homes)
    home.mkdir(mode=0o700)
    for name in os.environ:
        if name.startswith(("GIT_", "XDG_")):
            monkeypatch.delenv(name)
    places = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_RUNTIME_DIR": str(home / ".run"),
    }
    manners = {
        "TZ": "UTC",
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),  # `git config --global` by root would replace /dev/null
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": "",
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    for name, value in {**places, **manners, **IDENTITY, **dates(EPOCH)}.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture
def empty_repo(tmp_path: Path) -> GitRepo:
    """A repository without a commit; HEAD is the unborn branch `main`."""
    return make(tmp_path / "repo")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Repositories that are made once, by the first test that wants them, and then copied."""
    return {"place": tmp_path_factory.mktemp("templates")}


@pytest.fixture
def repo(template: dict[str, Path], tmp_path: Path) -> GitRepo:
    """A repository with two commits, c1 and c2, on `main`."""
    if "repo" not in template:
        made = make(template["place"] / "repo")
        made.commit("c1", f="a\n")
        made.commit("c2", f="a\nb\n")
        template["repo"] = made.path
    shutil.copytree(template["repo"], tmp_path / "repo", symlinks=True)
    return GitRepo(tmp_path / "repo")
