"""`agent.*` from real git configuration, and the files it may not come from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Settings
from git_agent_runner.git import settings
from support.gitrepo import GitRepo


def load(repo: GitRepo) -> Settings:
    return settings.load(repo.facts(), os.environ)[0]


def refused(repo: GitRepo) -> UserError:
    with pytest.raises(UserError) as caught:
        load(repo)
    return caught.value


def test_nothing_configured(repo: GitRepo) -> None:
    assert load(repo) == Settings()


@pytest.mark.parametrize(
    ("key", "values", "field", "expected"),
    [
        pytest.param("agent.engine", ["codex"], "engine", "codex", id="engine"),
        pytest.param("agent.engine", ["codex", "gemini"], "engine", "gemini", id="last one counts"),
        pytest.param("Agent.ENGINE", ["codex"], "engine", "codex", id="git's keys ignore case"),
        pytest.param("agent.fallback", ["fresh"], "fallback", "fresh", id="fallback"),
        pytest.param("agent.continueMessage", ["go\non"], "continue_message", "go\non", id="lines"),
        pytest.param("agent.defaultDirectory", ["/srv"], "default_directory", "/srv", id="absolute"),
        pytest.param("agent.codex.binary", ["/o p/codex"], "binaries", {"codex": "/o p/codex"}, id="binary"),
        pytest.param("agent.codex.binary", ["$HOME/x"], "binaries", {"codex": "$HOME/x"}, id="no variables"),
        pytest.param("agent.a.b.binary", ["x"], "binaries", {"a.b": "x"}, id="engine name with a dot"),
        pytest.param(
            "agent.codex.args", ["-m 'gpt 5'", "--full"], "args", {"codex": ("-m", "gpt 5", "--full")}, id="args append"
        ),
        pytest.param("agent.terminal", ["iTerm2"], "terminal", "iterm2", id="terminal"),
        pytest.param("agent.stallAfter", ["90"], "stall_after", 90.0, id="seconds"),
        pytest.param("agent.stallAfter", ["90s"], "stall_after", 90.0, id="seconds with a unit"),
        pytest.param("agent.stallAfter", ["1.5m"], "stall_after", 90.0, id="minutes"),
        pytest.param("agent.stallAfter", ["2h"], "stall_after", 7200.0, id="hours"),
        pytest.param("agent.somethingNew", ["x"], "engine", None, id="unknown keys are left alone"),
    ],
)
def test_reads(repo: GitRepo, key: str, values: list[str], field: str, expected: object) -> None:
    for value in values:
        repo.git("config", "--add", key, value)
    assert getattr(load(repo), field) == expected


def test_home_and_relative_directories(repo: GitRepo, isolated: Path) -> None:
    repo.git("config", "agent.codex.binary", "~/bin/codex")
    repo.git("config", "agent.defaultDirectory", "src")
    found = load(repo)
    assert found.binaries == {"codex": f"{isolated}/bin/codex"}
    assert found.default_directory == f"{repo.path}/src"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("agent.engine", "--codex", "the name of an engine"),
        ("agent.fallback", "maybe", "one of fail, continue, fresh, picker"),
        ("agent.continueMessage", " \t", "a message that is not blank"),
        ("agent.defaultDirectory", "", "a directory"),
        ("agent.codex.binary", "", "the path of a program"),
        ("agent.codex.args", "'open", "words quoted as in a shell"),
        ("agent.terminal", "xterm; x", f"one of {', '.join(settings.TERMINALS)}"),
        ("agent.stallAfter", "soon", "a positive number of seconds, or 90s, 5m, 1h"),
        ("agent.stallAfter", "0", "a positive number of seconds, or 90s, 5m, 1h"),
        ("agent.stallAfter", "-5", "a positive number of seconds, or 90s, 5m, 1h"),
        ("agent.stallAfter", "1e9", "a positive number of seconds, or 90s, 5m, 1h"),
    ],
)
def test_invalid_value_names_key_file_and_expectation(repo: GitRepo, key: str, value: str, expected: str) -> None:
    repo.git("config", key, value)
    error = refused(repo)
    assert error.message == f"Invalid {key} in '{repo.path}/.git/config'; expected {expected}"
    assert error.code == "invalid_setting"


def test_key_without_a_value(repo: GitRepo) -> None:
    with (repo.path / ".git/config").open("a") as file:
        file.write("[agent]\n\tengine\n")
    assert refused(repo).message.endswith("expected the name of an engine")


def command_line(monkeypatch: pytest.MonkeyPatch, key: str, value: str) -> None:
    """The environment form of `git -c key=value agent …`."""
    for name, text in {"COUNT": "1", "KEY_0": key, "VALUE_0": value}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", text)


def test_command_line_wins_and_is_named(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("config", "agent.engine", "codex")
    command_line(monkeypatch, "agent.engine", "claude")
    assert load(repo).engine == "claude"
    command_line(monkeypatch, "agent.engine", "")
    assert refused(repo).message == "Invalid agent.engine in the command line; expected the name of an engine"


def tracked(directory: Path) -> Path:
    path = directory / ".gitconfig"
    path.write_text('[agent "codex"]\n\tbinary = ./evil\n')
    return path


@pytest.mark.parametrize("form", ["../.gitconfig", "{top}/.gitconfig", "{top}/../link/.gitconfig"])
def test_file_inside_the_work_tree_is_refused(repo: GitRepo, tmp_path: Path, form: str) -> None:
    tracked(repo.path)
    (tmp_path / "link").symlink_to(repo.path)
    repo.git("config", "include.path", form.format(top=repo.path))
    error = refused(repo)
    assert error.code == "untrusted_setting"
    assert error.message.startswith("agent.codex.binary comes from '")
    assert error.message.endswith(".gitconfig', a file inside a work tree")


def test_file_inside_another_work_tree_is_refused(repo: GitRepo, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "linked", "side")
    repo.git("config", "include.path", str(tracked(linked.path)))
    assert refused(repo).code == "untrusted_setting"


def test_work_tree_inside_a_bare_repository(repo: GitRepo, tmp_path: Path) -> None:
    bare = repo.clone(tmp_path / "b.git", "--bare")
    inner = bare.worktree(bare.path / "main", "main")
    bare.git("config", "include.path", str(tracked(inner.path)))
    assert refused(inner).code == "untrusted_setting"


def test_global_include_of_a_tracked_file_is_refused(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "global").write_text(f"[include]\n\tpath = {tracked(repo.path)}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    assert refused(repo).code == "untrusted_setting"


@pytest.mark.parametrize("name", ["config", "config.worktree"])
def test_configuration_that_is_a_link_to_a_tracked_file_is_refused(repo: GitRepo, name: str) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    config = repo.path / ".git" / name
    tracked(repo.path).write_bytes((config.read_bytes() if config.exists() else b"") + b"[agent]\n\tengine = evil\n")
    config.unlink(missing_ok=True)
    config.symlink_to("../.gitconfig")
    assert refused(repo).code == "untrusted_setting"


def test_configuration_that_is_a_link_elsewhere_is_fine(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("config", "agent.engine", "codex")
    config = repo.path / ".git/config"
    config.rename(tmp_path / "mine")
    config.symlink_to(tmp_path / "mine")
    assert load(repo).engine == "codex"


def test_persons_own_file_that_is_a_link_into_the_repository(
    repo: GitRepo, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~/.gitconfig` of somebody who works in the repository of their dotfiles."""
    (isolated / ".gitconfig").symlink_to(tracked(repo.path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    assert load(repo).binaries == {"codex": "./evil"}


def test_file_of_another_repository_is_fine(repo: GitRepo, tmp_path: Path) -> None:
    """Dotfiles that a person includes: no branch of this repository can change them."""
    other = repo.clone(tmp_path / "dotfiles")
    repo.git("config", "include.path", str(tracked(other.path)))
    assert load(repo).binaries == {"codex": "./evil"}


def test_file_outside_every_work_tree_is_fine(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("config", "include.path", str(tracked(tmp_path)))
    assert load(repo).binaries == {"codex": "./evil"}


def test_include_inside_the_git_directory_is_fine(repo: GitRepo) -> None:
    repo.git("config", "include.path", "mine")
    tracked(repo.path / ".git").rename(repo.path / ".git/mine")
    assert load(repo).binaries == {"codex": "./evil"}


def test_home_that_is_a_repository(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person's own ~/.gitconfig is theirs, also where they keep their home in git."""
    tracked(repo.path)
    monkeypatch.setenv("HOME", str(repo.path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    assert load(repo).binaries == {"codex": "./evil"}


def test_setting_of_one_work_tree(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    linked = repo.worktree(tmp_path / "linked", "side")
    linked.git("config", "--worktree", "agent.engine", "gemini")
    assert (load(linked).engine, load(repo).engine) == ("gemini", None)


def test_config_lists_and_subsections(repo: GitRepo) -> None:
    for words in (["remote.a.b.url", "x"], ["remote.c.url", "y"], ["init.defaultBranch", "trunk"]):
        repo.git("config", *words)
    config = settings.read(repo.facts())
    assert config.subsections("remote", "url") == ("a.b", "c")
    assert config.last("init.defaultbranch") == "trunk"
    assert config.all("no.such") == ()
