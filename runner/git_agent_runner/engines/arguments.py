"""Read a person's engine flags by the engine's own option table, and write them so they read only one way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.core.errors import UsageError
from git_agent_runner.engines.spec import Option, Role, Version, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Ours to give again with every attempt, or resolved into the record: never passed on as they were given.
_OURS: frozenset[Role] = frozenset({"selector", "format", "prompt", "interactive", "directory", "exit"})
_NOT_RECORDED: frozenset[Role] = _OURS | {"attachment"}


class Word(NamedTuple):
    """One flag with its values, or one stand-alone word (a message, a subcommand; `option` is None).

    `words` is what to pass on: as typed, except where an engine could read it another way. Attached short
    values are split (`-mgpt-5` -> `-m gpt-5`, since yargs reads `-my` as `-m -y`); values that look like flags,
    optional values and every value of a variadic flag are joined with `=`, so that they can neither become a
    flag nor eat the word that follows. A flag that is not in the table keeps the one word after it that is no
    flag.
    """

    option: Option | None
    words: tuple[str, ...]
    values: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.words[0].partition("=")[0]

    @property
    def stray(self) -> bool:
        """Does it stand alone: no flag, and no flag's value?"""
        return self.option is None and (self.words[0] == "--" or not _is_flag(self.words[0]))


def parse(options: tuple[Option, ...], args: tuple[str, ...]) -> tuple[Word, ...]:
    """Split `args`. Raises UsageError when a flag that needs a value has none."""
    table = {name: option for option in options for name in option.names}
    pending = list(reversed(args))
    words = []
    while pending:
        words.append(_next(table, pending))
    return tuple(words)


def launch_args(options: tuple[Option, ...], args: tuple[str, ...]) -> tuple[str, ...]:
    """What a record keeps: no session selector, output format, directory, message, attachment or terminal form."""
    return _without(options, args, _NOT_RECORDED)


def passed(options: tuple[Option, ...], args: tuple[str, ...]) -> tuple[str, ...]:
    """What one attempt gives its engine: what a record keeps, and the attachments of its message."""
    return _without(options, args, _OURS)


def _without(options: tuple[Option, ...], args: tuple[str, ...], roles: frozenset[Role]) -> tuple[str, ...]:
    return _joined(word for word in parse(options, args) if not word.stray and _role(word) not in roles)


def find(options: tuple[Option, ...], args: tuple[str, ...], role: Role) -> tuple[Word, ...]:
    """The flags of this role, in order."""
    return tuple(word for word in parse(options, args) if _role(word) == role)


def strays(options: tuple[Option, ...], args: tuple[str, ...]) -> tuple[str, ...]:
    """The words that belong to no flag: `launch_args` leaves them out, so whoever is given them asks first."""
    return _joined(word for word in parse(options, args) if word.stray)


def overlay(options: tuple[Option, ...], recorded: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    """Recorded launch args with newly given ones: a flag given again replaces its old value, and what it excludes.

    Those that repeat and variadic ones add up instead, as they do within one command line. codex refuses any
    other flag that is there twice ("cannot be used multiple times", clap), and yargs makes a list of its values.
    """
    new = parse(options, given)
    replaced = {name for word in new if word.option for name in _replaces(word.option)}
    kept = (word for word in parse(options, recorded) if not (word.option and replaced.intersection(word.option.names)))
    return _joined(kept) + _joined(new)


def _replaces(option: Option) -> Iterator[str]:
    """The flags whose recorded values are void once this one is given; `--no-x` says the opposite of `--x`."""
    yield from option.excludes
    if not (option.repeats or option.value == "many"):
        yield from option.names
    for name in option.names:
        if name.startswith("--"):
            yield f"--{name[5:]}" if name.startswith("--no-") else f"--no-{name[2:]}"


def rejected(options: tuple[Option, ...], args: tuple[str, ...], version: Version) -> tuple[str, ...]:
    """The flags that other versions of the engine know and this one does not, as typed."""
    return tuple(
        word.name
        for word in parse(options, args)
        if word.option and not within(version, word.option.since, word.option.until)
    )


def directory(options: tuple[Option, ...], args: tuple[str, ...]) -> str | None:
    """The working directory that the flags ask for: the last one counts."""
    found = find(options, args, "directory")
    return found[-1].values[-1] if found else None


def widening(options: tuple[Option, ...], args: tuple[str, ...]) -> tuple[str, ...]:
    """The flags that may widen what an agent does; one that we do not know may, too."""
    return tuple(
        word.name for word in parse(options, args) if not word.stray and (word.option is None or word.option.widens)
    )


def _role(word: Word) -> Role | None:
    return word.option.role if word.option else None


def _joined(words: Iterable[Word]) -> tuple[str, ...]:
    return tuple(text for word in words for text in word.words)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _next(table: Mapping[str, Option], pending: list[str]) -> Word:
    """Take one flag with its values, or one stand-alone word, off the end of `pending`."""
    word = pending.pop()
    if word == "--":
        rest = tuple(reversed(pending))
        pending.clear()
        return Word(None, ("--", *rest))
    if not _is_flag(word):
        return Word(None, (word,))
    name, equals, value = word.partition("=")
    option = table.get(name)
    if option is None:
        return _cluster(table, word, pending) or _unknown(word, pending)
    if not equals:
        values = _values(option, name, pending)
        return Word(option, _written(option, name, values), values)
    # `--flag=value` reads one way only; `-f=value` is `f` with `=value` to commander.
    words = (word,) if name.startswith("--") else _written(option, name, (value,))
    return Word(option, words, (value,))


def _cluster(table: Mapping[str, Option], word: str, pending: list[str]) -> Word | None:
    """`-mgpt-5`, a short flag with its value attached, or `-pc`, several short flags in one word."""
    name, rest = word[:2], word[2:]
    option = table.get(name)
    if option is None or not rest:
        return None
    if option.value != "none":
        return Word(option, _written(option, name, (rest,)), (rest,))
    if rest.startswith("-"):
        return None
    pending.append(f"-{rest}")
    return Word(option, (name,))


def _unknown(word: str, pending: list[str]) -> Word:
    value = () if "=" in word or not pending or _is_flag(pending[-1]) else (pending.pop(),)
    return Word(None, (word, *value), value)


def _values(option: Option, name: str, pending: list[str]) -> tuple[str, ...]:
    """The words after a flag that are its values.

    A single value is taken whatever it looks like, as commander does (`--append-system-prompt "- be brief"`).
    """
    if option.value == "none":
        return ()
    if option.value == "one" and pending:
        return (pending.pop(),)
    values: list[str] = []
    limit = 1 if option.value == "optional" else len(pending)
    while len(values) < limit and pending and not _is_flag(pending[-1]):
        values.append(pending.pop())
    if not values and option.value != "optional":
        raise UsageError(f"{name} needs a value", hints=(f"write it as {name} VALUE, or leave {name} out",))
    return tuple(values)


def _written(option: Option, name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        return (name,)
    if option.value == "one" and not values[0].startswith("-"):
        return (name, values[0])
    long = next((long for long in (name, *option.names) if long.startswith("--")), None)
    return tuple(f"{long}={value}" if long else f"{name}{value}" for value in values)
