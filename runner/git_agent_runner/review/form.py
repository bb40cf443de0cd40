"""A review as JSON and as SARIF 2.1.0. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from git_agent_runner.core.clock import told
from git_agent_runner.core.errors import UserError
from git_agent_runner.review.door import ReviewReport
from git_agent_runner.review.outcomes import ReviewOutcome
from git_agent_runner.review.queue import Waiting
from git_agent_runner.review.verdict import ReviewFinding, ReviewVerdict, as_object

SCHEMA = 1
_LEVELS = {"low": "note", "medium": "warning", "high": "error", "critical": "error"}


def of_report(report: ReviewReport, *, blocked: bool) -> dict[str, Any]:
    """Nothing to review is a pass."""
    return {
        "what": report.change.what,
        **as_object(report.verdict or ReviewVerdict(False, "")),
        "blocked": blocked,
        "engine": report.engine,
        "handle": report.handle,
        "cached": report.cached,
        "host": report.host,
        "leftOut": list(report.shown.left_out),
        "error": None,
    }


def of_error(what: str, error: UserError) -> dict[str, Any]:
    """The keys of `of_report`, without a verdict."""
    return {**_none(what), "error": _error(error.code, error.message, error.hints)}


def of_outcome(outcome: ReviewOutcome, *, blocked: bool) -> dict[str, Any]:
    """The same keys, of an earlier review."""
    verdict = as_object(outcome.verdict) if outcome.verdict else {}
    facts = {"engine": outcome.engine, "handle": outcome.handle, "host": outcome.host, "cached": True}
    error = {"error": _error(*outcome.error)} if outcome.error else {}
    return {**_none(f"commit {outcome.commit[:12]}"), **verdict, "blocked": blocked, **facts, **error}


def of_listed(outcome: ReviewOutcome) -> dict[str, Any]:
    """One line of `git agent reviews`."""
    verdict = outcome.verdict
    return {
        "commit": outcome.commit,
        "branch": outcome.branch,
        "state": "reviewed" if verdict else "failed",
        "verdict": as_object(verdict)["verdict"] if verdict else None,
        "summary": verdict.summary if verdict else "",
        "findings": len(verdict.findings) if verdict else 0,
        "engine": outcome.engine,
        "handle": outcome.handle,
        "host": outcome.host,
        "at": told(outcome.at),
        "unread": outcome.unread,
        "error": _error(*outcome.error) if outcome.error else None,
    }


def of_waiting(waiting: Waiting) -> dict[str, Any]:
    own = {"commit": waiting.commit, "branch": waiting.branch, "state": "reviewing" if waiting.begun else "queued"}
    rest = {"verdict": None, "summary": "", "findings": 0, "engine": None, "handle": None, "host": None, "at": None}
    return {**own, **rest, "unread": False, "error": None}


def _none(what: str) -> dict[str, Any]:
    own: dict[str, Any] = {"what": what, "verdict": None, "summary": "", "findings": [], "blocked": False}
    return {**own, "engine": None, "handle": None, "cached": False, "host": None, "leftOut": [], "error": None}


def _error(code: str, message: str, hints: Sequence[str]) -> dict[str, Any]:
    return {"code": code, "message": message, "hints": list(hints)}


def sarif(findings: Sequence[ReviewFinding], version: str) -> dict[str, Any]:
    driver = {"name": "git-agent review", "version": version, "rules": [{"id": "review"}]}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(found) for found in findings]}],
    }


def _result(found: ReviewFinding) -> dict[str, Any]:
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
