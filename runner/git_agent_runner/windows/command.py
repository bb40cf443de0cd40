"""The one command that a new window runs, and how it is told to a terminal that does not take words as they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from git_agent_runner.core.text import command_line, quote, shown

# A terminal's window has the terminal's environment, not ours. What decides where an engine keeps its sessions, and
# where we keep our settings, goes along; the rest does not: a key would be there for all to read in the process list.
PLACES = (
    "HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "PYTHONPATH",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "IFLOW_HOME",
    "OPENCODE_CONFIG",
    "OPENCODE_DB",
    "QWEN_HOME",
    "QWEN_RUNTIME_DIR",
)
_WAIT = "echo; printf %s 'git-agent: press Enter to close this window '; read -r answer"
# In every shell that somebody may have: history (`!`), fish's escapes within quotes, a line's end. With the character
# behind them, because `$( )` drops the newlines at its end.
_TYPED = re.compile(r"([\x01-\x1f\x7f-\x9f\\!]+.?)", re.DOTALL)


class Window(NamedTuple):
    """What is to run in a new window: `argv`, in the directory `cwd` (absolute), with `env` in its environment."""

    cwd: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


def environment(environ: Mapping[str, str], *, path: bool) -> tuple[tuple[str, str], ...]:
    """What of the person's environment the window needs: the same places, and with `path` the same programs."""
    names = ("PATH", *PLACES) if path else PLACES
    return tuple((name, environ[name]) for name in names if environ.get(name))


def script(window: Window) -> str:
    """The command, for `/bin/sh -c`.

    A directory that is gone is reported in the window. The window stays open after a failure: its last words are the
    reason. Ctrl-C is for what runs, which a shell that ends before it would leave without its terminal.
    """
    gone = quote(f"fatal: there is no directory '{shown(window.cwd)}'")
    enter = f"cd -- {quote(window.cwd)} 2>/dev/null || {{ printf %s {gone}; false; }}"
    run = " ".join([*(f"{name}={quote(value)}" for name, value in window.env), command_line(window.argv)])
    return f"trap : INT; {{ {enter}; }} && {run} || {{ {_WAIT}; }}"


def typed(argv: tuple[str, ...]) -> str:
    """argv as one line that sh, bash, zsh and fish take alike when it is typed into them; others refuse it whole."""
    return " ".join(map(_typed, argv))


def _typed(word: str) -> str:
    parts = enumerate(_TYPED.split(word))
    return "".join(f"\"$(printf '{_octal(part)}')\"" if odd % 2 else shlex.quote(part) for odd, part in parts if part)


def plain(text: str) -> str:
    """A script that does what the script `text` does, without `;`, `"` and any character but ASCII."""
    return f"set -f && IFS= && eval $(printf '{_octal(text)}')"


def _octal(text: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogateescape"))
