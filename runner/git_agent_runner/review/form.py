"""A review as JSON and as SARIF 2.1.0. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from git_agent_runner.errors import UserError
from git_agent_runner.review.door import Report
from git_agent_runner.review.verdict import Finding, as_object

SCHEMA = 1
_LEVELS = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}


def of_report(report: Report, *, blocked: bool) -> dict[str, Any]:
    verdict = as_object(report.verdict) if report.verdict else {"verdict": "pass", "summary": "", "findings": []}
    return {
        "what": report.change.what,
        **verdict,
        "blocked": blocked,
        "engine": report.engine,
        "handle": report.handle,
        "cached": report.cached,
        "leftOut": list(report.shown.left_out),
        "error": None,
    }


def of_error(what: str, error: UserError) -> dict[str, Any]:
    """The keys of `of_report`, without a verdict."""
    return {
        "what": what,
        "verdict": None,
        "summary": "",
        "findings": [],
        "blocked": False,
        "engine": None,
        "handle": None,
        "cached": False,
        "leftOut": [],
        "error": {"code": error.code, "message": error.message},
    }


def sarif(findings: Sequence[Finding], version: str) -> dict[str, Any]:
    driver = {"name": "git-agent review", "version": version, "rules": [{"id": "review"}]}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(found) for found in findings]}],
    }


def _result(found: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": found.file}}
    if found.line:
        place["region"] = {"startLine": found.line}
    return {
        "ruleId": "review",
        "level": _LEVELS[found.severity],
        "message": {"text": found.text or found.severity},
        "locations": [{"physicalLocation": place}],
        "properties": {"severity": found.severity},
    }
