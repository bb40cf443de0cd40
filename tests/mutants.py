"""Small mutations, one at a time, against the closest tests: those that live show what no test holds.

`make mutants SEED=1 COUNT=40` draws them. Each is made in a copy of the tree; the checkout stays as it is.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from git_agent_extractors.model import EventKind, Status
from git_agent_runner.engines import MODULES
from git_agent_runner.engines.spec import Arity, Role

ROOT = Path(__file__).parents[1]
LARGE = 1000  # from here on a number is a limit of bytes or seconds, whose value no test asks for
LIMIT = 900  # seconds
LEFT_OUT = (".git", ".venv", ".cache", ".*_cache", ".hypothesis", "__pycache__")
PATHS = ("extractors", "runner", "hooks", "fixtures", "tests")

Words = tuple[str, ...]


class Room(NamedTuple):
    """Files that are mutated, below `folder`, and pytest's words for the closest tests, the quickest first.

    "{engine}" stands for the engine that the file or its folder is named after; a file of all engines has "".
    """

    folder: str
    names: Words
    tests: tuple[Words, ...]


_RUNNER = "runner/git_agent_runner"
_T = "tests/runner/test_"
ROOMS = {
    "extractors": Room(
        "extractors/git_agent_extractors", ("*.py",), (("tests/extractors",), ("tests/recordings", "-k", "{engine}"))
    ),
    "options": Room(
        f"{_RUNNER}/engines",
        ("*/flags.py",),
        (
            (f"{_T}option_tables.py",),
            (f"{_T}engine_{{engine}}.py", f"{_T}engine_contract.py", f"{_T}engine_arguments.py"),
            ("tests/recordings/test_flags.py",),
        ),
    ),
    "resolve": Room(
        f"{_RUNNER}/find",
        ("resolve.py", "search.py", "candidates.py", "identity.py"),
        ((f"{_T}resolve.py", f"{_T}resolve_elsewhere.py"), (f"{_T}identity.py", f"{_T}branch_sequences.py")),
    ),
    "settle": Room(
        f"{_RUNNER}/attempt",
        ("settle.py",),
        (
            tuple(f"{_T}{name}.py" for name in ("cli_outcomes", "verdict")),
            tuple(f"{_T}{name}.py" for name in ("cli_leaving", "detached", "cli_cost")),
            tuple(f"{_T}{name}.py" for name in ("cli_adopt", "cli_lost", "cli_killed", "cli_turns")),
        ),
    ),
    "store": Room(
        f"{_RUNNER}/store",
        ("**/*.py",),
        (
            tuple(f"{_T}{name}.py" for name in ("store_records", "store_attempts", "store_index", "store_layout")),
            tuple(f"{_T}{name}.py" for name in ("notes", "noteline", "pointer", "store_atomic", "store_cache")),
            tuple(f"{_T}{name}.py" for name in ("store_holding", "store_locks", "hostile_state", "hostile_files")),
            tuple(
                f"{_T}{name}.py" for name in ("cli_push", "hostile_notes", "cli_moved", "cli_lost", "second_writers")
            ),
        ),
    ),
}


class Mutant(NamedTuple):
    """`before` in `file` (below the root), from byte `start` on, becomes `after`."""

    room: str
    file: str
    line: int
    start: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.before.split())} -> {self.after or 'nothing'}"

    def of(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.start + len(self.before.encode()) :]


_PAIRS = "Eq NotEq", "Lt LtE", "Gt GtE", "In NotIn", "Is IsNot", "And Or"
_SWAPS = {
    getattr(ast, one): getattr(ast, other) for pair in map(str.split, _PAIRS) for one, other in (pair, pair[::-1])
}
_NEXT = {
    word: others[(at + 1) % len(others)]
    for others in map(get_args, (EventKind, Status, Arity, Role))
    for at, word in enumerate(others)
}


def changed(node: ast.AST) -> Iterator[ast.AST | str]:
    """What this expression could be instead: another operator, boundary, boolean, kind or role, or a word less."""
    match node:
        case ast.Compare(left, [operator, *rest], others) if type(operator) in _SWAPS:
            yield ast.Compare(left, [_SWAPS[type(operator)](), *rest], others)
        case ast.BoolOp(operator, values):
            yield f"({ast.unparse(ast.BoolOp(_SWAPS[type(operator)](), values))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)) if value < LARGE:
            yield ast.Constant(value + 1)
        case ast.Constant(str(value)) if value in _NEXT:
            yield ast.Constant(_NEXT[value])
        case ast.keyword(str(name)) if name != "source":  # a source is for people
            yield ""


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every expression that is worked out: no annotations, no parts of f-strings, which have no place of their own."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from nodes(child)


def mutants(room: str, root: Path, path: Path) -> Iterator[Mutant]:
    """All of one file."""
    source = path.read_bytes()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for node in nodes(ast.parse(source)):
        targets = [(node, new) for new in changed(node)]
        if isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
            targets = [(node.value, "None")]
        for old, new in targets:
            assert isinstance(old, (ast.expr, ast.keyword))
            start = lines[old.lineno - 1] + old.col_offset
            end = lines[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
            end += source.startswith(b",", end) and isinstance(old, ast.keyword)
            after = new if isinstance(new, str) else ast.unparse(new)
            yield Mutant(room, path.relative_to(root).as_posix(), old.lineno, start, source[start:end].decode(), after)


def draw(root: Path, rooms: Sequence[str], seed: int, count: int) -> list[Mutant]:
    """As many of each room, the same for the same seed and tree."""
    chance = random.Random(seed)
    found: list[Mutant] = []
    for at, name in enumerate(rooms):
        folder = root / ROOMS[name].folder
        paths = sorted({path for pattern in ROOMS[name].names for path in folder.glob(pattern)})
        known = [mutant for path in paths for mutant in mutants(name, root, path)]
        share = count // len(rooms) + (at < count % len(rooms))
        found += chance.sample(known, min(share, len(known)))
    return found


def closest(mutant: Mutant) -> list[Words]:
    """pytest's words, one run after another."""
    path = Path(mutant.file)
    engine = next((name for name in (path.parent.name, path.stem.partition("_")[0]) if name in MODULES), "")
    return [tuple(word.format(engine=engine) for word in words) for words in ROOMS[mutant.room].tests]


