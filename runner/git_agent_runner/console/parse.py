"""What click cannot parse: engine arguments after `--`, and messages that begin with a dash."""

from __future__ import annotations

import re
import sys
from collections.abc import Container
from typing import IO, Any

import click

from git_agent_runner.core.clock import duration
from git_agent_runner.core.errors import UsageError
from git_agent_runner.core.text import quote, shown

ENGINE_ARGS = "git_agent.engine_args"
_SHIELD = "\0message:"
_LONG = re.compile(r"--[A-Za-z][\w-]*")


LONGEST = 16 << 20  # bytes


class EngineCommand(click.Command):
    """A command whose words after `--` are the engine's, and whose message may begin with a dash if it has a blank."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, engine, shielded = _split(args, self)
        ctx.meta[ENGINE_ARGS] = tuple(engine)
        rest = super().parse_args(ctx, own)
        for name, value in ctx.params.items():
            ctx.params[name] = _unshield(value, shielded)
        return rest


def engine_args() -> tuple[str, ...]:
    """The words after `--` of the command that runs now."""
    args: tuple[str, ...] = click.get_current_context().meta[ENGINE_ARGS]
    return args


def _split(args: list[str], command: click.Command) -> tuple[list[str], list[str], list[str]]:
    """(our words, the engine's words, the messages replaced by a place holder in ours). Options come in their longest
    form: of a short one click first looks for long ones that are alike, which takes 3 ms.
    """
    taking = {
        name for param in command.params if isinstance(param, click.Option) and not param.is_flag for name in param.opts
    }
    known = {name: max(param.opts, key=len) for param in command.params for name in param.opts}
    own: list[str] = []
    shielded: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return own, list(words), shielded
        if word in taking:
            own += [known[word], *[value for value in [next(words, None)] if value is not None]]
        elif _is_message(word, known):
            own.append(f"{_SHIELD}{len(shielded)}")
            shielded.append(word)
        else:
            own.append(known.get(word, word))
    return own, [], shielded


def _is_message(word: str, known: Container[str]) -> bool:
    """A dash and a blank somewhere; but `--mesage=fix it` is a mistyped option, and must not become a paid prompt."""
    name, equals, _ = word.partition("=")
    if equals and (name in known or _LONG.fullmatch(name)):
        return False
    return word.startswith("-") and any(map(str.isspace, word))


def _unshield(value: Any, shielded: list[str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_unshield(item, shielded) for item in value)
    if isinstance(value, str) and value.startswith(_SHIELD):
        return shielded[int(value.removeprefix(_SHIELD))]
    return value


def only_word(words: tuple[str, ...]) -> str | None:
    """The message among the words of a command line, if there is one. Raises UsageError for more than one word: the
    message was not quoted.

    No whole command is hinted: without the other options it would go to another agent.
    """
    if len(words) > 1:
        raise UsageError(f"too many arguments: '{words[-1]}'", hints=(f"quote the message: {quote(' '.join(words))}",))
    return words[0] if words else None


def read_message(words: str | None, option: str | None, file: str | None, names: tuple[str, str]) -> str | None:
    """The one message, from any of its three sources, byte for byte; None if none was given. `names` are the
    options'.

    Raises UsageError for two ways at once, and for what no engine takes: blanks only, NUL, bytes that are no UTF-8.
    """
    given = [
        (text, source)
        for text, source in ((words, "the command line"), (option, names[0]), (file, names[1]))
        if text is not None
    ]
    if len(given) > 1:
        raise UsageError(f"two messages: from {given[0][1]} and from {given[1][1]}", hints=("give one of them",))
    if not given:
        return None
    text, source = given[0]
    if file is not None or words == "-":
        return _usable(*_read(text, "message"))
    return _usable(text.encode("utf-8", "surrogateescape"), f"the message from {source}")


def read_list(file: str) -> str:
    """The text of a file of branch names. Raises UsageError for one that cannot be read or is no UTF-8."""
    return _decoded(*_read(file, "list of branches"))


def _read(path: str, what: str) -> tuple[bytes, str]:
    """All of a file, or of standard input for `-`, as git reads it; and what to call it in a message."""
    name = "standard input" if path == "-" else f"'{path}'"
    source = f"the {what} from {name}"
    try:
        if path == "-":
            return _bounded(sys.stdin.buffer, source), source
        with open(path, "rb") as file:
            return _bounded(file, source), source
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {source}: {reason}") from None


def _bounded(file: IO[bytes], source: str) -> bytes:
    """Read at most what an engine takes: /dev/zero has no end."""
    data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise UsageError(
            f"{source} is longer than {LONGEST >> 20} MiB",
            hints=("put it into a file and ask the engine to read that",),
            code="message_too_large",
        )
    return data


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{source} is not UTF-8 (byte {error.start + 1})",
            hints=("convert it: iconv -t UTF-8",),
            code="message_refused",
        ) from None


def _usable(data: bytes, source: str) -> str:
    text = _decoded(data, source)
    if not text.strip():
        hint = "say what the agent should do"
        raise UsageError(f"{source} is empty", hints=(hint,), code="message_empty")
    if "\0" in text:
        place = text.index("\0") + 1
        raise UsageError(
            f"{source} holds a NUL (character {place})",
            hints=("take it out",),
            code="message_refused",
        )
    return text


def seconds(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    """The duration after --timeout, in seconds. Raises UsageError."""
    return duration_of(text)


def duration_of(text: str | None) -> float | None:
    value = None if text is None else duration(text)
    if text is not None and not value:
        raise UsageError(f"invalid duration '{shown(text)}'", hints=("write seconds, or 90s, 10m, 2h: --timeout 10m",))
    return value


def only_one(*groups: dict[str, bool]) -> None:
    """Raises UsageError where more than one flag of a group is given."""
    for flags in groups:
        given = [name for name, is_given in flags.items() if is_given]
        if len(given) > 1:
            raise UsageError(f"{given[0]} and {given[1]} cannot be used together", hints=("give one of them",))
