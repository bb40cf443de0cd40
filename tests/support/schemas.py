"""What `--json` prints, held to the schemas that are shipped; here, a key that a schema does not know is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, TextIO, cast

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import git_agent_runner

FOLDER = Path(git_agent_runner.__file__).parent / "schemas"
SHARED = "common"
# The words of a command line that print something of their own; the first that are all there count.
_BY_WORDS = (
    ({"resume", "--all"}, "resume-all"),
    ({"resume", "--terminal"}, "terminal"),
    ({"resume", "--dry-run"}, "dry-run"),
    ({"resume", "-n"}, "dry-run"),
    ({"fork", "-n"}, "dry-run"),
    ({"fork", "--message"}, "start"),
    ({"start", "--branch"}, "start-branches"),
    ({"start", "--branches-from"}, "start-branches"),
    ({"engines", "test"}, "engines-test"),
    ({"engines", "--check"}, "engines-check"),
    ({"push", "-n"}, "push-dry-run"),
    ({"review", "--fix"}, "start"),
)
_NAMED = {"resume": "start", "status": "show", "fetch": "push"}
_GROUPS = ("hooks", "fixtures")


def read(name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads((FOLDER / f"{name}.json").read_text()))


def name_of(words: Sequence[str]) -> str:
    """The schema of what these words after `git agent` print."""
    given = {word.partition("=")[0] for word in words}
    for some, name in _BY_WORDS:
        if some <= given and words[0] in some:
            return name
    return "-".join(words[:2]) if words[0] in _GROUPS else _NAMED.get(words[0], words[0])


def asked(words: Sequence[str]) -> bool:
    """Do these words ask for JSON?"""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def check(words: Sequence[str], out: str) -> None:
    """Every line of `out` is an object that the schema of these words describes, or the error of a command."""
    for line in out.splitlines():
        found = json.loads(line)
        name = "error" if "error" in found and "file" not in found else name_of(words)
        wrong = [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(found)]
        assert not wrong, (name, wrong, found)


@contextmanager
def checked(words: Sequence[str]) -> Iterator[None]:
    """What is printed meanwhile goes where it went, and is checked where these words ask for JSON."""
    import sys

    if not asked(words):
        yield
        return
    seen = _Seen(sys.stdout)
    with redirect_stdout(cast("TextIO", seen)):
        yield
    check(words, "".join(seen.text))


class _Seen:
    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.text: list[str] = []

    def write(self, text: str) -> int:
        self.text.append(text)
        return self.out.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.out, name)


@cache
def validator(name: str) -> Draft202012Validator:
    names = [path.stem for path in FOLDER.glob("*.json")]
    resources = [(f"{one}.json", Resource.from_contents(_strict(read(one)))) for one in names]
    return Draft202012Validator({"$ref": f"{name}.json"}, registry=Registry().with_resources(resources))


def _strict(schema: Any) -> Any:
    """The same, without room for other keys."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if "required" in schema else {}
    return {**{key: _strict(value) for key, value in schema.items()}, **closed}
