"""The form of a person's engine profile, key by key. docs/add-an-engine.md tells it to people."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast, get_args

from git_agent_extractors.declared import Rules
from git_agent_runner.engines.added import form, reading_form
from git_agent_runner.engines.added.declared import PLACES, Command, Declared, DeclaredTerminal, template_fault
from git_agent_runner.engines.added.sessions import SESSION, DeclaredStore, SessionKeys, Table
from git_agent_runner.engines.contract import Sample
from git_agent_runner.engines.spec import Arity, Option, Role

SCHEMA = "1"
_UUID = "8fe03d74-77e1-4cea-9127-7d706ad98311"  # as they are made up for a new session


class Described(NamedTuple):
    """One profile file, read."""

    declared: Declared
    rules: Rules
    example: Sample


def read(text: str, name: str) -> Described:
    """The profile of the engine `name`. Raises form.FormError."""
    described: Described = _profile(name)(form.parse(text), "")
    return described


_text = form.word("a text")
_VERSION = re.compile(r"\d{1,9}(\.\d{1,9}){0,5}")
_FLAG = re.compile(r"--?[A-Za-z0-9][\w-]*")


_version = form.then(
    form.word("a version such as 1.4 or 0.73.1", _VERSION.fullmatch),
    lambda text: tuple(int(part) for part in text.split(".")),
)
_argv = form.listed(form.word("a word"), "a list of words, such as [run, '{flags}', '{prompt}']")


def _command(*, session: tuple[int, ...]) -> form.Reader:
    def fault(command: Command) -> str | None:
        return template_fault(command.argv, prompt=(0,) if command.stdin else (1,), session=session)

    return form.checked(form.table(Command, {"argv": _argv}, {"stdin": form.flag}), fault)


def _terminal(*, session: tuple[int, ...]) -> form.Reader:
    return form.checked(_argv, lambda argv: template_fault(argv, prompt=(0, 1), session=session))


_option = form.table(
    Option,
    {"names": form.one_or_more(form.word("a flag such as --model or -m", _FLAG.fullmatch))},
    {
        "value": form.one_of(get_args(Arity)),
        "role": form.one_of(get_args(Role)),
        "since": _version,
        "until": _version,
        "widens": form.flag,
        "repeats": form.flag,
        "excludes": form.one_or_more(form.word("a flag such as --model or -m", _FLAG.fullmatch)),
        "source": _text,
    },
)


def _options_fault(options: tuple[Option, ...]) -> str | None:
    names = [name for option in options for name in option.names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        return f"'{twice}' in one row only"
    nowhere = next((name for option in options for name in option.excludes if name not in names), None)
    return f"a row for '{nowhere}', which is excluded" if nowhere else None


def _files_fault(text: str) -> str | None:
    inside = not text.startswith("/") and ".." not in text.split("/") and "**" not in text
    return None if inside and text.count(SESSION) <= 1 else f"a glob below the folder, with at most one {SESSION} in it"


def _store_fault(store: DeclaredStore) -> str | None:
    if sum(where is not None for where in (store.first_line, store.document, store.table)) > 1:
        return "one of 'first-line', 'document' and 'table'"
    shared = store.table is not None or bool(store.document and store.document.sessions)
    if shared == (SESSION in store.files):
        return f"no {SESSION} in 'files': one file has all sessions" if shared else f"one {SESSION} in 'files'"
    return None


_place = {"session": reading_form.path}, {"directory": reading_form.path, "created": reading_form.path}
_name = form.word("the name of a table or column", re.compile(r"[A-Za-z_]\w*").fullmatch)
_store = form.checked(
    form.table(
        DeclaredStore,
        {"folder": form.word("a folder below the home, such as .x", lambda text: not text.startswith(("/", "~")))}
        | {"files": form.checked(_text, _files_fault)},
        {
            "variable": form.word("the name of an environment variable", re.compile(r"[A-Za-z_]\w*").fullmatch),
            "first-line": form.table(SessionKeys, *_place),
            "document": form.table(SessionKeys, _place[0], _place[1] | {"sessions": reading_form.path}),
            "table": form.table(Table, {"name": _name, "session": _name}, {"directory": _name, "created": _name}),
        },
    ),
    _store_fault,
)

_READING = ("session", "events", "ignored", "errors", "exits", "usage", "nonzero_fails")


def _profile(name: str) -> form.Reader:
    return form.checked(
        form.table(
            lambda **values: _described(name, values),
            {
                "schema": form.one_of((SCHEMA,)),
                "binary": form.word("the name of a program on PATH", lambda text: "/" not in text),
                "install": _text,
                "source": _text,
                "example": form.table(Sample, {"version": _version, "session": _text}, {}),
                "session": reading_form.session,
                "start": _command(session=(0, 1)),
                "since": _version,
            },
            {
                "resume": _command(session=(1,)),
                "forks": form.flag,
                "continue": _command(session=(0,)),
                "terminal": form.table(
                    DeclaredTerminal, {"start": _terminal(session=(0, 1)), "resume": _terminal(session=(1,))}, {}
                ),
                "elsewhere": form.one_of(PLACES),
                "options": form.checked(form.listed(_option), _options_fault),
                "events": form.keyed(reading_form.event_type, form.one_or_more(reading_form.event)),
                "ignored": form.keyed(reading_form.event_type, form.word("the reason why it is ignored")),
                "errors": form.listed(reading_form.error),
                "exits": form.keyed(reading_form.exit_status, reading_form.statuses),
                "nonzero-fails": form.flag,
                "usage": form.one_of(("steps", "total")),
                "store": _store,
            },
        ),
        _whole_fault,
    )


def _described(name: str, values: dict[str, Any]) -> Described:
    reading = {key: values.pop(key) for key in _READING if key in values}
    source, example = values.pop("source"), values.pop("example")
    del values["schema"]
    options = (option._replace(source=option.source or source) for option in values.pop("options", ()))
    rules = Rules(name, usage_adds=reading.pop("usage", "total") == "steps", **{"events": {}, "ignored": {}} | reading)
    values = {"continue_" if key == "continue" else key: value for key, value in values.items()}
    return Described(Declared(options=tuple(options), **values), rules, cast(Sample, example))


def _whole_fault(found: Described) -> str | None:
    declared, rules, example = found
    if not rules.session.shape.fullmatch(example.session):
        return f"an example.session of the shape that session.shape describes, not '{example.session}'"
    if example.version < declared.since:
        return "an example.version that can resume: 'since' is the first that does"
    if declared.resume is None and declared.terminal is None:
        return "the key 'resume', or 'terminal' where a session is resumed in a terminal only"
    both = sorted(set(rules.events) & set(rules.ignored))
    if both:
        return f"'{both[0]}' among events or ignored, not both"
    minted = [argv for argv in _starts(declared) if any(word.endswith(SESSION) for word in argv)]
    if minted and (len(minted) < len(_starts(declared)) or not rules.session.shape.fullmatch(_UUID)):
        return f"a {SESSION} in every start or in none, and a shape that a UUID has: the id is made up here"
    return None


def _starts(declared: Declared) -> list[tuple[str, ...]]:
    return [declared.start.argv, *([declared.terminal.start] if declared.terminal else [])]