class Copy(NamedTuple):
    """A copy of the tree, and pytest there; `more` are words of the person's own."""

    root: Path
    more: Words = ()

    def fails(self, words: Words) -> bool:
        """A mutant that cannot be imported, or that hangs, is noticed, too."""
        command = (sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *self.more, *words)
        env = os.environ | {"PYTHONPATH": os.pathsep.join(str(self.root / path) for path in PATHS)}
        running = subprocess.Popen(
            command,
            cwd=self.root,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return running.wait(LIMIT) != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()

    def killer(self, mutant: Mutant, runs: Sequence[Words]) -> Words | None:
        """The first of these runs that notices the mutant."""
        path = self.root / mutant.file
        source = path.read_bytes()
        path.write_bytes(mutant.of(source))
        try:
            return next((words for words in runs if self.fails(words)), None)
        finally:
            path.write_bytes(source)
            # Two versions of one size within a second are one to Python's cache.
            Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)


def survivors(copy: Copy, chosen: Sequence[Mutant], say: Callable[[str], None]) -> list[Mutant]:
    """Raises RuntimeError where the tests fail without a mutant, too: then its death says nothing."""
    alive, passed, failed = [], set[Words](), set[Words]()
    for mutant in chosen:
        runs = closest(mutant)
        killer = copy.killer(mutant, runs)
        passed |= set(runs[: runs.index(killer)] if killer else runs)
        if killer:
            failed.add(killer)
        else:
            alive.append(mutant)
            say(f"lives: {mutant}")
    for words in sorted(failed - passed):
        if copy.fails(words):
            raise RuntimeError(f"pytest {' '.join(words)} fails without a mutant, too")
    return alive


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rooms", default="extractors,options", help=f"of {','.join(ROOMS)}")
    chosen, more = parser.parse_known_args()
    drawn = draw(ROOT, chosen.rooms.split(","), chosen.seed, chosen.count)
    with tempfile.TemporaryDirectory(prefix="git-agent-mutants-") as folder:
        root = Path(folder, "tree")
        shutil.copytree(ROOT, root, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        alive = survivors(Copy(root, tuple(more)), drawn, lambda line: print(line, flush=True))
    print(f"{len(drawn)} mutants, {len(alive)} live")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
