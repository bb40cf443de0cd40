"""The verdict: its JSON Schema, how it is read from a reviewer's last message, and what it comes to. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

SEVERITIES = ("low", "medium", "high", "critical")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["verdict", "summary", "findings"],
    "properties": {
        "verdict": {"type": "string", "enum": ["pass", "block"]},
        "summary": {"type": "string"},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file", "line", "severity", "text"],
                "properties": {
                    "file": {"type": "string"},
                    "line": {"type": "integer"},
                    "severity": {"type": "string", "enum": list(SEVERITIES)},
                    "text": {"type": "string"},
                },
            },
        },
    },
}
SCHEMA_TEXT = json.dumps(SCHEMA, separators=(",", ":"))
_FENCED = re.compile(r"^```json[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"(block|pass):[ \t]*(.*)")


class ReviewFinding(NamedTuple):
    """`line` is 0 where the finding is about the whole file."""

    file: str
    line: int
    severity: str
    text: str


class ReviewVerdict(NamedTuple):
    blocks: bool
    summary: str
    findings: tuple[ReviewFinding, ...] = ()

    def blocked(self, level: str | None) -> bool:
        """Does it block from this severity on? A verdict without findings counts as it stands."""
        if level is None or not self.findings:
            return self.blocks
        least = SEVERITIES.index(level)
        return any(SEVERITIES.index(found.severity) >= least for found in self.findings)


def read(message: str) -> ReviewVerdict | None:
    """The verdict in a reviewer's last message: JSON alone, the last fenced block of it, or a first line that begins
    with `block:` or `pass:`. None for anything else, for JSON that the schema does not allow, too.
    """
    text = message.strip()
    blocks = _FENCED.findall(text)
    if text.startswith("{") or blocks:
        return _parsed(text if text.startswith("{") else blocks[-1])
    found = _WORD.match(text)
    return ReviewVerdict(found[1] == "block", found[2].strip()) if found else None


def _parsed(text: str) -> ReviewVerdict | None:
    try:
        return of_object(json.loads(text))
    except (ValueError, RecursionError):
        return None


def of_object(value: Any) -> ReviewVerdict | None:
    """None where the schema does not allow it."""
    if not isinstance(value, dict) or value.get("verdict") not in {"pass", "block"}:
        return None
    summary, findings = value.get("summary"), value.get("findings")
    if not isinstance(summary, str) or not isinstance(findings, list):
        return None
    read_ones = [_finding(item) for item in findings]
    if None in read_ones:
        return None
    return ReviewVerdict(value["verdict"] == "block", summary, tuple(found for found in read_ones if found))


def _finding(item: Any) -> ReviewFinding | None:
    if not isinstance(item, dict):
        return None
    file, line, severity, text = (item.get(name) for name in ReviewFinding._fields)
    if not isinstance(file, str) or type(line) is not int or severity not in SEVERITIES or not isinstance(text, str):
        return None
    return ReviewFinding(file, max(line, 0), severity, text)


def as_object(verdict: ReviewVerdict) -> dict[str, Any]:
    """As the schema has it."""
    return {
        "verdict": "block" if verdict.blocks else "pass",
        "summary": verdict.summary,
        "findings": [found._asdict() for found in verdict.findings],
    }
