"""A profile made of data: rules that say where an engine's JSON lines and text lines hold what we want to know.

Nothing here reads a file: whoever has the rules (from a person's own profile file) makes a `Profile` of them, which is
then given to `read`, `find_session` and `Decoder` in place of an engine's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from git_agent_extractors.model import Event, EventKind, Source, Status
from git_agent_extractors.profile import (
    NOTHING,
    ErrorRule,
    Events,
    Handler,
    Ignored,
    NoText,
    Object,
    Profile,
    classify,
    end,
    failure,
    gist,
    numbers,
)

# Keys from an object inwards; `*` is every item of a list, or every value of an object.
Path = tuple[str, ...]
Scalar = str | int | bool | None


class Condition(NamedTuple):
    """The value at `path` is one of `values`; numbers and truth values are distinguished, as JSON does."""

    path: Path
    values: tuple[Scalar, ...]


class DeclaredStatus(NamedTuple):
    """The status that the value at `path` stands for. One that is not listed ends nothing; an error is given by
    text."""

    path: Path
    values: Mapping[str, Status]


class EventRule(NamedTuple):
    """What an object of one type tells: one event, or one for each item of the list at `each`.

    `when` is asked of the object, `where` of the item; all other paths begin at the item, or without `each` at the
    object. `numbers` are our names for the engine's paths: {"input_tokens": ("usage", "input")}.
    """

    gives: EventKind
    when: tuple[Condition, ...] = ()
    each: Path | None = None
    where: tuple[Condition, ...] = ()
    text: Path | None = None
    name: Path | None = None
    failed: tuple[Condition, ...] = ()
    model: Path | None = None
    numbers: Mapping[str, Path] = {}
    status: Status | DeclaredStatus | None = None
    delta: bool = False
    fatal: bool = True


class SessionRule(NamedTuple):
    """Where the engine prints its session: at `path` of objects of the types `event`, or in a block of text lines.

    The lines of a block follow one another, each matches its pattern from end to end, and the one group of all of them
    is the id; the first line begins with `begins`. A block is believed only on `stream`: an answer may look like one.
    `first`: later ids may be a child's.
    """

    field: str
    shape: re.Pattern[str]
    event: tuple[str, ...] = ()
    path: Path = ()
    lines: tuple[re.Pattern[str], ...] = ()
    begins: str = ""
    stream: Source = "stderr"
    first: bool = False


class Rules(NamedTuple):
    """All that is reported of reading one engine. `ignored` are event types that tell nothing, each with its reason.

    `nonzero_fails`: an exit status above 0 says more than an end that went well.
    """

    name: str
    session: SessionRule
    events: Mapping[str, tuple[EventRule, ...]]
    ignored: Mapping[str, str]
    errors: tuple[ErrorRule, ...] = ()
    exits: Mapping[int, Status] = {}
    usage_adds: bool = False
    nonzero_fails: bool = False


_BLOCK_BYTES = 1 << 16


class Block:
    """Finds the block of text lines that names the session."""

    def __init__(self, rule: SessionRule) -> None:
        self._rule = rule
        self._done = False
        self._restart()

    def _restart(self) -> None:
        self._matched = 0
        self._value = ""

    def line(self, text: str, raw: bytes) -> Events:
        lines = self._rule.lines
        text = text.rstrip("\r")
        found = lines[self._matched].fullmatch(text)
        if found is None and self._matched:
            self._restart()
            found = lines[0].fullmatch(text)
        if found is None or self._done:
            return NOTHING
        if found.re.groups and found[1] and found[1].encode() in raw:
            self._value = found[1]
        self._matched += 1
        return self._close() if self._matched == len(lines) else NOTHING

    def _close(self) -> Events:
        value = self._value
        self._restart()
        if not self._rule.shape.fullmatch(value):
            return NOTHING
        self._done = self._rule.first
        return (Event("session", value, data={"value": value}),)


def profile(rules: Rules) -> Profile:
    """The profile that these rules describe."""
    session = rules.session
    ignored: dict[str, Handler] = {kind: Ignored("the profile says why") for kind in rules.ignored}
    ignored |= {kind: Ignored("its id is the session, and is read as that") for kind in session.event}
    return Profile(
        name=rules.name,
        field=session.field,
        id_pattern=session.shape,
        kinds={**ignored, **{kind: _handler(told) for kind, told in rules.events.items()}},
        untyped=lambda _: None,
        session=lambda obj, _first: _first_value(obj, session.path) if obj.get("type") in session.event else None,
        model=lambda _: None,
        reader=(lambda _: Block(session)) if session.lines else (lambda _: NoText()),
        errors=rules.errors,
        exits=rules.exits,
        needle=session.begins.encode() if session.lines else f'"{_word(session)}"'.encode(),
        after=_BLOCK_BYTES if session.lines else 0,
        first=session.first,
        usage_adds=rules.usage_adds,
        nonzero_fails=rules.nonzero_fails,
        key=session.path[0] if session.path else "",
        blocks_on=(session.stream,),
    )


def _word(session: SessionRule) -> str:
    """What is in every line that has an id. A type is in fewer lines than a key."""
    return session.event[0] if len(session.event) == 1 else next((key for key in session.path if key != "*"), "type")


def _handler(rules: tuple[EventRule, ...]) -> Handler:
    def handle(obj: Object) -> Events:
        return tuple(event for rule in rules for event in _told(rule, obj))

    return handle


def _told(rule: EventRule, obj: Object) -> Iterator[Event]:
    if not _all_hold(rule.when, obj):
        return
    items = [obj] if rule.each is None else values(obj, (*rule.each, "*"))
    for item in items:
        if isinstance(item, dict) and _all_hold(rule.where, item) and (event := _event(rule, item)):
            yield event


def _event(rule: EventRule, item: Object) -> Event | None:
    """None where the object lacks what the rule is about."""
    said, name = _text(item, rule.text), _text(item, rule.name)
    match rule.gives:
        case "message" | "reasoning":
            return Event(rule.gives, said, data={"delta": True} if rule.delta else {}) if said else None
        case "tool_result":
            failed = bool(rule.failed) and _all_hold(rule.failed, item)
            return Event("tool_result", said, name, {"failed": True} if failed else {})
        case "usage":
            counted = _usage(rule, item)
            return Event("usage", data=counted) if counted else None
        case "error":
            return failure(said, _status(rule, item), fatal=rule.fatal)
        case "end":
            status = _status(rule, item)
            return end(classify(said) if status == "failed" and said else status, said) if status else None
    return Event(rule.gives, said, name)


def _usage(rule: EventRule, item: Object) -> dict[str, Any]:
    found = {ours: _first_value(item, path) for ours, path in rule.numbers.items()}
    data = numbers(found, {ours: ours for ours in found})
    if model := _text(item, rule.model):
        data["model"] = model
    return data


def _status(rule: EventRule, item: Object) -> Status | None:
    if not isinstance(rule.status, DeclaredStatus):
        return rule.status
    value = _first_value(item, rule.status.path)
    return rule.status.values.get(value) if isinstance(value, str) else None


def _all_hold(conditions: tuple[Condition, ...], item: Object) -> bool:
    return all(_holds(condition, item) for condition in conditions)


def _holds(condition: Condition, item: Object) -> bool:
    found = _first_value(item, condition.path)
    return any(type(found) is type(value) and found == value for value in condition.values)


def _text(item: Object, path: Path | None) -> str:
    """All texts at the path, a line each; of an object (a tool's arguments) what a person reads of it."""
    if path is None:
        return ""
    return "\n".join(shown for value in values(item, path) if (shown := _shown(value)))


def _shown(value: object) -> str:
    return gist(value) if isinstance(value, dict) else value if isinstance(value, str) else ""


def _first_value(item: Object, path: Path) -> object:
    return next(values(item, path), None)


def values(value: object, path: Path) -> Iterator[object]:
    """All that is at the path."""
    for place, key in enumerate(path):
        if key == "*":
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            for item in inner:
                yield from values(item, path[place + 1 :])
            return
        if not isinstance(value, dict) or key not in value:
            return
        value = value[key]
    yield value
