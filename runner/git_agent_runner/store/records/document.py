"""One frozen record per YAML file: the canonical form that we write, and its fast reader.

Canonical is one top-level key per line in a fixed order, each value JSON, which is YAML flow style:

    handle: "7f3a9c21"
    session: {"field": "thread_id", "value": "0199c9a8-…"}

Such a file is read with `json` in some microseconds; ruamel.yaml takes a millisecond, and 20 more to import.
Anything else, because a person edited it, goes to `edited.py`. Both give the same values: what ruamel.yaml reads
in the canonical form is what was written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from git_agent_extractors import ordinary
from git_agent_extractors.model import Session
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Earlier, Store

T = TypeVar("T")
LIMIT = 64 << 20  # bytes; no file of ours comes near it
EDITED = 1 << 20  # characters of a file that a person has edited: YAML takes a hundred times its size in memory

# What JSON leaves as it is and YAML folds, refuses or reads as something else; surrogates have no UTF-8.
_TROUBLE = "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
_dumps = json.JSONEncoder(ensure_ascii=False).encode
_decode = json.JSONDecoder().raw_decode
_SAFE = r"[ !#-\[\]-~]"  # in a string, JSON and YAML read these alike
_TEXT = f'"({_SAFE}*)"'
_PLAIN = re.compile(_TEXT)
_UNREAD = r"([^\n]{,256})"
_MANY = 8  # files: to compile a pattern takes as long as to read twenty files without it


class Kind(NamedTuple):
    """The type of one key. `plain` reads an unquoted YAML scalar, and raises ValueError if it cannot.

    `load` and `dump` translate between JSON and the record's own type. `form` is a pattern of the usual text: what its
    one group takes is the value, and None where it takes nothing; or `take` makes the value of it.
    """

    expects: str
    valid: Callable[[Any], bool]
    plain: Callable[[str], Any] = str
    load: Callable[[Any], Any] | None = None
    dump: Callable[[Any], Any] | None = None
    form: str | None = None
    take: Callable[[Any], Any] | None = None


class Field(NamedTuple):
    """One top-level key and the attribute it fills. A key that is not required may be missing: its default stands."""

    key: str
    name: str
    kind: Kind
    required: bool = False

    def json(self, record: Any) -> Any:
        value = getattr(record, self.name)
        return self.kind.dump(value) if self.kind.dump else value


class Shape(Generic[T]):
    """What one kind of file holds."""

    def __init__(self, make: Callable[..., T], fields: tuple[Field, ...]) -> None:
        self.make = make
        self.fields = fields
        self._many = _MANY
        names = [field.name for field in fields]
        self._ordered = itemgetter(*map(names.index, vars(make)["_fields"]))
        self._readers = [
            (number, kind.take or lru_cache(maxsize=128)(partial(_read, kind)))
            for number, kind in enumerate(field.kind for field in fields)
            if kind.take or not kind.form
        ]

    def read_plain(self, text: str) -> T | None:
        """The record in the usual file, all at once; None for any other file, and for the first few of a process."""
        if self._many:
            self._many -= 1
            return None
        found = self._pattern.fullmatch(text)
        if not found:
            return None
        values: list[Any] = [*found.groups()]
        for number, read in self._readers:  # which know what they have read before: most files say the same there
            values[number] = read(values[number])
        return self.make(*self._ordered(values))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        lines = [f"{re.escape(field.key)}: {field.kind.form or _UNREAD}\n" for field in self.fields]
        return re.compile("".join(lines), re.ASCII)


class CorruptRecord(UserError):  # noqa: N818  reads as what it says
    """A file that cannot be read as what it should be. It is named, and left exactly as it is."""

    def __init__(self, path: str, line: int | None, reason: str) -> None:
        where = f"'{path}', line {line}" if line else f"'{path}'"
        super().__init__(
            f"cannot read {where}: {reason}",
            code="corrupt_record",
            hints=("correct the file; or `git agent doctor --repair` rebuilds a record from its run directory",),
        )
        self.path = path
        self.line = line
        self.reason = reason


def parse(shape: Shape[T], text: str, path: str, warn: Callable[[str], None]) -> T:
    """The record in `text`. Raises CorruptRecord, which names `path`, the line, and what was expected there.

    `warn` gets one sentence for each key that is there twice; the last one counts.
    """
    made = _parse_canonical(shape, text)
    if made is not None:
        return made
    if len(text) > EDITED:
        raise CorruptRecord(path, None, "it is not as git-agent writes it, and too large to be read otherwise")
    from git_agent_runner.store.records import edited  # costs 20 ms and more, and hardly any file needs it

    return edited.parse(shape, text, path, warn)


def render(shape: Shape[T], record: T) -> str:
    """The canonical text. A lone surrogate is kept where it stands for a byte of a path that is not UTF-8
    (U+DC80 to U+DCFF, as `os.fsdecode` makes them); any other becomes U+FFFD, since no reader agrees on those.
    """
    lines = [f"{field.key}: {_value(field.json(record), _escape_keeping_bytes)}\n" for field in shape.fields]
    return "".join(lines)


def update_text(shape: Shape[T], old: str, record: T, path: str) -> str:
    """`old` with the values of `record`: what a person wrote (comments, order, unknown keys) stays.

    Raises CorruptRecord when `old` cannot be read: then there is nothing that could safely be kept.
    """
    if _parse_canonical(shape, old) is not None:
        return render(shape, record)
    from git_agent_runner.store.records import edited  # see parse

    return edited.update(shape, old, record, path)


def json_line(obj: Any) -> str:
    """`obj` as JSON that is YAML too, on one line of UTF-8: every reader gets the same value.

    Control characters, line separators and byte order marks are escaped, never raw; a lone surrogate becomes U+FFFD.
    """
    return _value(obj, _escape)


def read_text(path: str) -> str:
    """The file's text. Raises FileNotFoundError, and CorruptRecord for anything but a regular readable UTF-8 file."""
    try:
        data = ordinary.whole(path, LIMIT)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CorruptRecord(path, None, error.strerror or str(error)) from error
    if not data or b"\0" in data:
        raise CorruptRecord(path, None, "it holds NUL bytes" if data else "the file is empty")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptRecord(path, data.count(b"\n", 0, error.start) + 1, "not UTF-8") from error


