"""What is said before gemini gets a message in which it will take `@name` for a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_agent_runner.engines.gemini.command import ENGINE
from git_agent_runner.engines.spec import Launch
from support.cli import Cli
from support.gitrepo import GitRepo


@pytest.fixture
def tree(repo: GitRepo) -> Path:
    (repo.path / "src").mkdir()
    (repo.path / ".gitignore").write_text("secret.txt\n")
    for name in ("src/handler.py", "my notes.md", "secret.txt"):
        (repo.path / name).touch()
    repo.commit("files")
    (repo.path / "src/new.py").touch()
    return repo.path


def note(cwd: Path, message: str | None) -> str | None:
    return ENGINE.message_note(Launch("gemini", (0, 61, 0), (), message, None, str(cwd), str(cwd)))


@pytest.mark.parametrize(
    ("message", "name", "found"),
    [
        ("fix @handler.py now", "handler.py", "src/handler.py"),
        ("the @HANDLER decorator", "HANDLER", "src/handler.py"),
        ("(@handler.py)", "handler.py", "src/handler.py"),
        ("see @handler.py.", "handler.py", "src/handler.py"),
        ("mail ada@handler.py", "handler.py", "src/handler.py"),
        ("@src/handler.py and @hand*", "hand*", "src/handler.py"),
        ("not committed: @new.p", "new.p", "src/new.py"),
        ("look in @src and say", "src", "src/**"),
        ("look in @src/", "src/", "src/**"),
    ],
)
def test_a_name_that_gemini_replaces_is_told(tree: Path, message: str, name: str, found: str) -> None:
    """Each was sent to 0.36.0 and 0.61.0."""
    told = note(tree, message)
    assert told is not None
    assert f"'@{name}' for '{found}'" in told
    assert f"'\\@{name}'" in told


@pytest.mark.parametrize(
    "message",
    [
        None,
        "nothing",
        "read @src/handler.py now",
        "the @missing thing",
        r"keep \@handler.py as is",
        r"@my\ notes.md",
        "@secret.txt and @secret",
        "a lone @ and @, too",
        "@../outside/of/it",
        "@\x1b[31m",
    ],
)
def test_other_names_are_not(tree: Path, message: str | None) -> None:
    assert note(tree, message) is None


def test_outside_of_a_repository(tmp_path: Path) -> None:
    assert note(tmp_path, "fix @handler.py") is None


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("words", [("start", "-e", "gemini", "fix @hand"), ("resume", "fix @hand")])
def test_it_is_said_before_the_message_goes_out_as_it_is(repo: GitRepo, isolated: Path, words: tuple[str, ...]) -> None:
    cli = Cli(repo, isolated)
    if words[0] == "resume":
        cli.begin("gemini")
    done = cli.ok(*words)
    assert any("'@hand' for 'src/handler.py'" in line for line in done.lines), done.err
    assert cli.calls()[-1]["stdin"] == "fix @hand"
