"""The matrix of what ran where, from pytest's reports."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from git_agent_fixtures.engines import pinned
from system.matrix import Matrix

CLAUDE, CODEX = pinned("claude"), pinned("codex")

Outcome = Literal["passed", "failed"]


def report(
    test: str,
    outcome: Outcome,
    when: Literal["setup", "call"] = "call",
    marker: str = "system",
    folder: str = "tests/system",
) -> pytest.TestReport:
    printed = [("printed", "1.2.3 (Engine)")]
    place = ("a.py", 1, test)
    return pytest.TestReport(
        f"{folder}/test_a.py::{test}", place, {marker: 1}, outcome, None, when, user_properties=printed
    )


def test_one_failed_case_fails_the_cell(tmp_path: Path) -> None:
    """A test with several cases on one engine has passed when all have; setup alone is no result."""
    matrix = Matrix(tmp_path / "matrix.md")
    matrix.pytest_runtest_logreport(report(f"test_it_resumes[{CLAUDE}]", "passed", "setup"))
    matrix.pytest_runtest_logreport(report(f"test_it_resumes[{CLAUDE}-late]", "failed"))
    matrix.pytest_runtest_logreport(report(f"test_it_resumes[{CLAUDE}-early]", "passed"))
    matrix.pytest_runtest_logreport(report("test_without_an_engine", "failed"))
    matrix.pytest_runtest_logreport(report(f"test_a_recording[{CLAUDE}]", "passed", folder="tests/recordings"))
    matrix.pytest_sessionfinish()
    table = (tmp_path / "matrix.md").read_text().splitlines()
    assert table[-3:] == ["| test | claude 1.2.3 (Engine) |", "| --- | --- |", "| it resumes | failed |"]


def test_an_engine_that_could_not_be_set_up_is_a_failure(tmp_path: Path) -> None:
    matrix = Matrix(tmp_path / "matrix.md")
    matrix.pytest_runtest_logreport(report(f"test_it_resumes[{CODEX}]", "failed", "setup"))
    assert "| it resumes | failed |" in matrix.table()


def test_a_long_matrix_has_a_table_of_its_own(tmp_path: Path) -> None:
    """A row for each case, in their order, and a sum; a table without a row is not written over one that has some."""
    long, short = Matrix(tmp_path / "long.md", long=True), Matrix(tmp_path / "short.md")
    cases: dict[str, Outcome] = {
        f"[10-kill-{CODEX}]": "passed",
        f"[9-kill-{CODEX}]": "failed",
        f"[{CLAUDE}]": "passed",
    }
    for test, outcome in cases.items():
        for matrix in (long, short):
            matrix.pytest_runtest_logreport(report(f"test_it{test}", outcome, marker="long_matrix"))
    long.pytest_sessionfinish()
    short.pytest_sessionfinish()
    assert (tmp_path / "long.md").read_text().splitlines()[-4:] == [
        "| it | passed |  |",
        "| it: 9-kill |  | failed |",
        "| it: 10-kill |  | passed |",
        "| all | 1 of 1 | 1 of 2 |",
    ]
    assert not (tmp_path / "short.md").exists()
