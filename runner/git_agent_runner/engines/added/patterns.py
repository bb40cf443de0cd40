r"""Regular expressions from a person's profile: only such as cannot hang, whatever text they are matched against.

Engines' output is hostile, and `re` has no time limit: `(a+)+b` takes years on forty letters. Timing a pattern on
samples would only find the texts that one thinks of, so its cost is bounded instead, by its form alone:

- plain characters, `.`, escapes such as \d and \., classes, groups `(...)` and `(?:...)`, `|`, and repetitions;
- every repetition says how often at most: `{1,40}` or `?`, not `*` or `+`. So no more of a line is looked at than the
  pattern asks for, be the line 16 MB long;
- the number of ways in which the whole may match (every choice multiplied) is at most `WAYS`: that many attempts are
  over in less than a millisecond.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 500
WAYS = 1 << 16

_TOKEN = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<open>\((?:\?:)?(?!\?))"
    r"|(?P<close>\))"
    r"|(?P<bar>\|)"
    r"|(?P<many>[*+])"
    r"|(?P<times>\{(?P<low>\d{1,4})(?:(?P<comma>,)(?P<high>\d{0,4}))?\}\??|(?P<once>\?)\??)"
    r"|(?P<atom>\\[dDwWsStAZb]|\\[^\w\s]|[^\\\[\](){}|*+?^$])"
)


class _Group(NamedTuple):
    """`ways` of the branches that are closed, of the open branch, and of its last atom."""

    closed: int = 0
    branch: int = 1
    atom: int = 1
    empty: bool = True

    def sealed(self) -> _Group:
        """The last atom will not be repeated any more."""
        return self._replace(branch=self.branch * self.atom, atom=1)


def fault(pattern: str) -> str | None:
    """What is wrong with a pattern, in words that follow "expected a pattern that"; None when nothing is."""
    if not pattern or len(pattern) > LONGEST:
        return f"has 1 to {LONGEST} characters"
    stack = [_Group()]
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            return f"is plain: no {pattern[position : position + 3]!r}"
        if problem := _step(stack, token):
            return problem
        if max(group.closed + group.branch * group.atom for group in stack) > WAYS:
            return f"can match a text in no more than {WAYS} ways: repeat or choose less"
        position = token.end()
    if len(stack) > 1:
        return "closes its groups"
    try:
        re.compile(pattern)
    except re.error as error:
        return f"is a regular expression: {error.msg}"
    return None


def _step(stack: list[_Group], token: re.Match[str]) -> str | None:
    group = stack[-1]
    match token.lastgroup:
        case "open":
            stack.append(_Group())
        case "close":
            if len(stack) == 1:
                return "closes only groups that it opened"
            inner = stack.pop().sealed()
            stack[-1] = stack[-1].sealed()._replace(atom=inner.closed + inner.branch, empty=False)
        case "bar":
            stack[-1] = _Group(closed=group.closed + group.sealed().branch)
        case "many":
            return f"says how often at most: {{0,40}} instead of {token[0]}"
        case "times":
            return _repeat(stack, token)
        case _:
            stack[-1] = group.sealed()._replace(empty=False)
    return None


def _repeat(stack: list[_Group], token: re.Match[str]) -> str | None:
    """An atom with `n` ways, repeated `low` to `high` times, has at most n^high ways for each of the lengths."""
    group = stack[-1]
    if group.empty:
        return "repeats something"
    low = 0 if token["once"] else int(token["low"])
    high = 1 if token["once"] else int(token["high"] or 0) if token["comma"] else low
    if high < low or high == 0:
        return "says how often at most: {1,40}"
    stack[-1] = group._replace(atom=group.atom ** min(high, 32) * (high - low + 1)).sealed()._replace(empty=True)
    return None


def beginning(pattern: str) -> str:
    """The fixed characters that every text which matches begins with; of a pattern without fault."""
    found, depth, over = "", 0, False
    for token in _TOKEN.finditer(pattern):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if token.lastgroup == "bar" and depth == 0:
            return ""
        if token.lastgroup == "times" and not over:
            found = found[:-1]
        over = over or token.lastgroup != "atom" or token[0] == "." or re.fullmatch(r"\\\w", token[0]) is not None
        found += "" if over else token[0].removeprefix("\\")
    return found
