"""Windows of every terminal: the exact argv, and that hostile values reach the program as they are and run nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from git_agent_runner import engines
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import settings
from git_agent_runner.windows.command import PLACES, Window, environment, script
from git_agent_runner.windows.opening import open_window, plan_opening
from git_agent_runner.windows.terminals import LINE_BYTES, TERMINALS, Desktop, detect

# Each tries to run `touch canary`, to become a flag, to end a quote, or not to survive.
HOSTILE = (
    "it's",
    'say "x"',
    "$(touch canary)",
    "`touch canary`",
    "; touch canary #",
    "a\nb; touch canary",
    "\ntouch canary\n",
    "-rf",
    "--help",
    "a\\",
    "\\'; touch canary #",
    "'; touch canary; '",
    "\\\n!!",
    "!touch canary",
    "^a^touch canary",
    "\x1b]0;x\x07",
    "a\tb",
    "%n %s",
    "~",
    "*",
    "#(touch canary)",
    '" & do shell script "touch canary" & "',
    "&& touch canary",
    "| touch canary;",
    "\u202e\u2028 ünï ✓",
    "$IFS",
    "",
)
WITNESS = "import os, sys; open(sys.argv[1], 'w').write('\\0'.join([os.getcwd(), os.environ['HOME'], *sys.argv[2:]]))"

FACTS = {
    "tmux": {"TMUX": "/tmp/tmux-1/default,1,0"},
    "screen": {"STY": "4242.pts-0.box"},
    "kitty": {"KITTY_WINDOW_ID": "1", "KITTY_LISTEN_ON": "unix:/tmp/kitty"},
    "wezterm": {"WEZTERM_PANE": "0"},
    "iterm2": {"TERM_PROGRAM": "iTerm.app"},
    "terminal.app": {"TERM_PROGRAM": "Apple_Terminal"},
    "gnome-terminal": {"GNOME_TERMINAL_SCREEN": "/org/gnome/Terminal/screen/1"},
    "windows-terminal": {"WT_SESSION": "1", "WSL_DISTRO_NAME": "Debian"},
}
# What comes before the shell's words, or the line to type.
HEADS = {
    "tmux": ["tmux", "new-window", "--"],
    "screen": ["screen", "-X", "screen"],
    "kitty": ["kitty", "@", "--to", "unix:/tmp/kitty", "launch", "--type=tab"],
    "wezterm": ["wezterm", "cli", "spawn", "--"],
    "iterm2": [
        "osascript",
        *("-e", "on run argv"),
        *("-e", 'tell application "iTerm2"'),
        *("-e", "activate"),
        *("-e", "set opened to (create window with default profile)"),
        *("-e", "tell current session of opened to write text (item 1 of argv)"),
        *("-e", "end tell"),
        *("-e", "end run"),
    ],
    "terminal.app": [
        "osascript",
        *("-e", "on run argv"),
        *("-e", 'tell application "Terminal"'),
        *("-e", "activate"),
        *("-e", "do script (item 1 of argv)"),
        *("-e", "end tell"),
        *("-e", "end run"),
    ],
    "gnome-terminal": ["gnome-terminal", "--tab", "--"],
    "windows-terminal": ["wt.exe", "-w", "0", "new-tab", "wsl.exe", "-d", "Debian", "--exec"],
}


def run(argv: list[str], cwd: Path, line: str = "") -> None:
    """`line` is typed into it."""
    subprocess.run(argv, cwd=cwd, input=line.encode(), capture_output=True, check=False, start_new_session=True)


def everything(folder: Path, words: list[str]) -> tuple[str, list[str]]:
    """(the script of a window with each of the words in each of its places, what must arrive)."""
    cwd = folder / "".join(words).replace("/", "")[:200].join("dd")
    cwd.mkdir()
    argv = (sys.executable, "-c", WITNESS, str(folder / "out"), *words)
    home = "".join(words)
    return script(Window(str(cwd), argv, (("HOME", home),))), [str(cwd), home, *words]


def arrived(folder: Path) -> list[str]:
    """What the program was given. Nothing else may have been made."""
    found = (folder / "out").read_text().split("\0")
    assert {path.name for path in folder.rglob("*")} == {Path(found[0]).name, "out"}
    return found


@pytest.mark.parametrize("value", HOSTILE, ids=ascii)
def test_a_value_arrives_as_it_is_and_runs_nothing(tmp_path: Path, value: str) -> None:
    text, expected = everything(tmp_path, [value])
    run(["/bin/sh", "-c", text], tmp_path)
    assert arrived(tmp_path) == expected


@pytest.mark.parametrize("name", [name for name in TERMINALS if not TERMINALS[name].types])
def test_all_of_them_in_a_terminal_that_takes_words(tmp_path: Path, name: str) -> None:
    text, expected = everything(tmp_path, [*HOSTILE])
    argv = [*TERMINALS[name].argv(Desktop(FACTS[name], "linux"), text)]
    assert argv[:-1] == [*HEADS[name], "/bin/sh", "-c"]
    assert not argv[-1].endswith(";")  # where tmux would end its command
    assert name != "windows-terminal" or not set(argv[-1]) & set(';"%')
    run(argv[-3:], tmp_path)
    assert arrived(tmp_path) == expected


@pytest.mark.parametrize("name", [name for name in TERMINALS if TERMINALS[name].types])
@pytest.mark.parametrize("shell", ["sh", "bash --norc -i"])
def test_all_of_them_in_a_terminal_that_types(tmp_path: Path, name: str, shell: str) -> None:
    text, expected = everything(tmp_path, [*HOSTILE])
    *head, line = TERMINALS[name].argv(Desktop(FACTS[name], "darwin"), text)
    assert head == HEADS[name]
    assert not re.search(r"[\x00-\x1f\x7f!]|\\(?!\d{3})", line)
    run(shell.split(), tmp_path, f"{line}\n")
    assert arrived(tmp_path) == expected


@pytest.mark.parametrize("value", HOSTILE, ids=ascii)
def test_a_missing_directory_is_said_and_nothing_runs(tmp_path: Path, value: str) -> None:
    out = tmp_path / "out"
    text = script(Window(f"{tmp_path}/gone/{value}", (sys.executable, "-c", WITNESS, str(out))))
    done = subprocess.run(("/bin/sh", "-c", text), cwd=tmp_path, input="\n", capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"fatal: there is no directory '{tmp_path}/gone/")
    assert done.stdout.endswith("\ngit-agent: press Enter to close this window ")
    assert not set(done.stdout) & set("\x1b\x07\x00")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("status", "waits"), [(0, False), (3, True)])
def test_a_window_stays_open_after_a_failure(tmp_path: Path, status: int, waits: bool) -> None:
    text = script(Window(str(tmp_path), ("sh", "-c", f"exit {status}")))
    done = subprocess.run(("/bin/sh", "-c", text), input="\n", capture_output=True, text=True, check=False)
    assert ("press Enter" in done.stdout) == waits


def test_a_directory_that_is_no_utf_8(tmp_path: Path) -> None:
    cwd = bytes(tmp_path) + b"/\xff\\"
    Path(cwd.decode("utf-8", "surrogateescape")).mkdir()
    text = script(Window(cwd.decode("utf-8", "surrogateescape"), ("pwd",)))
    assert text.encode()
    assert subprocess.run(("/bin/sh", "-c", text), capture_output=True, check=True).stdout == cwd + b"\n"


@pytest.mark.parametrize("name", TERMINALS)
def test_detected_by_what_the_terminal_sets(name: str) -> None:
    assert detect(Desktop(FACTS[name], "linux")) == name


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        pytest.param({}, "linux", None, id="nothing says"),
        pytest.param({"TERM_PROGRAM": "vscode"}, "linux", None, id="one that is not known"),
        pytest.param({"TMUX": ""}, "linux", None, id="empty"),
        pytest.param({}, "darwin", "terminal.app", id="a Mac has one"),
        pytest.param({**FACTS["tmux"], **FACTS["kitty"]}, "linux", "tmux", id="tmux within kitty"),
        pytest.param({**FACTS["iterm2"], **FACTS["tmux"]}, "darwin", "tmux", id="tmux within iTerm2"),
    ],
)
def test_detected(environ: dict[str, str], platform: str, expected: str | None) -> None:
    assert detect(Desktop(environ, platform)) == expected


def test_a_kitty_that_does_not_listen_gets_a_companion() -> None:
    argv = TERMINALS["kitty"].argv(Desktop({"KITTY_WINDOW_ID": "1"}, "linux"), "x")
    assert argv == ("kitty", "--detach", "/bin/sh", "-c", "x")


def test_the_setting_takes_each_of_them() -> None:
    assert tuple(TERMINALS) == settings.TERMINALS


def test_what_engines_ask_the_environment_for_goes_along() -> None:
    """Places of stores. Keys do not: a command line is for all to read."""
    sources = "".join(path.read_text() for path in Path(engines.__file__).parent.glob("*.py"))
    named = set(re.findall(r'env\.get\("([A-Z_]+)"|"([A-Z]+_(?:[A-Z]+_)*(?:HOME|DIR))"', sources))
    assert {name for pair in named for name in pair if name} <= set(PLACES)
    assert environment({"PATH": "/bin", "CODEX_HOME": "/c", "OPENAI_API_KEY": "k", "HOME": ""}, path=False) == (
        ("CODEX_HOME", "/c"),
    )


class Place:
    """A PATH of one folder, with a stand-in for each terminal's program that notes its words and fails if told to."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.seen = folder / "seen"
        self.environ = {"PATH": str(self.bin), "HOME": "/h"}

    def program(self, name: str, body: str = "") -> str:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" > {self.seen}\n{body}\n')
        path.chmod(0o755)
        return str(path)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("name", TERMINALS)
