"""A message reaches the model byte for byte, or it is refused before anything is recorded."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import pytest

from git_agent_fixtures.engines import NEWEST, OLDER, PINS
from system.support import BRANCH, Done, World

SENT, REFUSED = "sent", "refused"


class Message(NamedTuple):
    """`way` is how it is given: as a word, by the option, on standard input, or in a file."""

    text: str
    way: str = "option"


MESSAGES = {
    "a check box": Message("- [ ] do", "word"),
    "a flag": Message("--help"),
    "a dash": Message("-"),
    "an existing file": Message("look at @readme and say why"),
    "a missing file": Message("@nothing.txt is missing"),
    "a command": Message("/clear"),
    "no command": Message("/frobnicate it"),
    "quotes and blanks around": Message('  say "it\'s" `now` $HOME \\n %s !! ', "word"),
    "line ends": Message("\nfirst\r\nsecond\ttab\n\n", "stdin"),
    "emoji": Message("naïve 🦊👩‍👩‍👧 日本 \u202e\u2028", "word"),
    "200 kB": Message("x y\n" * 50_000, "file"),
    "empty": Message(""),
    "blanks": Message(" \t\n", "stdin"),
    "NUL": Message("a\0b", "file"),
}
# What no engine gets, and what an engine would carry out itself; gemini minds `/clear` once something was said.
ALWAYS_REFUSED = {"empty", "blanks", "NUL"}
COMMANDS = {"claude": {"start", "resume"}, "gemini": {"resume"}, "qwen": {"start", "resume"}}


@pytest.mark.one_of("command")
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("command", ["start", "resume"])
@pytest.mark.parametrize("pin", NEWEST, ids=str, scope="session")
def test_messages_arrive_unchanged_or_are_refused(world: World, command: str, third: int) -> None:
    world.start("MK1 add a retry")
    handle = world.facts()["handle"]
    refusals = ALWAYS_REFUSED | ({"a command"} if command in COMMANDS.get(world.pin.engine, ()) else set())
    messages = dict(list(MESSAGES.items())[third::3])
    outcomes = {name: _outcome(world, command, handle, message) for name, message in messages.items()}
    assert outcomes == {name: REFUSED if name in refusals else SENT for name in messages}


@pytest.mark.parametrize("pin", [pin for pin in PINS if pin.engine == "gemini"], ids=str, scope="session")
def test_a_name_that_gemini_takes_for_a_file_is_told(world: World) -> None:
    """Gemini has no way to be sent such a name as it is; `\\@` reaches the model with its backslash."""
    (world.repo / "src").mkdir()
    world.commit("files", **{"src/handler.py": "HANDLER\n"})
    done = world.start(" fix (@HANDLER) ")
    assert "gemini takes '@HANDLER' for 'src/handler.py'" in done.err
    done = world.resume("keep \\@HANDLER")
    assert "gemini takes" not in done.err
    sent = [text.text for text in world.requests()[-1].users]
    assert sent[-1] == "keep \\@HANDLER"
    assert "fix ( @src/handler.py)" in sent


@pytest.mark.parametrize("pin", [pin for pin in OLDER if pin.engine == "opencode"], ids=str, scope="session")
def test_old_opencode_puts_a_line_end_in_front_and_nothing_else(world: World) -> None:
    message = '- [ ] do "it"\n\n  1e3  twice '
    world.start(message)
    world.resume(message)
    assert [text.text for text in world.requests()[-1].users] == [f"\n{message}"] * 2


def _outcome(world: World, command: str, handle: str, message: Message) -> str:
    """`SENT` or `REFUSED`, each with all that belongs to it; else what happened instead."""
    before, asked = _recorded(world), len(world.server.requests())
    done = _given(world, command, handle, message)
    if done.status in (128, 129):
        silent = _recorded(world) == before and len(world.server.requests()) == asked
        return REFUSED if silent and "fatal: " in done.err else f"refused, but not silently: {done.err}"
    if done.status != 0:
        return f"exit {done.status}: {done.err}"
    digest = hashlib.sha256(_as_read(world.pin.engine, message.text).encode()).hexdigest()
    (newest,) = [entry for entry in world.server.requests()[asked:] if entry.format and not entry.side]
    # gemini adds what a file holds behind the message, as texts of their own.
    return SENT if digest in {text.sha256 for text in newest.users} else f"changed: {newest.users[-1]}"


def _as_read(engine: str, text: str) -> str:
    """copilot cuts off white space at the end; qwen puts two line ends behind what does not fit into an argument."""
    if engine == "qwen" and len(text) > 100_000:
        return f"{text}\n\n"
    return text.rstrip() if engine == "copilot" else text


def _given(world: World, command: str, handle: str, message: Message) -> Done:
    words = ("start", "-e", world.pin.engine) if command == "start" else ("resume", "--handle", handle)
    option = "--prompt" if command == "start" else "--message"
    file = world.repo / ".git" / "message"
    file.write_bytes(message.text.encode())
    match message.way:
        case "word":
            return world.agent(*words, message.text)
        case "option":
            return world.agent(*words, f"{option}={message.text}")
        case "stdin":
            return world.agent(*words, "-", stdin=message.text)
        case _:
            return world.agent(*words, f"{option}-file={file}")


def _recorded(world: World) -> tuple[object, ...]:
    """Records, run directories, the note and the pointer."""
    kept = world.repo / ".git" / "agent"
    files = {path: path.read_bytes() for path in (kept / "index").iterdir()}
    runs = sorted((kept / "runs").glob("*/attempts/*"))
    pointer = world.git("config", f"branch.{BRANCH}.agentHandle")
    return files, runs, world.git("rev-parse", "refs/notes/agent"), pointer
