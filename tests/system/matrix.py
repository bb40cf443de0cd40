"""What passed on which engine version, as a Markdown table. Versions are what the engines printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_agent_fixtures.engines import PINS


class Matrix:
    """Gathers the reports of system tests and writes the table when the session ends."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.outcomes: dict[str, dict[str, str]] = {}
        self.printed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = re.search(r"::(\w+)\[(.+)\]", report.nodeid)
        pin = next((str(pin) for pin in PINS if found and str(pin) in found[2]), None)
        if found is None or pin is None or (report.when != "call" and report.passed):
            return
        test = found[1]
        self.printed.update((pin, str(value)) for name, value in report.user_properties if name == "printed")
        rows = self.outcomes.setdefault(test, {})
        # A test with several cases per engine has passed when all of them have.
        rows[pin] = report.outcome if rows.get(pin, "passed") == "passed" else rows[pin]

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(self.table())

    def table(self) -> str:
        pins = sorted({pin for rows in self.outcomes.values() for pin in rows})
        heads = [f"{pin.rsplit('-', 1)[0]} {self.printed.get(pin, '')}" for pin in pins]
        lines = [
            "# What ran on which engine",
            "",
            "Real engines against the scripted model server; written by `make system-all`. The versions are those",
            "that each engine printed.",
            "",
            _row("test", *heads),
            _row(*["---"] * (len(pins) + 1)),
            *(
                _row(_words(test), *(self.outcomes[test].get(pin, "") for pin in pins))
                for test in sorted(self.outcomes)
            ),
        ]
        return "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _words(test: str) -> str:
    return test.removeprefix("test_").replace("_", " ")
