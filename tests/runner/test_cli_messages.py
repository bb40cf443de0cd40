"""A message reaches the engine byte for byte, by whichever way it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli

TEXTS = [
    pytest.param("- [ ] do", id="list item"),
    pytest.param("--is it?", id="dashes"),
    pytest.param("@file of mine", id="at sign"),
    pytest.param('it\'s "so" `x` $HOME \\ !x %s', id="what shells expand"),
    pytest.param("first\nsecond\n\n", id="line ends at the end"),
    pytest.param("\r\n tab\t\x1b[31m \u202e", id="control characters"),
    pytest.param("caf\u00e9 \U0001f600 e\u0301", id="not ASCII"),
]


def reached(cli: Cli) -> str | None:
    """The message as the last engine got it."""
    call = cli.calls()[-1]
    text: str | None = call["stdin"] or call["argv"][-1].removeprefix("--prompt=")
    return text


@pytest.mark.parametrize("text", TEXTS)
def test_on_the_command_line(cli: Cli, text: str) -> None:
    cli.ok("start", "-e", "codex", text)
    assert (reached(cli), cli.attempt().message) == (text, text)


def test_in_one_argument_of_the_engine(cli: Cli) -> None:
    """iflow takes no message on stdin; one that could pass for a flag is joined to its own."""
    for text in ("-x --yolo 'q'\n", "two words\n\n"):
        cli.ok("start", "-e", "iflow", text)
        assert reached(cli) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(["start", "-e", "codex", "--prompt=--help"], "--help", id="start --prompt="),
        pytest.param(["start", "-e", "codex", "--prompt", "-"], "-", id="start --prompt, a dash"),
        pytest.param(["resume", "--message=-n"], "-n", id="resume --message="),
        pytest.param(["resume", "--message", "--"], "--", id="resume --message, two dashes"),
    ],
)
def test_by_option(cli: Cli, words: list[str], text: str) -> None:
    if words[0] == "resume":
        cli.begin()
    cli.ok(*words)
    assert reached(cli) == text


@pytest.mark.parametrize("engine", ["codex", "claude", "gemini", "opencode", "qwen", "copilot"])
def test_large_and_by_stdin(cli: Cli, engine: str) -> None:
    """200 kB would not fit into one argument."""
    text = "é- \n" * 50_000
    assert cli.run("start", "-e", engine, "-", stdin=text.encode()).status == 0
    assert reached(cli) == text


def test_by_file(cli: Cli, tmp_path: Path) -> None:
    cli.begin()
    path = tmp_path / "a message"
    path.write_bytes(b"from a file\r\n\n")
    cli.ok("resume", "--message-file", str(path))
    cli.ok("start", "-e", "codex", "--prompt-file", str(path))
    assert [call["stdin"] for call in cli.calls()[1:]] == ["from a file\r\n\n"] * 2


def test_with_a_handle(cli: Cli) -> None:
    handle = cli.begin().handle
    cli.ok("resume", handle[:4], "to a prefix")
    assert cli.run("resume", handle, "-", stdin=b"to a handle\n").status == 0
    cli.ok("resume", "--handle", handle[:6], "--message=-x")
    assert [call["stdin"] for call in cli.calls()[1:]] == ["to a prefix", "to a handle\n", "-x"]
    assert cli.record().attempts == 4
