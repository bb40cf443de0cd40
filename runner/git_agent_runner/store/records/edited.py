"""Records that a person edited: read and changed with ruamel.yaml, so that what they wrote stays as they wrote it.

Every plain scalar is loaded as the text in the file. `handle: 00123456` is a handle, not the number 123456, and
`1e234567` is not infinity; saved, it is what was typed.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, PlainScalarString

from git_agent_runner.store.records.document import TEXT, CorruptRecord, Kind, Shape, ignore

T = TypeVar("T")
# What else ruamel.yaml was seen to raise for broken text, besides its own errors: escapes beyond Unicode, bottomless
# nesting, tags on values that do not fit them.
_REFUSALS = (YAMLError, ValueError, OverflowError, RecursionError, LookupError, AttributeError, TypeError)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class _AsTyped(VersionedResolver):
    """No plain scalar means anything but its text, neither when it is read nor when it is written back."""

    @property
    def versioned_resolver(self) -> dict[str, Any]:
        return {}


class _LastWins(RoundTripConstructor):
    """Of a key that is there twice the last one counts: ruamel.yaml itself would refuse, or take the first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.twice: list[str] = []

    # ruamel.yaml's own round-trip constructor differs from its base in the same way.
    def construct_mapping(self, node: Any, maptyp: Any, deep: bool = False) -> Any:  # type: ignore[override]  # see above
        last = {key.value: key for key, _ in node.value if isinstance(key, ScalarNode)}
        first = [key for key, _ in node.value if isinstance(key, ScalarNode) and last[key.value] is not key]
        for key in first:
            lines = f"{key.start_mark.line + 1} and {last[key.value].start_mark.line + 1}"
            self.twice.append(f"`{key.value}` is in lines {lines}")
        node.value = [pair for pair in node.value if pair[0] not in first]
        return super().construct_mapping(node, maptyp, deep=deep)


def parse(shape: Shape[T], text: str, path: str, warn: Callable[[str], None]) -> T:
    """See `document.parse`."""
    yaml = _yaml()
    made = _make(shape, _load(yaml, text, path), path)
    for words in yaml.constructor.twice:
        warn(f"'{path}': {words}; the last one counts")
    return made


def update(shape: Shape[T], text: str, record: T, path: str) -> str:
    """See `document.update_text`. Only values that differ are touched, and new ones are always quoted."""
    yaml = _yaml()
    root = _load(yaml, text, path)
    old = _make(shape, root, path)
    for field in shape.fields:
        after = field.json(record)
        if field.json(old) != after:
            _set(root, field.key, after)
    out = io.StringIO()
    yaml.dump(root, out)
    if parse(shape, out.getvalue(), path, ignore) != record:
        raise CorruptRecord(path, None, "this YAML cannot be edited in place; write its keys as `key: value`")
    return out.getvalue()


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.Resolver = _AsTyped
    yaml.Constructor = _LastWins
    yaml.preserve_quotes = True
    yaml.width = sys.maxsize  # never fold a line
    return yaml


def _load(yaml: YAML, text: str, path: str) -> CommentedMap:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # is no error, and must not reach the terminal
            root = yaml.load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise CorruptRecord(path, line, error.problem or "not YAML") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise CorruptRecord(path, line, f"{error.reason} (U+{ord(text[error.position]):04X})") from error
    except _REFUSALS as error:
        raise CorruptRecord(path, None, f"not YAML: {error}") from error
    if not isinstance(root, CommentedMap):
        raise CorruptRecord(path, 1, "expected lines of the form `key: value`")
    yaml.explicit_start = text.startswith("---")
    return root


def _make(shape: Shape[T], root: CommentedMap, path: str) -> T:
    values = {}
    for field in shape.fields:
        if field.key in root:
            value = _plain(root[field.key], field.kind)
            if not field.kind.valid(value):
                line = root.lc.key(field.key)[0] + 1
                raise CorruptRecord(path, line, f"invalid `{field.key}`; expected {field.kind.expects}")
            values[field.name] = field.kind.load(value) if field.kind.load else value
        elif field.required:
            raise CorruptRecord(path, None, f"`{field.key}` is missing")
    return shape.make(**values)


def _plain(value: Any, kind: Kind, depth: int = 4) -> Any:
    """What JSON would have given. No deeper than our records are: aliases can make a small file endless."""
    if isinstance(value, (CommentedMap, CommentedSeq)) and depth:
        if isinstance(value, CommentedSeq):
            return [_plain(item, TEXT, depth - 1) for item in value]
        return {key: _plain(item, TEXT, depth - 1) for key, item in value.items() if isinstance(key, str)}
    if type(value) in {str, PlainScalarString}:
        if value in _NULLS:
            return None
        with suppress(ValueError):
            return kind.plain(value)
    return str(value) if isinstance(value, str) else value


def _set(mapping: CommentedMap, key: str, value: Any) -> None:
    """Put a JSON value in its place; inside a mapping or a list only what differs, for the comments there."""
    current = mapping.get(key)
    if isinstance(current, CommentedMap) and isinstance(value, dict):
        for name, item in value.items():
            if _plain(current.get(name), TEXT) != item:
                _set(current, name, item)
    elif isinstance(current, CommentedSeq) and isinstance(value, list) and current and value:
        _set_items(current, value)
    else:
        after = current.ca.items.get(len(current) - 1) if isinstance(current, CommentedSeq) else None
        mapping[key] = _node(value)
        if after:
            mapping.ca.items[key] = [None, None, after[0], None]


def _set_items(items: CommentedSeq, values: list[Any]) -> None:
    """A list's last item carries the comments that follow the list: they move to the new last item."""
    after = items.ca.items.pop(len(items) - 1, None)
    del items[len(values) :]
    for place, value in enumerate(values[: len(items)]):
        if _plain(items[place], TEXT) != value:
            items[place] = _node(value)
    items.extend(_node(value) for value in values[len(items) :])
    own = items.ca.items.get(len(values) - 1)
    if after and own:
        own[0].value += after[0].value.lstrip("\n")
    elif after:
        items.ca.items[len(values) - 1] = after


def _node(value: Any) -> Any:
    if isinstance(value, str):
        return DoubleQuotedScalarString(value)
    if not isinstance(value, (dict, list)):
        return PlainScalarString(json.dumps(value))
    made: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        made = CommentedMap((key, _node(item)) for key, item in value.items())
    else:
        made = CommentedSeq(map(_node, value))
    made.fa.set_flow_style()
    return made
