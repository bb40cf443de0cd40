"""Which room of the program imports which, held to the one table of what may, which tests/rooms.py has."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from rooms import MAY_IMPORT, MOST_FLOORS, MOST_ROOMS, PACKAGES, PROGRAM, ROOT, arrows, floors, imported, wrong


def test_a_room_imports_only_what_it_may() -> None:
    found = arrows()
    assert all(found[name] for name in found if name != "extractors")
    assert wrong(found) == []


def test_an_arrow_outside_the_table_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAY_IMPORT, "context", ())
    assert "runner/git_agent_runner/context.py imports store" in wrong(arrows())


def test_no_rooms_import_each_other_in_a_circle_and_they_are_few() -> None:
    floor = floors(arrows())
    assert (len(floor) <= MOST_ROOMS, max(floor.values()) <= MOST_FLOORS) == (True, True)


def test_no_two_classes_have_one_name() -> None:
    """A private one may have that of another engine's: each file describes its own engine's lines."""
    names = Counter(
        node.name
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []


def test_each_command_is_one_file_that_no_other_imports() -> None:
    commands = {path.stem for path in (PROGRAM / "commands").glob("*.py")} - {"__init__"}
    importing = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if any(name.startswith("git_agent_runner.commands") for name in imported(path))
    ]
    assert importing == []
    cli = ast.parse((PROGRAM / "cli.py").read_text())
    tables = {
        node.targets[0].id if isinstance(node.targets[0], ast.Name) else "": node.value
        for node in cli.body
        if isinstance(node, ast.Assign)
    }
    names = {name: set(ast.literal_eval(tables[name])) for name in ("COMMANDS", "ELSEWHERE")}
    assert commands == {name.replace("-", "_") for name in names["COMMANDS"] - names["ELSEWHERE"]}
