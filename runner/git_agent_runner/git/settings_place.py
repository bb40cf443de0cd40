"""On which line of a file a setting is: git says only which file."""

from __future__ import annotations

import re

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_VARIABLE = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:[=#;]|$)")
_ESCAPED = re.compile(r"\\(.)")


def line_of(text: str, key: str, ordinal: int) -> int | None:
    """The line of the value of `key` that has `ordinal` others before it, in a file of git's configuration."""
    section, left, continues = "", ordinal, False
    for number, line in enumerate(text.split("\n"), 1):
        is_value, continues = continues, line.endswith("\\")
        if is_value:
            continue
        rest = line
        if head := _SECTION.match(line):
            name = "" if head[2] is None else "." + _ESCAPED.sub(r"\1", head[2])
            section = head[1].lower() + name
            rest = line[head.end() :]
        variable = _VARIABLE.match(rest)
        if variable and f"{section}.{variable[1].lower()}" == key:
            if left == 0:
                return number
            left -= 1
    return None
