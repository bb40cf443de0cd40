"""Which room of the program imports which, held to the one table of what may. Lazy and type-only imports count."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "runner/git_agent_runner"
# From the ground up: a room imports itself, and what is named here. docs/how-it-works.md says what each is for.
_GROUND = ("extractors", "core")
_TOOLS = (*_GROUND, "git", "process", "console", "engines", "store", "context")
_RUNS = (*_TOOLS, "find", "conversation", "attempt")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "core": ("extractors",),
    "git": _GROUND,
    "process": _GROUND,
    "console": _GROUND,
    "engines": (*_GROUND, "git", "process", "console"),
    "store": (*_GROUND, "git"),
    "context": (*_GROUND, "git", "console", "engines", "store"),
    "find": (*_GROUND, "git", "console", "engines", "store", "context"),
    "conversation": (*_TOOLS, "find"),
    "attempt": (*_TOOLS, "find", "conversation"),
    "adopt": _RUNS,
    "windows": _RUNS,
    "unattended": (*_RUNS, "windows"),
    "review": (*_RUNS, "adopt"),
    "maintain": (*_RUNS, "adopt", "review"),
    "view": (*_RUNS, "unattended", "maintain"),
    "commands": (*_RUNS, "adopt", "windows", "unattended", "review", "maintain", "view", "hooks"),
    "cli": ("core", "console", "entry"),
    "entry": ("core", "console", "cli"),
}


def _room(module: str) -> str:
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] or "top" if package == "git_agent_runner" else package.removeprefix("git_agent_")


def _imported(path: Path) -> Iterator[str]:
    """Every module of ours that the file names in an import, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.startswith("git_agent_"))


def _rooms() -> list[str]:
    return sorted({path.relative_to(PROGRAM).parts[0].removesuffix(".py") for path in PROGRAM.rglob("*.py")})


def test_every_room_is_in_the_table() -> None:
    assert _rooms() == sorted([*MAY_IMPORT, "__init__"])


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    files = [PROGRAM / f"{room}.py"] if (PROGRAM / f"{room}.py").exists() else sorted((PROGRAM / room).rglob("*.py"))
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in _imported(path)
        if _room(name) not in (room, *MAY_IMPORT[room])
    ]
    assert files
    assert wrong == []


def test_each_command_is_one_file_that_no_other_imports() -> None:
    files = {path.stem for path in (PROGRAM / "commands").glob("*.py")} - {"__init__"}
    importing = [
        str(path.relative_to(ROOT))
        for root in ("runner", "hooks", "fixtures", "extractors")
        for path in sorted((ROOT / root).rglob("*.py"))
        if any(name.startswith("git_agent_runner.commands") for name in _imported(path))
    ]
    assert importing == []
    cli = ast.parse((PROGRAM / "cli.py").read_text())
    tables = {
        node.targets[0].id if isinstance(node.targets[0], ast.Name) else "": node.value
        for node in cli.body
        if isinstance(node, ast.Assign)
    }
    names = {name: set(ast.literal_eval(tables[name])) for name in ("COMMANDS", "ELSEWHERE")}
    assert files == {name.replace("-", "_") for name in names["COMMANDS"] - names["ELSEWHERE"]}
