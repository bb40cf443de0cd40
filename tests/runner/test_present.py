"""What a person reads, and what a shell makes of what they paste."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from git_agent_runner.console.lines import fatal, pasteable, print_json, table
from git_agent_runner.core.invocation import Invocation
from git_agent_runner.core.text import quote, shown

WORDS = [
    pytest.param("", id="nothing"),
    pytest.param("plain", id="plain"),
    pytest.param("two words", id="blank"),
    pytest.param('it\'s "so" `x` $HOME \\n !x', id="what shells expand"),
    pytest.param("line\nbreak\n", id="line breaks, one at the end"),
    pytest.param("\x1b[31mred\x1b[0m\ttab\rend", id="control characters"),
    pytest.param("a\u202eb\u0085c", id="other direction, next line"),
    pytest.param("a\udcffb", id="a byte that is no UTF-8"),
    pytest.param("%s %% \\033", id="what printf expands"),
    pytest.param("\U0001f600", id="emoji"),
]


@pytest.mark.parametrize("word", WORDS)
def test_a_shell_reads_a_quoted_word_as_it_was(word: str) -> None:
    done = subprocess.run(("sh", "-c", f"printf %s {quote(word)}"), capture_output=True, check=True)
    assert done.stdout == word.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("word", WORDS)
def test_a_quoted_word_is_harmless_on_a_terminal(word: str) -> None:
    lines = quote(word).split("\n")
    assert [shown(line) for line in lines] == lines


def test_a_pasted_invocation_is_the_invocation(tmp_path: Path) -> None:
    folder = tmp_path / "with blank's"
    folder.mkdir()
    script = 'printf "%s|" "$PWD" "$A" "${B-unset}" "$@"; cat'
    env = (("PWD", str(folder)), ("A", "x y"), ("B", None))
    invocation = Invocation(("sh", "-c", script, "sh", "-m", "gpt 5"), b"it's\nso\n", str(folder), env)
    done = subprocess.run(
        ("sh", "-c", pasteable(invocation)), capture_output=True, env={"B": "1", "PATH": "/usr/bin:/bin"}, check=True
    )
    assert done.stdout.decode() == f"{folder}|x y|unset|-m|gpt 5|it's\nso\n"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("caf\u00e9 \U0001f600", "caf\u00e9 \U0001f600", id="text"),
        pytest.param("a\x1b[31m\x07\x7f", "a^[[31m^G^?", id="escape, bell, delete"),
        pytest.param("a\tb\nc\r", "a\\tb\\nc\\r", id="tab and line ends"),
        pytest.param("\x9b31m", "\\x9b31m", id="C1"),
        pytest.param("\u202eabc\ufeff", "\\u202eabc\\ufeff", id="direction, byte order mark"),
        pytest.param("\udc80", "\\udc80", id="a lone surrogate"),
    ],
)
def test_shown(text: str, want: str) -> None:
    assert shown(text) == want


def test_fatal_lines(capsys: pytest.CaptureFixture[str]) -> None:
    fatal("one\ntwo\x1b[2J", ("try this", "or\u2028that"))
    assert capsys.readouterr() == (
        "",
        "fatal: one\nfatal: two^[[2J\nhint: try this\nhint: or\nhint: that\n",
    )


def test_json_is_one_readable_line_without_raw_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": "caf\u00e9\x1b[2J\x9b\u2028\n\udcff"}
    print_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert out == '{"text":"caf\u00e9\\u001b[2J\\u009b\\u2028\\n\\udcff"}\n'


def test_table_is_aligned_in_terminal_cells() -> None:
    rows = [("日本", "b"), ("e\u0301a", "\x1bx")]
    assert table(("NAME", "X"), rows) == "NAME  X\n日本  b\ne\u0301a    ^[x"


UNSEEN = "\u200e\u200f\u061c\u200b\u200c\u200d\u2060\u2064\u00ad\u180e\u3164\ufff9\U000e0041\u206a"


def test_marks_of_direction_and_characters_without_width_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Faults C13: they turn what stands beside them, or hide a difference between two names."""
    fatal(f"a{UNSEEN}b")
    print_json({"x": UNSEEN})
    told = capsys.readouterr()
    assert not set(UNSEEN) & set(told.out + told.err)
    assert json.loads(told.out) == {"x": UNSEEN}
    assert r"\u200e\u200f\u061c\u200b" in told.err
    word = quote(UNSEEN)
    assert not set(UNSEEN) & set(word)
    shell = subprocess.run(("sh", "-c", f"printf %s {word}"), capture_output=True, text=True, check=True)
    assert shell.stdout == UNSEEN