def ignore(_: str) -> None:
    """For callers that have nobody to warn."""


def _parse_canonical(shape: Shape[T], text: str) -> T | None:
    """The record, or None unless each line of `text` is exactly what `render` makes of it and says nothing more."""
    made = {}
    try:
        if (plain := shape.read_plain(text)) is not None:
            return plain
        *lines, end = text.split("\n")
        if end or len(lines) != len(shape.fields):
            return None
        for field, line in zip(shape.fields, lines, strict=True):
            key, _, value = line.partition(": ")
            if key != field.key:
                return None
            made[field.name] = _read(field.kind, value)
    except (ValueError, RecursionError):
        return None
    return shape.make(**made)


def _read(kind: Kind, text: str) -> Any:
    """What the text says. Raises ValueError unless it is exactly what `render` makes of its value: proof instead of
    reasoning about the escapes, blanks and numbers that JSON and YAML read differently.
    """
    plain = _PLAIN.fullmatch(text)
    value = plain[1] if plain else _decode(text)[0]
    if not (plain or _value(value, _escape_keeping_bytes) == text) or not kind.valid(value):
        raise ValueError(text)
    loaded = kind.load(value) if kind.load else value
    if kind.dump and kind.dump(loaded) != value:
        raise ValueError(text)
    return loaded


def _value(value: Any, escape: Callable[[re.Match[str]], str]) -> str:
    if value is None:
        return "null"
    text = encode_basestring(value) if type(value) is str else _dumps(value)
    return text if text.isascii() and "\x7f" not in text else re.sub(_TROUBLE, escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


def _escape_keeping_bytes(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if 0xDC80 <= code <= 0xDCFF else _escape(match)


def _plain_flag(text: str) -> bool:
    words = {"true": True, "false": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _is_session(value: Any) -> bool:
    return type(value) is dict and all(value.get(key) is None or type(value[key]) is str for key in Session._fields)


def _is_store(value: Any) -> bool:
    if type(value) is not dict or not _is_text(value.get("root")):
        return False
    return value.get("variable") is None or _is_text(value["variable"])


def _is_earlier(value: Any) -> bool:
    return type(value) is list and all(
        type(one) is dict
        and _is_text(one.get("agentName"))
        and _is_session(one.get("session"))
        and _is_launch(one.get("launch"))
        for one in value
    )


def _is_launch(value: Any) -> bool:
    return type(value) is dict and _is_texts(value.get("args"))


def _load_session(value: Any) -> Session:
    return Session(value.get("field"), value.get("value"))


def _take_session(text: str) -> Session:
    field, _, value = text.removeprefix('"field": ').partition(', "value": ')  # no string holds a quote
    return Session(*(None if part == "null" else part[1:-1] for part in (field, value)))


def optional(kind: Kind) -> Kind:
    return kind._replace(
        expects=f"{kind.expects} or null",
        valid=lambda value: value is None or kind.valid(value),
        form=kind.form and f"(?:null|{kind.form})",
    )


def one_of(words: tuple[str, ...]) -> Kind:
    form = f'"({"|".join(map(re.escape, words))})"'
    return Kind(f"one of {', '.join(words)}", lambda value: value in words, form=form)


TEXT = Kind("a string", _is_text, form=_TEXT)
COUNT = Kind("a whole number", lambda value: type(value) is int and value >= 0, plain=int)
INTEGER = Kind("a whole number", lambda value: type(value) is int, plain=int)
SECONDS = Kind("seconds since the epoch", lambda value: type(value) is float and 0 <= value < 1e12, plain=float)
FLAG = Kind("true or false", lambda value: type(value) is bool, plain=_plain_flag)
TEXTS = Kind("a list of strings", _is_texts, load=tuple, dump=list)
SESSION = Kind(
    "`field` and `value`, each a string or null",
    _is_session,
    load=_load_session,
    dump=Session._asdict,
    form=rf'\{{("field": (?:null|"{_SAFE}*"), "value": (?:null|"{_SAFE}*"))\}}',
    take=_take_session,
)
STORE = Kind(
    "`root`, a string, and `variable`, a string or null; or null",
    lambda value: value is None or _is_store(value),
    load=lambda value: value and Store(value["root"], value.get("variable")),
    dump=lambda store: store and store._asdict(),
)
LAUNCH = Kind(
    "`args`, a list of strings",
    _is_launch,
    load=lambda value: tuple(value["args"]),
    dump=lambda args: {"args": list(args)},
)
EARLIER = Kind(
    "a list of `agentName`, `session` and `launch`",
    _is_earlier,
    load=lambda value: tuple(
        Earlier(one["agentName"], _load_session(one["session"]), tuple(one["launch"]["args"])) for one in value
    ),
    dump=lambda earlier: [
        {"agentName": one.agent_name, "session": one.session._asdict(), "launch": {"args": list(one.launch_args)}}
        for one in earlier
    ],
)
