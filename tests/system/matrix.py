"""What passed on which engine version, as Markdown tables. Versions are what the engines printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_agent_fixtures.engines import PINS

_SHORT = (
    "# What ran on which engine",
    "",
    "Real engines against the scripted model server; written by `make system-all`. The versions are those",
    "that each engine printed.",
)
_LONG = (
    "# What was broken at which moment",
    "",
    "Real engines against the scripted model server; written by `make system-all`, from the tests that are marked as a",
    "long matrix. After each fault nothing complete has changed, `git agent doctor --repair` leaves nothing that is",
    "wrong, and the next `git agent resume` goes on with the history or says why not. A row names the step of an",
    "attempt, which time it was reached, and what ended. An empty cell is a step that the engine's attempts lack, or a",
    "version that the test is not for: faults are for the newest.",
)


class Matrix:
    """Gathers the reports of system tests and writes the table when the session ends.

    `long`: of the tests of long matrices, and each case in a row of its own; otherwise of all others, a row for each.
    """

    def __init__(self, file: Path, *, long: bool = False) -> None:
        self.file = file
        self.long = long
        self.outcomes: dict[str, dict[str, str]] = {}
        self.printed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = re.search(r"::(\w+)\[(.+)\]", report.nodeid)
        pin = next((str(pin) for pin in PINS if found and str(pin) in found[2]), None)
        if found is None or pin is None or "system/" not in report.nodeid or (report.when != "call" and report.passed):
            return
        if self.long != ("long_matrix" in report.keywords):
            return
        self.printed.update((pin, str(value)) for name, value in report.user_properties if name == "printed")
        case = found[2].replace(pin, "").strip("-").replace("--", "-")
        rows = self.outcomes.setdefault(f"{found[1]}: {case}" if self.long and case else found[1], {})
        # A test with several cases per engine has passed when all of them have.
        rows[pin] = report.outcome if rows.get(pin, "passed") == "passed" else rows[pin]

    def pytest_sessionfinish(self) -> None:
        if self.outcomes:
            self.file.write_text(self.table())

    def table(self) -> str:
        pins = sorted({pin for rows in self.outcomes.values() for pin in rows})
        heads = [f"{pin.rsplit('-', 1)[0]} {self.printed.get(pin, '')}" for pin in pins]
        lines = [
            *(_LONG if self.long else _SHORT),
            "",
            _row("test", *heads),
            _row(*["---"] * (len(pins) + 1)),
            *(
                _row(_words(test), *(self.outcomes[test].get(pin, "") for pin in pins))
                for test in sorted(self.outcomes, key=_natural)
            ),
        ]
        if self.long:
            lines.append(_row("all", *map(self._sum, pins)))
        return "\n".join(lines) + "\n"

    def _sum(self, pin: str) -> str:
        cells = [rows[pin] for rows in self.outcomes.values() if pin in rows]
        return f"{cells.count('passed')} of {len(cells)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _words(test: str) -> str:
    return test.removeprefix("test_").replace("_", " ")


def _natural(test: str) -> list[tuple[int, str]]:
    """The tenth write stands after the ninth."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", test)]
