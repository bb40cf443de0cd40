"""Sessions in documents, replayed on a terminal and compared with what the document shows."""

from __future__ import annotations

import os
import re

from ptyprocess import PtyProcess

from support import docs
from system.support import World

# What differs from run to run. Equal words stay equal: each kind is numbered in the order in which its words appear.
_CHANGING = re.compile(
    r"""(?x)
    (?P<uuid>    \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b )
    | (?P<time>    \b\d{8}T\d{6}Z )
    | (?P<handle>  \b[0-9a-f]{8}\b )
    | (?P<commit>  \b[0-9a-f]{7}\b )
    | (?P<seconds> \b\d+(?=\ s\b) )
    """
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def replayed(world: World, page: str, names: dict[str, str]) -> tuple[str, str]:
    """(what every command of the page's `console` blocks prints, what the page shows of it), commands included.

    `names` are what the page calls things: {their real name: the page's}.
    """
    steps = docs.session(page)
    told = "".join(f"$ {step.command}\n{on_terminal(world, step.command)}" for step in steps)
    shown = "".join(f"$ {step.command}\n{step.shows}" for step in steps)
    for here, there in names.items():
        told = told.replace(here, there)
    return told, shown


def on_terminal(world: World, command: str) -> str:
    """What a terminal shows of that command, its colours left out."""
    process = PtyProcess.spawn(
        ["/bin/sh", "-c", command], cwd=str(world.repo), env=world.home.env, dimensions=(50, 400), echo=False
    )
    shown = b""
    while True:
        try:
            shown += os.read(process.fd, 65536)
        except OSError:  # how Linux says that the terminal's other end is closed
            break
    process.close()
    return _COLOUR.sub("", shown.decode().replace("\r\n", "\n"))


def same_words(text: str) -> str:
    """The text with what changes from run to run replaced by `<kind number>`, and durations by `<seconds>`."""
    known: dict[str, str] = {}

    def word(found: re.Match[str]) -> str:
        kind = str(found.lastgroup)
        if kind == "seconds":
            return "<seconds>"
        number = 1 + sum(name.startswith(f"<{kind} ") for name in known.values())
        return known.setdefault(found[0], f"<{kind} {number}>")

    return _CHANGING.sub(word, text)
