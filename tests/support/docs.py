"""The project's documents as tests read them: their code blocks, links, tables, and the sessions that they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))))
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


class Step(NamedTuple):
    """A command of a `console` block, and the text below it."""

    command: str
    shows: str


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of that language, in order."""
    return [body for word, body in _BLOCK.findall(text) if word == language]


def session(text: str) -> list[Step]:
    """Every command of every `console` block, in order: a line after `$ ` is a command, the others its output."""
    lines = "".join(blocks(text, "console"))
    return [Step(*shown.split("\n", 1)) for shown in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]]


def links(text: str) -> list[str]:
    return _LINK.findall(text)


def inline_code(text: str) -> list[str]:
    """What is in backquotes outside of code blocks; in a table, `\\|` is a bar."""
    return [code.replace(r"\|", "|") for code in _CODE.findall(_BLOCK.sub("", text))]


def section(text: str, heading: str) -> str:
    """The text below that heading, up to the next one of any level."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"no heading '{heading}'"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row, without the heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    rules = [index for index, row in enumerate(cells) if all(set(cell) <= set("-: ") for cell in row)]
    heads = {index - 1 for index in rules} | set(rules)
    return [row for index, row in enumerate(cells) if index not in heads]