def test_its_program_is_asked_once(place: Place, name: str) -> None:
    program = place.program(HEADS[name][0])
    facts = Desktop({**place.environ, **FACTS[name]}, "linux")
    opening = plan_opening(facts, None, Window("/repo", ("x",)), "/repo")
    open_window(opening, facts.environ)
    assert (opening.terminal, opening.argv[0]) == (name, program)
    assert place.seen.read_text().split("\0")[:-1] == list(opening.argv[1:])
    env = environment(facts.environ, path=not TERMINALS[name].types)
    assert ("PATH" in dict(env)) != TERMINALS[name].types
    text = script(Window("/repo", ("x",), env))
    assert list(opening.argv[1:]) == [*TERMINALS[name].argv(facts, text)][1:]


def refusal(act: Callable[[], object]) -> UserError:
    with pytest.raises(UserError) as caught:
        act()
    return caught.value


def test_nothing_says_which_terminal(place: Place) -> None:
    error = refusal(lambda: plan_opening(Desktop(place.environ, "linux"), None, Window("/r", ("x",)), "/r"))
    assert (error.code, str(list(TERMINALS))[1:-1].replace("'", "") in error.hints[0]) == ("terminal_unknown", True)


def test_its_program_is_not_there_or_comes_from_the_repository(place: Place, tmp_path: Path) -> None:
    facts = Desktop(place.environ, "linux")
    missing = refusal(lambda: plan_opening(facts, "kitty", Window("/r", ("x",)), "/r"))
    place.program("kitty")
    inside = refusal(lambda: plan_opening(facts, "kitty", Window("/r", ("x",)), str(tmp_path)))
    assert (missing.code, inside.code) == ("terminal_missing", "terminal_missing")
    assert missing.message == "'kitty', which opens windows of kitty, is not on PATH"


def test_a_line_too_long_to_be_typed(place: Place) -> None:
    place.program("osascript")
    facts = Desktop(place.environ, "darwin")
    error = refusal(lambda: plan_opening(facts, None, Window("/r", ("x" * LINE_BYTES,)), "/r"))
    assert (error.code, error.message) == ("terminal_failed", "the command is too long to be typed into Terminal.app")


@pytest.mark.parametrize(
    ("body", "how", "hints"),
    [
        pytest.param(
            "echo no server >&2; echo; echo running; exit 4", "failed with 4", ("no server", "running"), id="status"
        ),
        pytest.param("exit 1", "failed with 1", (), id="silent"),
    ],
)
def test_a_terminal_that_fails(place: Place, body: str, how: str, hints: tuple[str, ...]) -> None:
    program = place.program("tmux", body)
    opening = plan_opening(Desktop(place.environ, "linux"), "tmux", Window("/r", ("x",)), "/r")
    error = refusal(lambda: open_window(opening, place.environ))
    assert (error.code, error.message) == ("terminal_failed", f"tmux did not open a window: {program} {how}")
    assert error.hints == hints
