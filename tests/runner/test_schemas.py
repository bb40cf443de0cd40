"""The schemas of what `--json` prints: one for each command, strict, shipped, and what docs/json.md says.

That they hold the output is checked wherever a test asks for JSON: `support.schemas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import jsonschema
import pytest

from git_agent_runner import engines
from git_agent_runner.cli import git_agent
from support import docs, schemas

PAGE = (docs.ROOT / "docs/json.md").read_text()
NAMES = sorted(path.stem for path in schemas.FOLDER.glob("*.json"))
# The headings of docs/json.md that have a table of another name than the schema's.
HEADINGS = {
    "start": "start and resume",
    "show": "status and show",
    "dry-run": "resume --dry-run",
    "resume-all": "resume --all",
    "start-branches": "start --branch",
    "engines-check": "engines --check",
    "push": "push and fetch",
    "push-dry-run": "push -n",
}
DESCRIBED = {name: HEADINGS.get(name, name.replace("-", " ")) for name in NAMES if name not in ("common", "terminal")}
FREE = {"usage", "events", "unknownEvents", "env", "files"}  # what these hold has names of the engine's, or of files


def parts(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that a schema describes, as `runs.handle`, with what it says of it; the object itself is ``."""
    if "$ref" in schema:
        schema = schemas.read("common")["$defs"][schema["$ref"].rpartition("/")[2]]
    yield path, schema
    for inner in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from parts(inner, path)
    if "items" in schema:
        yield from parts(schema["items"], path)
    for name, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{path}.{name}" if path else name)


def keys(name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for path, schema in parts(schemas.read(name)):
        found.setdefault(path, []).append(schema)
    del found[""]
    return found


def table(heading: str) -> dict[str, str]:
    return {row[0].strip("`"): row[1] for row in docs.rows(docs.section(PAGE, heading))}


def commands(group: click.Group = git_agent, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of every command that takes --json."""
    with click.Context(group) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            if isinstance(command, click.Group):
                yield from commands(command, *words, name)
            elif command and any("--json" in option.opts for option in command.params):
                yield (*words, name)


def test_every_command_has_a_schema() -> None:  # faults F6
    forms = (
        ("resume", "--all"),
        ("resume", "--terminal"),
        ("resume", "-n"),
        ("push", "-n"),
        ("start", "--branch", "x"),
    )
    more = (("engines", "test", "x"), ("engines", "--check", "x"))
    named = {schemas.name_of(words) for words in (*commands(), *forms, *more)}
    assert named | {"common", "error"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas.read(name))


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_schema_leaves_nothing_open(name: str) -> None:
    """Every key is required, and says what it may hold."""
    for path, schema in parts(schemas.read(name)):
        assert schema.keys() & {"type", "const", "enum", "oneOf", "anyOf"}, path
        assert list(schema.get("properties", ())) == schema.get("required", []), path
        assert schema.get("type") != "array" or "items" in schema, path


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_page_has_the_keys_of_the_schema(name: str) -> None:  # faults F6
    described = set(table(DESCRIBED[name]))
    if name == "resume-all":  # as the words below the table say
        described |= {f"resumed.{key}" for key in set(table("resume --dry-run")) - {"schema"}} | {"resumed.would"}
    if name == "extract":
        described |= set(table("error")) - {"schema"}
    assert {key for key in keys(name) if key.rpartition(".")[0] not in FREE} == described


def test_a_window_prints_what_a_dry_run_does_and_more() -> None:
    assert set(keys("terminal")) == set(table("resume --dry-run")) | set(table("resume --terminal"))


def meanings() -> Iterator[tuple[str, str, str]]:
    """Each row of the page: schema, key, meaning; `as above` is that of the last key with this name."""
    for name in sorted(DESCRIBED, key=lambda name: PAGE.index(f"\n## {DESCRIBED[name]}\n")):
        for key, meaning in table(DESCRIBED[name]).items():
            yield name, key, meaning


def above() -> dict[tuple[str, str], str]:
    known: dict[str, str] = {}
    found: dict[tuple[str, str], str] = {}
    for name, key, meaning in meanings():
        leaf = key.rpartition(".")[2]
        text = meaning.replace("as above", known[leaf]) if meaning.startswith("as above") else meaning
        if not meaning.startswith("list of"):
            known[leaf] = text
        found[name, key] = text
    return found


MEANINGS = above()


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_page_says_what_may_be_null_and_which_words_there_are(name: str) -> None:  # faults F6
    described = keys(name)
    for key in table(DESCRIBED[name]):
        meaning, found = MEANINGS[name, key], described[key]
        held = [schema["additionalProperties"] for schema in found if "additionalProperties" in schema]
        assert ("null" in meaning) == any(_nullable(schema) for schema in (*found, *held)), key
        if "[status](#status)" in meaning:
            meaning += docs.section(PAGE, "Status")
        words = {word for schema in found for word in schema.get("enum", ()) if word}
        assert words <= set(docs.inline_code(meaning)), key


def test_the_page_has_every_engines_name_for_its_session() -> None:  # faults F6
    words = set(docs.inline_code(table("start and resume")["session.field"]))
    assert words == {engines.load(name).field for name in engines.MODULES}


def test_the_page_names_every_schema_that_is_not_a_commands() -> None:
    words = {word.removesuffix(".json") for word in docs.inline_code(docs.section(PAGE, "What `--json` prints"))}
    assert {name for name in NAMES if tuple(name.split("-")) not in commands()} <= words


def _nullable(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type", [])
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or None in schema.get("enum", ())


@pytest.mark.parametrize(
    ("words", "line"),
    [
        pytest.param(("push",), '{"schema":1,"remote":"x","fetched":0}', id="key-left-out"),
        pytest.param(("push",), '{"schema":1,"remote":"x","fetched":0,"pushed":0,"y":0}', id="key-more"),
        pytest.param(("push",), '{"schema":1,"remote":null,"fetched":0,"pushed":0}', id="null"),
        pytest.param(("push",), '{"schema":2,"remote":"x","fetched":0,"pushed":0}', id="other-schema"),
        pytest.param(("list",), '{"schema":1,"error":{"code":"X Y","message":"m","hints":[]}}', id="code"),
    ],
)
def test_what_is_not_as_the_schema_says_is_noticed(words: tuple[str, ...], line: str) -> None:
    with pytest.raises(AssertionError):
        schemas.check(words, line)
