"""Reading a YAML document against a form, so that every complaint names the line, the key and what is expected there.

YAML is read as data only: its syntax tree is walked, no object is constructed, and a word stays the text that is in
the file, so that the version `0.10` is not the number 0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from git_agent_runner.engines.added import patterns

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

Reader = Callable[["Node", str], Any]  # (node, its key path) -> value; raises FormError

_TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("str", "int", "bool", "null", "float", "map", "seq")}
_SHOWN = {"map": "a mapping", "seq": "a list", "null": "nothing"}
_WORDS = ("str", "int", "float")


class FormError(Exception):
    """`line` counts from 1; `text` says which key, what is expected and what is there."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.text = text


def parse(text: str) -> Node:
    """The document's root. Raises FormError for what is no YAML, empty, or nested without end."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FormError(line, f"expected YAML: {error.problem or error.context}") from None
    except (YAMLError, RecursionError) as error:
        raise FormError(1, f"expected YAML: {str(error).splitlines()[0]}") from None
    if root is None:
        raise FormError(1, "expected a profile, not an empty file")
    return root


def wrong(node: Node, where: str, expected: str, found: str | None = None) -> FormError:
    place = f"{where}: " if where else ""
    return FormError(node.start_mark.line + 1, f"{place}expected {expected}{f', not {found}' if found else ''}")


def kind(node: Node) -> str:
    """str, int, bool, null, float, map or seq; a tag of the file's own is none of them."""
    return _TAGS.get(str(node.tag), str(node.tag))


def shown(node: Node) -> str:
    known = kind(node)
    return _SHOWN.get(known) or (f"'{str(node.value)[:60]}'" if isinstance(node.value, str) else known)


def word(expected: str, valid: Callable[[str], object] = bool) -> Reader:
    """A text, not empty, for which `valid` is true; a number is the text that it is written as."""

    def read(node: Node, where: str) -> str:
        text = node.value
        if kind(node) in _WORDS and isinstance(text, str) and text and text.isprintable() and valid(text):
            return text
        raise wrong(node, where, expected, shown(node))

    return read


def one_of(choices: Iterable[str]) -> Reader:
    return word(f"one of {', '.join(choices)}", tuple(choices).__contains__)


def flag(node: Node, where: str) -> bool:
    if kind(node) != "bool":
        raise wrong(node, where, "true or false", shown(node))
    return bool(node.value.lower() == "true")


def scalar(node: Node, where: str) -> str | int | bool | None:
    """A value as JSON has it: text, whole number, true, false or null."""
    match kind(node):
        case "bool":
            return flag(node, where)
        case "null":
            return None
        case "int" if node.value.lstrip("-").isdigit():
            return int(node.value)
        case "str":
            return str(node.value)
    raise wrong(node, where, "a text, a whole number, true, false or null", shown(node))


def pattern(node: Node, where: str) -> str:
    """A regular expression that cannot hang, as text."""
    text: str = word("a pattern")(node, where)
    if problem := patterns.fault(text):
        raise wrong(node, where, f"a pattern that {problem}")
    return text


def listed(item: Reader, expected: str = "a list with at least one entry") -> Reader:
    """A list, not empty, as a tuple."""

    def read(node: Node, where: str) -> tuple[Any, ...]:
        if kind(node) != "seq" or not node.value:
            raise wrong(node, where, expected, shown(node))
        return tuple(item(inner, f"{where}[{place}]") for place, inner in enumerate(node.value))

    return read


def one_or_more(item: Reader) -> Reader:
    """A list, or its only entry, as a tuple."""
    several = listed(item)
    return lambda node, where: several(node, where) if kind(node) == "seq" else (item(node, where),)


def keyed(key: Reader, value: Reader) -> Reader:
    """A mapping with keys of the person's choice."""

    def read(node: Node, where: str) -> dict[Any, Any]:
        return {
            key(left, f"{where} key" if where else "key"): value(right, _join(where, str(left.value)))
            for left, right in _pairs(node, where)
        }

    return read


def table(make: Callable[..., Any], required: Mapping[str, Reader], optional: Mapping[str, Reader]) -> Reader:
    """A mapping with these keys; `make` gets them by name, `-` as `_`, those that are left out not at all."""
    readers = {**required, **optional}

    def read(node: Node, where: str) -> Any:
        values = {}
        for left, right in _pairs(node, where):
            if left.value not in readers:
                raise wrong(left, where, f"one of the keys {', '.join(readers)}", shown(left))
            values[left.value.replace("-", "_")] = readers[left.value](right, _join(where, left.value))
        if missing := [name for name in required if name.replace("-", "_") not in values]:
            raise wrong(node, where, f"the key '{missing[0]}'")
        return make(**values)

    return read


def checked(reader: Reader, problem: Callable[[Any], str | None]) -> Reader:
    """What `reader` reads, unless `problem` has a word about it: what is expected instead."""

    def read(node: Node, where: str) -> Any:
        value = reader(node, where)
        if expected := problem(value):
            raise wrong(node, where, expected)
        return value

    return read


def then(reader: Reader, change: Callable[[Any], Any]) -> Reader:
    return lambda node, where: change(reader(node, where))


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _pairs(node: Node, where: str) -> list[tuple[Node, Node]]:
    """The keys and values of a mapping. Raises FormError for anything else, and for a key that is there twice."""
    if kind(node) != "map":
        raise wrong(node, where, "a mapping", shown(node))
    seen: set[str] = set()
    for left, right in node.value:
        if kind(right) == "null":
            right.start_mark = left.start_mark  # what is not there has no line of its own
        if not isinstance(left.value, str):
            raise wrong(left, where, "a word as key", shown(left))
        if left.value in seen:
            raise wrong(left, where, f"the key '{left.value}' once")
        seen.add(left.value)
    return list(node.value)
