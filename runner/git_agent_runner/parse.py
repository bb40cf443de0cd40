"""What click cannot know: engine arguments after `--`, and messages that begin with a dash."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import click

from git_agent_runner.errors import UsageError

ENGINE_ARGS = "git_agent.engine_args"
_SHIELD = "\0message:"


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
    """(our words, the engine's words, the messages replaced by a place holder in ours)."""
    taking = {
        name for param in command.params if isinstance(param, click.Option) and not param.is_flag for name in param.opts
    }
    known = {name for param in command.params for name in param.opts}
    own: list[str] = []
    shielded: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return own, list(words), shielded
        if word in taking:
            own += [word, *[value for value in [next(words, None)] if value is not None]]
        elif _is_message(word, known):
            own.append(f"{_SHIELD}{len(shielded)}")
            shielded.append(word)
        else:
            own.append(word)
    return own, [], shielded


def _is_message(word: str, known: set[str]) -> bool:
    return word.startswith("-") and any(map(str.isspace, word)) and word.split("=", 1)[0] not in known


def _unshield(value: Any, shielded: list[str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_unshield(item, shielded) for item in value)
    if isinstance(value, str) and value.startswith(_SHIELD):
        return shielded[int(value.removeprefix(_SHIELD))]
    return value


class Message(NamedTuple):
    """A message as the person gave it, byte for byte. `source` says from where, for error texts."""

    text: str
    source: str


def read_message(words: str | None, option: str | None, file: str | None, names: tuple[str, str]) -> Message | None:
    """The one message out of its three ways in; None when none was given. `names` are the options' spellings.

    Raises UsageError for two ways at once, and for bytes that are no UTF-8.
    """
    given = [
        (text, source)
        for text, source in ((words, "the command line"), (option, names[0]), (file, names[1]))
        if text is not None
    ]
    if len(given) > 1:
        raise UsageError(f"two messages: {given[0][1]} and {given[1][1]}", hints=("give one of them",))
    if not given:
        return None
    text, source = given[0]
    if file is not None:
        return Message(_read_file(file), file)
    if words == "-":
        return Message(_decode(sys.stdin.buffer.read(), "standard input"), "standard input")
    return Message(_checked(text, source), source)


def _read_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return _decode(file.read(), path)
    except OSError as error:
        raise UsageError(f"cannot read the message file '{path}': {error.strerror}") from None


def _decode(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the message in {source} is not UTF-8 (byte {error.start})",
            hints=("convert it: iconv -t UTF-8",),
        ) from None


def _checked(text: str, source: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the message on {source} is not UTF-8") from None
    return text
