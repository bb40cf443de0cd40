"""What of a command line is ours, what the engine's, and what the message."""

from __future__ import annotations

import io
from pathlib import Path

import click
import pytest

from git_agent_runner.console import parse
from git_agent_runner.core.errors import UsageError

NAMES = ("--message", "--message-file")


@click.command(cls=parse.EngineCommand)
@click.argument("words", nargs=-1)
@click.option("--message")
@click.option("-e", "--engine")
@click.option("-v", "--verbose", is_flag=True)
def command(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value} | {"to engine": parse.engine_args()}


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param(["fix it"], {"words": ("fix it",)}, id="a word"),
        pytest.param(["- [ ] do"], {"words": ("- [ ] do",)}, id="a list item"),
        pytest.param(["--is this a flag?"], {"words": ("--is this a flag?",)}, id="dashes and blanks"),
        pytest.param(["-\u2003em space"], {"words": ("-\u2003em space",)}, id="a blank that is not ASCII"),
        pytest.param(["-x\nsecond line"], {"words": ("-x\nsecond line",)}, id="a line break is a blank"),
        pytest.param(["-v", "- a", "- b"], {"verbose": True, "words": ("- a", "- b")}, id="two of them"),
        pytest.param(["--message", "--help"], {"message": "--help"}, id="an option's value is not looked at"),
        pytest.param(["--message=-- x"], {"message": "-- x"}, id="nor is one behind ="),
        pytest.param(["--message", "--"], {"message": "--"}, id="even two dashes"),
        pytest.param(["-e", "- x"], {"engine": "- x"}, id="of a short option"),
        pytest.param(
            ["-e", "codex", "-v", "x"], {"engine": "codex", "verbose": True, "words": ("x",)}, id="short ones"
        ),
        pytest.param(["-ecodex"], {"engine": "codex"}, id="attached to a short option"),
        pytest.param(["-"], {"words": ("-",)}, id="a dash alone"),
        pytest.param(["a", "--", "-m", "x y"], {"words": ("a",), "to engine": ("-m", "x y")}, id="the engine's"),
        pytest.param(["--", "--", "-v"], {"to engine": ("--", "-v")}, id="only the first two dashes are ours"),
    ],
)
def test_words(args: list[str], want: dict[str, object]) -> None:
    assert command.main(args, standalone_mode=False) == {"to engine": (), **want}


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("--mesage", id="mistyped"),
        pytest.param("--mesage=fix it", id="mistyped, with a value that has blanks"),
        pytest.param("-m", id="git's letter"),
        pytest.param("---", id="three dashes"),
    ],
)
def test_a_mistyped_option_is_no_message(word: str) -> None:
    with pytest.raises(click.NoSuchOption):
        command.main([word], standalone_mode=False)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param((None, None, None), None, id="none"),
        pytest.param(("fix", None, None), "fix", id="word"),
        pytest.param((None, "--help", None), "--help", id="option"),
        pytest.param((None, "-", None), "-", id="a dash as an option's value is text"),
        pytest.param(("@file \"q\" 'q' \U0001f600\n", None, None), "@file \"q\" 'q' \U0001f600\n", id="as it is"),
        pytest.param((" x ", None, None), " x ", id="blanks around it"),
        pytest.param(("-", None, None), "from stdin\r\n", id="a dash reads stdin"),
        pytest.param((None, None, "file"), "from file\n\n", id="file"),
        pytest.param((None, None, "-"), "from stdin\r\n", id="a dash as the file reads stdin"),
    ],
)
def test_message(
    given: tuple[str | None, str | None, str | None],
    want: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"from stdin\r\n")))
    Path("file").write_bytes(b"from file\n\n")
    assert parse.read_message(*given, NAMES) == want


@pytest.mark.parametrize(
    ("given", "stdin", "want", "code"),
    [
        pytest.param(
            ("a", "b", None), b"", "two messages: from the command line and from --message", "usage", id="two"
        ),
        pytest.param(
            (None, "b", "file"), b"", "two messages: from --message and from --message-file", "usage", id="also two"
        ),
        pytest.param(("", None, None), b"", "the message from the command line is empty", "message_empty", id="empty"),
        pytest.param(
            (None, " \t\u2003", None), b"", "the message from --message is empty", "message_empty", id="blank"
        ),
        pytest.param(
            ("-", None, None), b"\n\n", "the message from standard input is empty", "message_empty", id="blank stdin"
        ),
        pytest.param(
            ("-", None, None),
            b"a\0b",
            "the message from standard input holds a NUL (character 2)",
            "message_refused",
            id="nul",
        ),
        pytest.param(
            ("-", None, None),
            b"abc\xff",
            "the message from standard input is not UTF-8 (byte 4)",
            "message_refused",
            id="bytes",
        ),
        pytest.param(
            ("caf\udce9", None, None),
            b"",
            "the message from the command line is not UTF-8 (byte 4)",
            "message_refused",
            id="bytes in a word",
        ),
        pytest.param(
            (None, None, "gone"),
            b"",
            "cannot read the message from 'gone': No such file or directory",
            "usage",
            id="no file",
        ),
        pytest.param(
            (None, None, "."), b"", "cannot read the message from '.': Is a directory", "usage", id="a folder"
        ),
    ],
)
def test_refused_message(
    given: tuple[str | None, str | None, str | None],
    stdin: bytes,
    want: str,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    with pytest.raises(UsageError) as caught:
        parse.read_message(*given, NAMES)
    assert (caught.value.message, caught.value.code) == (want, code)


def test_unquoted_words_are_quoted_in_the_hint() -> None:
    with pytest.raises(UsageError) as caught:
        parse.only_word(("fix", "Bob's", "bug"))
    assert caught.value.message == "too many arguments: 'bug'"
    assert caught.value.hints == ("quote the message: 'fix Bob'\"'\"'s bug'",)
