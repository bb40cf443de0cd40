"""Lines for people: fatal and hint lines, the summary, plain tables. Escapes are shown, never sent."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from git_agent_runner.core.text import CONTROL, command_line, quote, shown

if TYPE_CHECKING:
    from git_agent_runner.core.invocation import Invocation


def fatal(message: str, hints: Sequence[str] = ()) -> None:
    """One `fatal:` line and its `hint:` lines, in git's manner, on stderr."""
    _lines("fatal", [message])
    _lines("hint", hints)


def warn(message: str, hints: Sequence[str] = ()) -> None:
    _lines("warning", [message])
    _lines("hint", hints)


def hint(message: str) -> None:
    _lines("hint", [message])


def say(message: str) -> None:
    """Print a line of ours among the engine's output, on stderr."""
    _lines("git-agent", [message])


def _lines(word: str, texts: Iterable[str]) -> None:
    lines = [f"{word}: {shown(line)}" for text in texts for line in text.splitlines() or [""]]
    with suppress(OSError):  # a full disk, or a terminal that went away: it must not end what we tell of
        for line in lines:
            print(line, file=sys.stderr, flush=True)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on one line of stdout, with its characters readable and its control characters escaped."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.write(CONTROL.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n")
    sys.stdout.flush()


def pasteable(invocation: Invocation) -> str:
    """The whole invocation as one line for a shell: its directory, its message on stdin, its environment."""
    unset = [f"-u {name}" for name, value in invocation.env if value is None]
    # `cd` sets PWD itself.
    words = [f"{name}={quote(value)}" for name, value in invocation.env if value is not None and name != "PWD"]
    head = " ".join(["env", *unset, *words, ""]) if unset or words else ""
    line = f"{head}{command_line(invocation.argv)}"
    if invocation.stdin is not None:
        line = f"printf %s {quote(invocation.stdin.decode())} | {line}"
    return f"cd {quote(invocation.cwd)} && {line}"


_INDENT = " " * 10  # below the text of a summary's line


class Summary(NamedTuple):
    """The lines after an attempt; that of changes is left out where there are none."""

    handle: str
    engine: str
    session: str
    branch: str
    run: str
    resume: str
    changes: str = ""


def print_summary(summary: Summary) -> None:
    """To stderr: stdout belongs to the engine."""
    rows = (
        ("handle", f"{summary.handle}   {summary.engine} · {summary.session}"),
        ("branch", summary.branch),
        *([("changes", summary.changes)] if summary.changes else []),
        ("run", summary.run),
        ("resume", summary.resume),
    )
    for name, text in rows:
        print(_folded(f"{name:<9} {shown(text)}"), file=sys.stderr, flush=True)


def _folded(line: str) -> str:
    """Fold a line that is too long for the terminal at a blank, indented, since terminals break within words."""
    if not sys.stderr.isatty():
        return line
    import os
    import textwrap

    width = os.get_terminal_size(sys.stderr.fileno()).columns
    if width <= 2 * len(_INDENT):
        return line
    return textwrap.fill(line, width, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, two blanks apart, the last one ragged; widths in terminal cells, not characters."""
    cells = [list(header), *[[shown(cell) for cell in row] for row in rows]]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
