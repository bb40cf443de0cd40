"""`make mutants`: each mutant differs, one that no test notices is named, a death is due to the mutant. Faults E."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mutants
from mutants import ROOMS, ROOT, Copy, Mutant, Room, closest, draw, survivors

SOURCE = """
def within(version: tuple[int, ...], *, strict: bool = False) -> bool:
    return version < (0, 45) if strict else version <= (0, 45) and not strict


def role(flag: str) -> str:
    return dict(kind="permission", source="codex --help")["kind"]
"""
HELD = """
from own import role, within

def test_within() -> None:
    assert within((0, 45)) is True
    assert within((0, 45), strict=True) is False
    assert within((0, 46)) is False
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one file and a test that asks nothing of `role`."""
    folder = tmp_path / "extractors"
    folder.mkdir()
    (folder / "own.py").write_text(SOURCE)
    (tmp_path / "test_own.py").write_text(HELD)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setitem(ROOMS, "own", Room("extractors", ("*.py",), (("test_own.py",),)))
    return tmp_path


def of_own(own: Path) -> list[Mutant]:
    return list(mutants.mutants("own", own, own / "extractors" / "own.py"))


@pytest.mark.parametrize(
    "change",
    [
        "3: version < (0, 45) -> version <= (0, 45)",
        "3: version <= (0, 45) -> version < (0, 45)",
        "3: 45 -> 46",
        "3: version <= (0, 45) and not strict -> (version <= (0, 45) or not strict)",
        "3: not strict -> (strict)",
        "2: False -> True",
        "7: 'permission' -> 'model'",
        '7: kind="permission", -> nothing',
        '7: dict(kind="permission", source="codex --help")["kind"] -> None',
    ],
)
def test_what_is_mutated(own: Path, change: str) -> None:
    told = [str(mutant).replace('"permission" ->', "'permission' ->") for mutant in of_own(own)]
    assert f"extractors/own.py:{change}" in told


@pytest.mark.parametrize("room", ROOMS)
def test_each_mutant_is_another_program_with_tests(room: str) -> None:
    for mutant in draw(ROOT, [room], seed=1, count=40):
        source = (ROOT / mutant.file).read_bytes()
        assert ast.dump(ast.parse(mutant.of(source))) != ast.dump(ast.parse(source)), mutant
        paths = [word for words in closest(mutant) for word in words if word.startswith("tests/")]
        assert paths
        assert [word for word in paths if not (ROOT / word).exists()] == []


def test_a_seed_draws_the_same_of_each_room_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROOMS, "own", ROOMS["settle"])
    rooms = ["own", "settle"]
    drawn = draw(ROOT, rooms, seed=1, count=12)
    assert drawn == draw(ROOT, rooms, seed=1, count=12) != draw(ROOT, rooms, seed=2, count=12)
    assert sorted(mutant.room for mutant in drawn) == ["own"] * 6 + ["settle"] * 6


def test_the_survivor_is_named(own: Path) -> None:
    said: list[str] = []
    chosen = [mutant for mutant in of_own(own) if mutant.after in {"(strict)", "'model'"}]
    (alive,) = survivors(Copy(own), chosen, said.append)
    assert said == ["lives: extractors/own.py:7: \"permission\" -> 'model'"]
    assert alive.after == "'model'"
    assert (own / "extractors" / "own.py").read_text() == SOURCE


def test_a_death_by_tests_that_fail_anyway_says_nothing(own: Path) -> None:
    (own / "test_own.py").write_text("def test_own() -> None:\n    assert False\n")
    with pytest.raises(RuntimeError, match=r"test_own\.py fails without a mutant, too"):
        survivors(Copy(own), of_own(own)[:1], print)
