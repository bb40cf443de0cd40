"""What `git agent review` prints: while the reviewer is running, and when it has answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from git_agent_runner.console.lines import hint, print_json, say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import shown
from git_agent_runner.review.door import ReviewReport
from git_agent_runner.review.verdict import ReviewVerdict

BLOCK, NO_VERDICT = 1, 3
LINES = 40
# What kept a reviewer from a verdict, for `--on-error CAUSE=…`; all else is `other`.
CAUSES = {
    "engine": {"binary_missing", "engine_unknown", "engine_unset", "no_read_only", "probe_failed", "version_unknown"},
    "network": {"review_unreached"},
    "time": {"review_timed_out", "review_pending"},
    "cost": {"cost_reached", "cost_unbounded"},
    "other": set[str](),
}
EVERY = 10.0  # seconds between two lines that say what continues


class Output(NamedTuple):
    """How to say it. `on_error`: cause -> pass, warn or fail; `""` is for all others."""

    block: str | None
    on_error: Mapping[str, str]
    hook: bool
    push: bool
    as_json: bool
    sarif: str | None


class ChangeResult(NamedTuple):
    """Of one change. `overruled` are commits of it that are blocked by themselves."""

    what: str
    outcome: ReviewReport | UserError
    overruled: tuple[ReviewReport, ...] = ()


def policy(error: UserError, output: Output) -> str:
    """Without a verdict: pass, warn or fail."""
    cause = next((name for name, codes in CAUSES.items() if error.code in codes), "other")
    return output.on_error.get(cause, output.on_error[""])


def report(ctx: Context, results: Sequence[ChangeResult], output: Output) -> int:
    """Print it all; the exit status."""
    statuses = [_status(result.outcome, output) for result in results]
    status = BLOCK if BLOCK in statuses else max(statuses, default=0)
    if output.as_json:
        from git_agent_runner.review import form

        print_json({"schema": form.SCHEMA, "reviews": [_object(result, output) for result in results]})
    else:
        for result in results:
            _print(ctx, result, output, passes=status == 0)
    if output.sarif:
        _write_sarif(output.sarif, [one.outcome for one in results if isinstance(one.outcome, ReviewReport)])
    return status


def aloud(ctx: Context, line: str) -> None:
    """To the terminal, also where pre-commit hides what a hook prints."""
    from git_agent_runner.console.aloud import say_past

    say_past(line, ctx.environ)


class ProgressLine:
    """A line at once and every ten seconds, from a thread: nobody waits for an answer without knowing of whom."""

    def __init__(self, ctx: Context, limit: float | None, output: Output) -> None:
        self._ctx = ctx
        self._until = f" of {_clock(limit)}" if limit else ""
        what = "the push" if output.push else "the commit"
        self._way_out = f"Ctrl-C cancels {what}" if output.hook else "Ctrl-C ends it"
        self._over = threading.Event()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()

    def begin(self, report: ReviewReport) -> None:
        threading.Thread(target=self._tell, args=(report, time.monotonic()), daemon=True).start()

    def _tell(self, report: ReviewReport, began: float) -> None:
        files = "1 file" if report.shown.files == 1 else f"{report.shown.files} files"
        while True:
            spent = _clock(time.monotonic() - began)
            aloud(self._ctx, f"{report.engine} is reviewing {files}, {spent}{self._until}; {self._way_out}")
            if self._over.wait(EVERY):
                return


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _status(outcome: ReviewReport | UserError, output: Output) -> int:
    if isinstance(outcome, UserError):
        return NO_VERDICT if policy(outcome, output) == "fail" else 0
    return BLOCK if outcome.verdict and outcome.verdict.blocked(output.block) else 0


def _print(ctx: Context, result: ChangeResult, output: Output, *, passes: bool) -> None:
    outcome = result.outcome
    for one in result.overruled:
        hint(f"{one.change.what} alone is blocked; reviewing it as a whole instead: {_summary(one)}")
    if isinstance(outcome, UserError):
        text = f"{result.what} was not reviewed: {outcome.message}"
        if passes and ctx.environ.get("PRE_COMMIT") == "1":
            aloud(ctx, text)
        elif policy(outcome, output) == "pass":
            say(text)
        else:
            warn(text, outcome.hints)
        return
    if outcome.verdict is None:
        print(f"pass: {result.what} contains nothing to review")
        return
    print_verdict(outcome.verdict, output.block, result.what, _source(outcome), outcome.handle)
    for line in outcome.shown.left_out:
        hint(f"not shown to the reviewer: {line}")


def _summary(report: ReviewReport) -> str:
    return report.verdict.summary if report.verdict else ""


def _source(report: ReviewReport) -> str:
    known = f", noted by {report.host}" if report.host else ", from an earlier review" if report.cached else ""
    return f"{report.engine}, run {report.handle}{known}"


def print_verdict(verdict: ReviewVerdict, block: str | None, what: str, source: str, handle: str | None) -> None:
    for found in verdict.findings[:LINES]:
        place = f"{found.file}:{found.line}" if found.line else found.file
        print(shown(f"{place}: {found.severity}: {found.text}"))
    if len(verdict.findings) > LINES:
        print(f"and {len(verdict.findings) - LINES} more: git agent show {handle}")
    word = "block" if verdict.blocked(block) else "pass"
    print(shown(f"{word}: {verdict.summary or what} ({source})"))


def _object(result: ChangeResult, output: Output) -> dict[str, Any]:
    from git_agent_runner.review import form

    if isinstance(result.outcome, UserError):
        return form.of_error(result.what, result.outcome)
    verdict = result.outcome.verdict
    return form.of_report(result.outcome, blocked=bool(verdict and verdict.blocked(output.block)))


def _write_sarif(path: str, reports: list[ReviewReport]) -> None:
    import json
    from importlib.metadata import version

    from git_agent_runner.review import form

    findings = [found for one in reports if one.verdict for found in one.verdict.findings]
    text = json.dumps(form.sarif(findings, version("git-agent-runner")), indent=1)
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}", code="write_failed") from error
