"""The terminals that a session can be opened in: how each is known, and the argv that opens a window. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from git_agent_runner.windows.command import plain, typed

# A terminal's line is this long before a shell reads it (MAX_CANON of macOS); what comes after is lost.
LINE_BYTES = 1024


class Desktop(NamedTuple):
    """The person's environment, and `sys.platform`."""

    environ: Mapping[str, str]
    platform: str


class Terminal(NamedTuple):
    """`title` is its name for people, `program` what is looked for on PATH; `argv` is given a script for `/bin/sh`.

    `types`: it types into a login shell of the person's, which has their PATH, and takes LINE_BYTES at most.
    """

    title: str
    program: str
    here: Callable[[Desktop], bool]
    argv: Callable[[Desktop, str], tuple[str, ...]]
    types: bool = False


def _shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def _set(*names: str) -> Callable[[Desktop], bool]:
    return lambda facts: any(facts.environ.get(name) for name in names)


def _called(name: str) -> Callable[[Desktop], bool]:
    return lambda facts: facts.environ.get("TERM_PROGRAM") == name


def _tmux(_facts: Desktop, script: str) -> tuple[str, ...]:
    """Several words are started as they are; a single one would go to the shell of tmux's configuration.

    Not `-c`, where tmux runs `#(command)`. A last word that ends in `;` would end tmux's command: ours ends in `}`.
    """
    return ("tmux", "new-window", "--", *_shell(script))


def _screen(_facts: Desktop, script: str) -> tuple[str, ...]:
    """STY names the session that is asked."""
    return ("screen", "-X", "screen", *_shell(script))


def _kitty(facts: Desktop, script: str) -> tuple[str, ...]:
    """A tab, where kitty listens for such requests; else a window of a kitty of its own."""
    socket = facts.environ.get("KITTY_LISTEN_ON")
    tab = ("kitty", "@", "--to", socket, "launch", "--type=tab") if socket else ("kitty", "--detach")
    return (*tab, *_shell(script))


def _wezterm(_facts: Desktop, script: str) -> tuple[str, ...]:
    return ("wezterm", "cli", "spawn", "--", *_shell(script))


def _gnome(_facts: Desktop, script: str) -> tuple[str, ...]:
    return ("gnome-terminal", "--tab", "--", *_shell(script))


def _apple(*lines: str) -> Callable[[Desktop, str], tuple[str, ...]]:
    """The line to type is an argument of the AppleScript, never a part of its text."""
    text = [word for line in ("on run argv", *lines, "end run") for word in ("-e", line)]
    return lambda _facts, script: ("osascript", *text, typed(("exec", *_shell(script))))


def _windows(facts: Desktop, script: str) -> tuple[str, ...]:
    """From within WSL. Windows Terminal splits its arguments at `;`, and quotes do not survive three programs."""
    name = facts.environ.get("WSL_DISTRO_NAME")
    distribution = ("-d", name) if name else ()
    return ("wt.exe", "-w", "0", "new-tab", "wsl.exe", *distribution, "--exec", *_shell(plain(script)))


_ITERM = (
    'tell application "iTerm2"',
    "activate",
    "set opened to (create window with default profile)",
    "tell current session of opened to write text (item 1 of argv)",
    "end tell",
)
_TERMINAL = ('tell application "Terminal"', "activate", "do script (item 1 of argv)", "end tell")

# The names that agent.terminal takes; the first that is recognised is the one nearest to the person.
TERMINALS = {
    "tmux": Terminal("tmux", "tmux", _set("TMUX"), _tmux),
    "screen": Terminal("GNU screen", "screen", _set("STY"), _screen),
    "kitty": Terminal("kitty", "kitty", _set("KITTY_WINDOW_ID", "KITTY_LISTEN_ON"), _kitty),
    "wezterm": Terminal("WezTerm", "wezterm", _set("WEZTERM_PANE"), _wezterm),
    "iterm2": Terminal("iTerm2", "osascript", _called("iTerm.app"), _apple(*_ITERM), types=True),
    "terminal.app": Terminal("Terminal.app", "osascript", _called("Apple_Terminal"), _apple(*_TERMINAL), types=True),
    "gnome-terminal": Terminal(
        "GNOME Terminal", "gnome-terminal", _set("GNOME_TERMINAL_SCREEN", "GNOME_TERMINAL_SERVICE"), _gnome
    ),
    "windows-terminal": Terminal("Windows Terminal", "wt.exe", _set("WT_SESSION"), _windows),
}


def detect(facts: Desktop) -> str | None:
    """The name of the terminal that the person is in; on a Mac, where nothing says, the one that is always there."""
    found = next((name for name, terminal in TERMINALS.items() if terminal.here(facts)), None)
    return found or ("terminal.app" if facts.platform == "darwin" else None)
