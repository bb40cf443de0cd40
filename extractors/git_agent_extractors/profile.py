"""What an extractor profile is: all that is known about reading one engine's output."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import orjson

from git_agent_extractors.model import SOURCES, Event, EventKind, Source, Status

Object = dict[str, Any]
Events = Sequence[Event]
Handler = Callable[[Object], Events]
# The events of a block, given as lines too, while this is the known id; None when one of them needs more than a look.
Quick = Callable[[bytes, Sequence[bytes], str | None], list[Event] | None]

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
NOTHING: Events = ()
# The data of many events: none of them changes it.
NO_DATA: dict[str, Any] = {}
DELTA: dict[str, Any] = {"delta": True}
FAILED: dict[str, Any] = {"failed": True}
# An event of all its fields, for the frequent ones: `Event` takes twice as long.
made: Callable[[tuple[EventKind, str, str, dict[str, Any]]], Event] = partial(tuple.__new__, Event)


class Mode:
    """What the sources of one attempt tell each other: once `text`, JSON-looking lines are text on all of them."""

    def __init__(self) -> None:
        self.text = False


class Ignored:
    """The handler of events that are no part of a run's story, and the reason why they are none."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __call__(self, _obj: Object) -> Events:
        return NOTHING


class ErrorRule(NamedTuple):
    """A line of plain text by which an engine reports a failure; `pattern` is matched at the line's start.

    `status` None is given by `classify`. Without `fatal` the engine continues (a retry). `sure` holds even when the
    engine exits 0 and the line stands among the model's own words.
    """

    pattern: re.Pattern[str]
    status: Status | None = None
    fatal: bool = True
    sure: bool = False


class Hint(NamedTuple):
    """What an engine's terminal form prints when it is left: `word` is in the line that begins the command, `block`
    is searched in the last lines, joined by LF; its last group is the id. `untrue` is found near the beginning of what
    versions drew whose hint names no conversation.
    """

    word: bytes
    block: re.Pattern[bytes]
    untrue: re.Pattern[bytes] | None = None


class TextReader(Protocol):
    """Reads an engine's blocks of plain text, line by line."""

    def line(self, text: str, raw: bytes) -> Events:
        """Events that this line completes. `raw` is the line as it came: an id must be in it unbroken."""


class NoText:
    """For engines whose plain text carries no session."""

    def line(self, text: str, raw: bytes) -> Events:  # noqa: ARG002  the shape of TextReader
        return NOTHING


class Profile(NamedTuple):
    """One engine. Every function is total: a JSON object may hold anything under any key.

    Events of kind `error` may carry `{"fatal": False}` (the engine continues) and `{"unsure": True}` (printed as
    text where the model's own words stand too); `message` events `{"delta": True}` are pieces of one message.
    """

    name: str
    field: str
    id_pattern: re.Pattern[str]
    # JSON objects by their "type", and those without one: None when the object is not this engine's.
    kinds: Mapping[str, Handler]
    untyped: Callable[[Object], Events | None]
    # The id that an object claims, valid or not; the bool: it is the first JSON object of its source.
    session: Callable[[Object, bool], object]
    model: Callable[[Object], str | None]
    reader: Callable[[Mode], TextReader]
    errors: tuple[ErrorRule, ...]
    exits: Mapping[int, Status]
    # What is in every line that has an id, and how many bytes after that line belong to it.
    needle: bytes
    after: int = 0
    # What the terminal form leaves; the line that begins a text-mode banner.
    hint: Hint | None = None
    banner: bytes = b""
    # The first id of a source is the root's (later ones may be a child's); else the last one counts.
    first: bool = False
    # Indented JSON documents are read too, not only lines.
    pretty: bool = False
    # Usage events are per step, to be added up; else the last one counts.
    usage_adds: bool = False
    # What is reported in total where the rest adds up.
    usage_totals: frozenset[str] = frozenset()
    # An object that, as the first of its source, is the whole output: text after it makes it a quotation.
    closing: Callable[[Object], bool] = lambda _: False
    # The answer in the lines of a text-mode output.
    answer: Callable[[Sequence[str]], str] = lambda lines: "\n".join(lines).strip()
    # The key of an object under which its id stands, where that is not `field`.
    key: str = ""
    # Where the reader's blocks of text are the engine's own.
    blocks_on: tuple[Source, ...] = SOURCES
    # Says of many lines at once what `kinds` says of each; asked for when there is much to read.
    quick: Callable[[], Quick] | None = None
    # Every failure is given by an event: a status above 0 without one is a signal that the engine caught.
    tells_failures: bool = False
    # No event tells a failure of the whole: a status above 0 does, whatever the end says.
    nonzero_fails: bool = False


