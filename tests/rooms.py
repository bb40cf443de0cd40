"""Print which room of the program imports which, from the ground up: `make rooms`, and with --check `make lint`.

The one table of what a room may import is here; tests/test_rooms.py holds the program to it, too. Lazy and type-only
imports count. A room is a folder or a file right below runner/git_agent_runner, or another package of ours.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "runner/git_agent_runner"
PACKAGES = ("runner", "extractors", "hooks", "fixtures")
MOST_ROOMS, MOST_FLOORS = 22, 12
# From the ground up: a room imports itself, and what is named here. docs/how-it-works.md says what each is for.
_GROUND = ("extractors", "core")
_TOOLS = (*_GROUND, "git", "process", "console", "engines", "store", "context")
_RUNS = (*_TOOLS, "find", "conversation", "attempt")
_ALL = (*_RUNS, "adopt", "windows", "unattended", "review", "maintain", "view")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "extractors": (),
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
    "cli": ("core", "console"),
    "entry": ("core", "cli"),
    "fixtures": (*_TOOLS, "cli", "entry"),
    "hooks": (*_ALL, "cli", "entry", "fixtures"),  # a hook checks recordings, where the harness is installed
    "commands": (*_ALL, "hooks", "fixtures"),  # a push looks for secrets as recordings do
}


def room(module: str) -> str:
    """The room of a module's dotted name; `top` is the program's own `__init__`."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] or "top" if package == "git_agent_runner" else package.removeprefix("git_agent_")


def files(name: str) -> list[Path]:
    """The source files of a room."""
    if name in PACKAGES:
        return sorted((ROOT / name / f"git_agent_{name}").rglob("*.py"))
    alone = PROGRAM / f"{name}.py"
    return [alone] if alone.exists() else sorted((PROGRAM / name).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Every module of ours that the file names in an import, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.startswith("git_agent_"))


def arrows() -> dict[str, dict[str, list[str]]]:
    """Of each room the others that it imports, with the files that do."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in MAY_IMPORT}
    for name, others in found.items():
        for path in files(name):
            for other in sorted({room(module) for module in imported(path)} - {name, "top"}):
                others.setdefault(other, []).append(str(path.relative_to(ROOT)))
    return found


def wrong(found: dict[str, dict[str, list[str]]]) -> list[str]:
    """Arrows that the table does not have, and rooms that it does not name."""
    here = {path.relative_to(PROGRAM).parts[0].removesuffix(".py") for path in PROGRAM.rglob("*.py")} - {"__init__"}
    return [f"the table has no room {name}" for name in sorted(here - set(MAY_IMPORT))] + [
        f"{path} imports {other}"
        for name, others in found.items()
        for other in others
        if other not in MAY_IMPORT[name]
        for path in others[other]
    ]


def floors(found: dict[str, dict[str, list[str]]]) -> dict[str, int]:
    """On which floor each room is: one above the highest that it imports. Raises CycleError where none is."""
    floor: dict[str, int] = {}
    for name in TopologicalSorter(found).static_order():
        floor[name] = 1 + max((floor[other] for other in found[name]), default=0)
    return floor


def main() -> int:
    found = arrows()
    faults = wrong(found)
    try:
        floor = floors(found)
    except CycleError as error:
        print(f"rooms that import each other in a circle: {' > '.join(error.args[1])}")
        return 1
    if "--check" not in sys.argv[1:]:
        for name in sorted(found, key=lambda name: (-floor[name], name)):
            print(f"{floor[name]:2}  {name:13} {' '.join(sorted(found[name], key=lambda other: -floor[other]))}")
        print(f"rooms {len(found)} (at most {MOST_ROOMS}), floors {max(floor.values())} (at most {MOST_FLOORS})")
    if len(found) > MOST_ROOMS or max(floor.values()) > MOST_FLOORS:
        faults.append(f"{len(found)} rooms on {max(floor.values())} floors: at most {MOST_ROOMS} on {MOST_FLOORS}")
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
