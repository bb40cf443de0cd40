"""`git agent review`: have a change looked at by an agent that can only read; the exit status is the verdict."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from typing import Any

import click

from git_agent_runner import context, parse
from git_agent_runner.context import Context
from git_agent_runner.errors import FATAL, UsageError, UserError
from git_agent_runner.present import hint, print_json, say, warn
from git_agent_runner.review import content, form
from git_agent_runner.review.content import Change
from git_agent_runner.review.door import Report, Wish, review
from git_agent_runner.review.verdict import SEVERITIES
from git_agent_runner.text import shown

BLOCK, NO_VERDICT = 1, 3
LINES = 40
EVERY = 10.0  # seconds between two lines that say what goes on


def _bytes(_ctx: click.Context, _param: click.Parameter, text: str) -> int:
    found = re.fullmatch(r"(\d{1,9})([kKmM]?)", text)
    if not found:
        raise UsageError(f"'{shown(text)}' is not a size", hints=("write 200k or 1m",))
    return int(found[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[found[2].lower()]


@click.command(cls=parse.EngineCommand, short_help="Have a change looked at; the exit status is the verdict")
@click.argument("words", metavar="[REMOTE [URL]]", nargs=-1)
@click.option("--staged", is_flag=True, help="What git would commit now; this is the default.")
@click.option("--range", "span", metavar="A..B", help="What B has that A has not.")
@click.option("--commit", metavar="REV", help="What that commit changes.")
@click.option("--push", is_flag=True, help="What a pre-push hook is given: lines on standard input, REMOTE and URL.")
@click.option("-e", "--engine", metavar="ENGINE", help="The engine (default: agent.engine).")
@click.option("--rules", metavar="FILE", help="What to look for; of a tracked file the version before the change.")
@click.option("--block", type=click.Choice(SEVERITIES), help="Block from this severity on; else as the reviewer says.")
@click.option(
    "--on-error",
    type=click.Choice(("pass", "warn", "fail")),
    help="Without a verdict: exit 0, exit 0 with a warning (the default), or exit 3 (the default where CI is set).",
)
@click.option(
    "--timeout", callback=parse.seconds, metavar="TIME", default="3m", help="No verdict by then: 90s, 10m; 3m."
)
@click.option("--max-diff", callback=_bytes, metavar="SIZE", default="200k", help="Show no more than this; 200k.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave these files out; repeatable.")
@click.option("--again", is_flag=True, help="Ask though the verdict on exactly this is known.")
@click.option("--fresh", is_flag=True, help="Do not go on with the branch's last review.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--sarif", metavar="FILE", help="Write the findings to FILE, as SARIF.")
def command(  # noqa: PLR0917  click passes options by name
    words: tuple[str, ...],
    staged: bool,
    span: str | None,
    commit: str | None,
    push: bool,
    engine: str | None,
    rules: str | None,
    block: str | None,
    on_error: str | None,
    timeout: float | None,
    max_diff: int,
    exclude: tuple[str, ...],
    again: bool,
    fresh: bool,
    as_json: bool,
    sarif: str | None,
) -> int:
    """Have a change looked at by an agent that can only read, in a work tree of its own.

    Exit status: 0 pass, or nothing to review; 1 block; 3 no verdict.
    """
    parse.only_one({"--staged": staged, "--range": span is not None, "--commit": commit is not None, "--push": push})
    if words and not push:
        raise UsageError(f"'{shown(words[0])}' is one word too many", hints=("git agent review -h",))
    ctx = context.load()
    wish = Wish(engine, rules, exclude, max_diff, timeout, again, fresh, parse.engine_args())
    done: list[tuple[str, Report | UserError]] = []
    for what, change in _changes(ctx, span, commit, words if push else None, staged=staged):
        done.append((what, change if isinstance(change, UserError) else _one(ctx, change, wish)))
    strict = (on_error or ("fail" if os.environ.get("CI") else "warn")) == "fail"
    if not as_json:
        for what, outcome in done:
            _print(what, outcome, block, quiet=on_error == "pass")
    statuses = [_status(outcome, block, strict=strict) for _, outcome in done]
    if as_json:
        reviews = [_object(what, outcome, block) for what, outcome in done]
        print_json({"schema": form.SCHEMA, "reviews": reviews})
    if sarif:
        _write_sarif(sarif, [outcome for _, outcome in done if isinstance(outcome, Report)])
    return BLOCK if BLOCK in statuses else max(statuses, default=0)


def _changes(
    ctx: Context, span: str | None, commit: str | None, pushed: tuple[str, ...] | None, *, staged: bool
) -> list[tuple[str, Change | UserError]]:
    """What is to be reviewed; of what pre-commit was given (`--from-ref`, or at a push), where it was given any. A
    revision that does not exist is a mistake; an index in conflict has no verdict.
    """
    if span is not None:
        found = [content.of_range(ctx, span)]
    elif commit is not None:
        found = [content.of_commit(ctx, commit)]
    elif pushed is not None:
        found = content.pushed(ctx, sys.stdin.read(1 << 20).splitlines(), pushed[0] if pushed else None)
    elif not staged and (to := ctx.environ.get("PRE_COMMIT_TO_REF")):
        found = [content.between(ctx, ctx.environ.get("PRE_COMMIT_FROM_REF", ""), to)]
    else:
        try:
            found = [content.staged(ctx)]
        except UserError as error:
            return [("the staged change", error)]
    return [(change.what, change) for change in found]


def _one(ctx: Context, change: Change, wish: Wish) -> Report | UserError:
    over = threading.Event()
    try:
        return review(ctx, change, wish, lambda report: _tell_while(over, report, wish.timeout))
    except UserError as error:
        if error.exit_status != FATAL:  # a mistake, or a signal: no question of policy
            raise
        return error
    finally:
        over.set()


def _tell_while(over: threading.Event, report: Report, limit: float | None) -> None:
    """A line at once and every ten seconds, from a thread: nobody waits for an answer without knowing of whom."""
    began = time.monotonic()
    until = f" of {_clock(limit)}" if limit else ""

    def tell() -> None:
        while True:
            files = "1 file" if report.shown.files == 1 else f"{report.shown.files} files"
            say(f"{report.engine} reviews {files}, {_clock(time.monotonic() - began)}{until}; Ctrl-C ends it")
            if over.wait(EVERY):
                return

    threading.Thread(target=tell, daemon=True).start()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _status(outcome: Report | UserError, block: str | None, *, strict: bool) -> int:
    if isinstance(outcome, UserError):
        return NO_VERDICT if strict else 0
    return BLOCK if outcome.verdict and outcome.verdict.blocked(block) else 0


def _print(what: str, outcome: Report | UserError, block: str | None, *, quiet: bool) -> None:
    if isinstance(outcome, UserError):
        text = f"{what} was not reviewed: {outcome.message}"
        if quiet:
            say(text)
        else:
            warn(text, outcome.hints)
        return
    verdict = outcome.verdict
    if verdict is None:
        print(f"pass: {what} holds nothing to review")
        return
    for found in verdict.findings[:LINES]:
        place = f"{found.file}:{found.line}" if found.line else found.file
        print(shown(f"{place}: {found.severity}: {found.text}"))
    if len(verdict.findings) > LINES:
        print(f"and {len(verdict.findings) - LINES} more: git agent show {outcome.handle}")
    word = "block" if verdict.blocked(block) else "pass"
    source = f"{outcome.engine}, run {outcome.handle}{', known from before' if outcome.cached else ''}"
    print(shown(f"{word}: {verdict.summary or what} ({source})"))
    for line in outcome.shown.left_out:
        hint(f"not shown to the reviewer: {line}")


def _object(what: str, outcome: Report | UserError, block: str | None) -> dict[str, Any]:
    if isinstance(outcome, UserError):
        return form.of_error(what, outcome)
    return form.of_report(outcome, blocked=bool(outcome.verdict and outcome.verdict.blocked(block)))


def _write_sarif(path: str, reports: list[Report]) -> None:
    import json
    from importlib.metadata import version

    findings = [found for report in reports if report.verdict for found in report.verdict.findings]
    text = json.dumps(form.sarif(findings, version("git-agent-runner")), indent=1)
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}", code="write_failed") from error