def knows(profile: Profile, obj: Object) -> bool:
    """Is this object one that the engine is known to print?"""
    kind = obj.get("type")
    return profile.untyped(obj) is not None if kind is None else isinstance(kind, str) and kind in profile.kinds


def table(value: object, key: str) -> Object:
    """`value[key]` if that is an object, else an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def text(value: Object, key: str) -> str:
    """`value[key]` if that is a string, else the empty one."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def gist(value: object) -> str:
    """What a person reads of a tool's input: its command, file, pattern, …: the first text in it, else all of it."""
    if isinstance(value, dict):
        for word in value.values():
            if isinstance(word, str) and word:
                return word
    return value if isinstance(value, str) else _json(value) if value else ""


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # deeper or larger than it writes
        return ""


def spoken(content: object) -> str:
    """A tool's result, which is a text or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(text(block, "text") for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


def numbers(value: Object, names: Mapping[str, str]) -> dict[str, Any]:
    """The finite numbers of `value` under our names for the engine's: {"input_tokens": "input"}."""
    return {ours: found for ours, theirs in names.items() if _is_number(found := value.get(theirs))}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18


def failure(message: str, status: Status | None = None, *, fatal: bool = True) -> Event:
    """An error event; its status is given by its text unless known."""
    data: dict[str, Any] = {"status": status or classify(message)}
    if not fatal:
        data["fatal"] = False
    return Event("error", message, data=data)


def printed_error(rules: Sequence[ErrorRule], line: str, *, believed: bool) -> Event | None:
    """The error that a line of text reports, or the part of it that a rule's group names.

    Not `believed`, where the model's own words stand too, it is unsure.
    """
    found = next(((rule, match) for rule in rules if (match := rule.pattern.match(line))), None)
    if found is None:
        return None
    rule, match = found
    event = failure(match[match.lastindex] if match.lastindex else line.strip(), rule.status, fatal=rule.fatal)
    if not (believed or rule.sure):
        event.data["unsure"] = True
    return event


def refused(tool: str = "", words: str = "") -> Event:
    """A tool that the agent was not allowed to use; what is left empty is given by its call."""
    return Event("refused", words, tool)


def answer(value: object) -> Events:
    """The answer of a run that was asked for JSON (`--json-schema`): the value as JSON text."""
    return (Event("message", _json(value)),)


def end(status: Status, message: str = "", name: str = "") -> Event:
    return Event("end", message, name, {"status": status})


_HTTP = re.compile(r"(?i)(?:status|code|error|http|rejected)[\"']?[:= (]+(\d{3})\b")
_WORDS: tuple[tuple[re.Pattern[str], Status], ...] = (
    (
        re.compile(
            r"(?i)invalid (?:external )?api key|incorrect api key|not logged in|please run /login"
            r"|invalid authentication|unauthorized|authentication_failed"
            r"|missing environment variable|specify the GEMINI_API_KEY|set an auth method"
        ),
        "auth_failed",
    ),
    (
        re.compile(r"(?i)rate.?limit|too many requests|usage limit|exhausted your|quota|resource_exhausted"),
        "rate_limited",
    ),
    (re.compile(r"(?i)overloaded|experiencing high demand|service unavailable|internal server error"), "overloaded"),
    (
        re.compile(
            r"(?i)ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|unable to connect"
            r"|failed to connect|stream disconnected|error sending request|connection error|fetch failed"
            r"|socket hang up|socket connection was closed|(?:API |Type)Error: terminated|network error"
        ),
        "network",
    ),
)


def by_code(code: object) -> Status | None:
    """The status an HTTP code stands for; None for one that says nothing about what to do."""
    if not isinstance(code, int):
        return None
    if code in {401, 403}:
        return "auth_failed"
    if code == 429:
        return "rate_limited"
    return "overloaded" if 500 <= code < 600 else None


def classify(message: str) -> Status:
    """The status that an error's text tells: by its HTTP code, else by its words, else `failed`."""
    message = message[:4096]
    for found in _HTTP.finditer(message):
        if status := by_code(int(found[1])):
            return status
    for pattern, known in _WORDS:
        if pattern.search(message):
            return known
    return "failed"
