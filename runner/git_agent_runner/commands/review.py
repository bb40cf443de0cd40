"""`git agent review`: have an agent review a change; it can only read, and the exit status is the verdict."""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

import click

from git_agent_runner import context
from git_agent_runner.console import parse
from git_agent_runner.console.lines import say, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import FATAL, UsageError, UserError
from git_agent_runner.core.text import shown
from git_agent_runner.review import content, door
from git_agent_runner.review import report as told
from git_agent_runner.review.content import Change
from git_agent_runner.review.door import ReviewReport, ReviewRequest
from git_agent_runner.review.report import ChangeResult
from git_agent_runner.review.verdict import SEVERITIES

BLOCK, NO_VERDICT = 1, 3


def _bytes(_ctx: click.Context, _param: click.Parameter, text: str) -> int:
    found = re.fullmatch(r"(\d{1,9})([kKmM]?)", text)
    if not found:
        raise UsageError(f"'{shown(text)}' is not a size", hints=("write 200k or 1m",))
    return int(found[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[found[2].lower()]


def _on_error(_ctx: click.Context, _param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Cause -> what to do; of two for the same cause the last one counts."""
    found = {"": "fail" if os.environ.get("CI") else "warn"}
    for text in texts:
        cause, _, word = text.rpartition("=")
        if word not in {"pass", "warn", "fail"} or cause not in {"", *told.CAUSES}:
            hints = ("write pass, warn or fail, or one of them for a cause: network=warn",)
            raise UsageError(
                f"--on-error: '{shown(text)}' is not known", hints=(*hints, f"causes: {', '.join(told.CAUSES)}")
            )
        found[cause] = word
    return found


class What(NamedTuple):
    """Which change is reviewed, as the command line names it."""

    staged: bool
    span: str | None
    commit: str | None
    push: bool
    words: tuple[str, ...]


@click.command(cls=parse.EngineCommand, short_help="Have an agent review a change; the exit status is the verdict")
@click.argument("words", metavar="[REMOTE [URL]]", nargs=-1)
@click.option("--staged", is_flag=True, help="Review what git would commit now (the default).")
@click.option("--range", "span_", metavar="A..B", help="Review what B has that A lacks.")
@click.option("--commit", metavar="REV", help="Review what this commit changes.")
@click.option(
    "--push", is_flag=True, help="Review what a pre-push hook is given: lines on standard input, REMOTE and URL."
)
@click.option("--background", is_flag=True, help="Start the review of --commit (default: HEAD), and do not wait.")
@click.option("--show", metavar="REV", help="Print the verdict on that commit.")
@click.option("--fix", metavar="REV", help="Send the findings on that commit to its branch's session.")
@click.option("-e", "--engine", metavar="ENGINE", help="The engine (default: agent.engine).")
@click.option("--rules", metavar="FILE", help="What to look for; a tracked file is read as it was before the change.")
@click.option(
    "--block", type=click.Choice(SEVERITIES), help="Block from this severity on (default: the reviewer decides)."
)
@click.option(
    "--on-error",
    callback=_on_error,
    multiple=True,
    metavar="[CAUSE=]pass|warn|fail",
    help="Without a verdict: exit 0, exit 0 with a warning (the default), or exit 3 (the default where CI is set). "
    f"CAUSE: {', '.join(told.CAUSES)}.",
)
@click.option(
    "--timeout",
    callback=parse.seconds,
    metavar="TIME",
    default="3m",
    help="Give up after this time: 90s, 10m (default 3m).",
)
@click.option(
    "--wait",
    callback=parse.seconds,
    metavar="TIME",
    help="Wait this long for a background review (default: as --timeout).",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    metavar="USD",
    help="The most that one review may cost (claude only).",
)
@click.option(
    "--max-diff",
    callback=_bytes,
    metavar="SIZE",
    default="200k",
    help="Show the reviewer at most this much (default 200k).",
)
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave these files out; repeatable.")
@click.option("--again", is_flag=True, help="Ask again even if this exact change has a verdict.")
@click.option("--fresh", is_flag=True, help="Do not continue the branch's last review.")
@click.option("--trust", is_flag=True, help="Accept verdicts from notes, whoever wrote them.")
@click.option("--inside-runs", is_flag=True, help="In a hook: review what agents commit, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--sarif", metavar="FILE", help="Write the findings to FILE, as SARIF.")
def command(  # noqa: PLR0917  click passes options by name
    words: tuple[str, ...],
    staged: bool,
    span_: str | None,
    commit: str | None,
    push: bool,
    background: bool,
    show: str | None,
    fix: str | None,
    engine: str | None,
    rules: str | None,
    block: str | None,
    on_error: dict[str, str],
    timeout: float | None,
    wait: float | None,
    max_cost: float | None,
    max_diff: int,
    exclude: tuple[str, ...],
    again: bool,
    fresh: bool,
    trust: bool,
    inside_runs: bool,
    as_json: bool,
    sarif: str | None,
) -> int:
    """Have a change looked at by an agent that can only read, in its own work tree.

    Exit status: 0 pass, or nothing to review; 1 block; 3 no verdict.
    """
    asked = {"--staged": staged, "--range": span_ is not None, "--commit": commit is not None, "--push": push}
    after = {"--show": show is not None, "--fix": fix is not None}
    parse.only_one({**asked, **after}, {"--background": background, **{k: asked[k] for k in asked if k != "--commit"}})
    parse.only_one(
        {"--background": background, "--json": as_json}, {"--background": background, "--sarif": bool(sarif)}
    )
    if words and not push:
        raise UsageError(f"'{shown(words[0])}' is one argument too many", hints=("git agent review -h",))
    ctx = context.load(tell=not any(after.values()))
    if show is not None or fix is not None:
        from git_agent_runner.review import after as review_after  # what came of an earlier one

        if show is not None:
            return review_after.show(ctx, show, block, trusted=trust, as_json=as_json)
        return review_after.fix(ctx, fix or "", trusted=trust, as_json=as_json)
    hook = background or _in_hook(ctx, push=push)
    request = ReviewRequest(
        engine,
        rules,
        exclude,
        max_diff,
        timeout,
        max_cost,
        again,
        fresh,
        trust,
        hook,
        parse.engine_args(),
        watched=True,
    )
    output = told.Output(block, on_error, hook, push, as_json, sarif)
    try:
        if hook and not _wanted(ctx, inside_runs=inside_runs, push=push):
            return told.report(ctx, [], output)
        if background:
            return _begin(ctx, commit or "HEAD", request)
    except UserError as error:
        return told.report(ctx, [ChangeResult(commit or "the change", error)], output)
    return told.report(ctx, _all(ctx, What(staged, span_, commit, push, words), request, output, wait), output)


def _in_hook(ctx: Context, *, push: bool) -> bool:
    """Git names its index to the hooks of a commit."""
    return push or "GIT_INDEX_FILE" in ctx.environ or ctx.environ.get("PRE_COMMIT") == "1"


def _wanted(ctx: Context, *, inside_runs: bool, push: bool) -> bool:
    """Is a review that a hook asks for wanted? Raises UserError if a variable of ours names no run."""
    from git_agent_hooks.quiet import unwanted

    if why := unwanted(ctx.repo, ctx.environ, push=push):
        say(f"not reviewed: {why}")
        return False
    handle = ctx.environ.get("GIT_AGENT_HANDLE")
    if not handle:
        return True
    if not os.path.isdir(ctx.environ.get("GIT_AGENT_RUN_DIR", "")):
        hint = ("unset GIT_AGENT_HANDLE GIT_AGENT_RUN_DIR",)
        raise UserError(f"GIT_AGENT_HANDLE is {handle}, which is not a run", code="no_run", hints=hint)
    if inside_runs and ctx.runs.read(handle).role == "work":
        return True
    say(f"inside run {handle}: not reviewed{'' if inside_runs else ' without --inside-runs'}")
    return False


def _begin(ctx: Context, revision: str, request: ReviewRequest) -> int:
    """Queue the commit for the background."""
    from git_agent_runner.review import queue

    commit = ctx.repo.head if revision == "HEAD" and ctx.repo.head else content.commit_of(ctx, revision)
    rules = request.rules and os.path.abspath(os.path.join(ctx.cwd, request.rules))
    queue.put(ctx, queue.ReviewJob(commit, ctx.repo.branch, request._replace(rules=rules, watched=False)))
    return 0


def _all(
    ctx: Context, what: What, request: ReviewRequest, output: told.Output, wait: float | None
) -> list[ChangeResult]:
    """The result of each change, in the order in which they were given."""
    done: list[ChangeResult] = []
    for name, change in _changes(ctx, what):
        if isinstance(change, UserError):
            done.append(ChangeResult(name, change))
            continue
        if change.commit is None:
            done.append(ChangeResult(name, _one(ctx, change, request, output)))
            continue
        from git_agent_runner.review import span

        try:
            patience = wait if wait is not None else request.timeout or 0.0
            span.wait(ctx, change, patience, lambda line: told.aloud(ctx, line))
            parts = span.spread(ctx, change, request, output.block)
        except UserError as error:
            if error.exit_status != FATAL:
                raise
            done.append(ChangeResult(name, error))
            continue
        for report in parts.known:
            _file(ctx, report)
            if report.verdict or not parts.left:
                done.append(ChangeResult(report.change.what, report))
        for part in parts.left:
            result = ChangeResult(part.what, _one(ctx, part, request, output))
            done.append(result._replace(overruled=parts.overruled))
    return done


def _changes(ctx: Context, what: What) -> list[tuple[str, Change | UserError]]:
    """The changes to review; those that pre-commit was given (`--from-ref`, or at a push), if any. A revision that
    does not exist is a mistake; an index in conflict has no verdict.
    """
    if what.span is not None:
        found = [content.of_range(ctx, what.span)]
    elif what.commit is not None:
        found = [content.of_commit(ctx, what.commit)]
    elif not what.staged and (by_pre_commit := content.by_pre_commit(ctx)) is not None:
        found = by_pre_commit
    elif what.push:
        found = content.pushed(ctx, _lines(sys.stdin.buffer.read()), what.words[0] if what.words else None)
    else:
        try:
            found = [content.staged(ctx)]
        except UserError as error:
            return [("the staged change", error)]
    return [(change.what, change) for change in found]


def _lines(given: bytes) -> list[str]:
    """Only git's own line ends end a line: a branch name may have any of Unicode's."""
    return [line for line in given.decode("utf-8", "surrogateescape").split("\n") if line]


def _one(ctx: Context, change: Change, request: ReviewRequest, output: told.Output) -> ReviewReport | UserError:
    with told.ProgressLine(ctx, request.timeout, output) as progress:
        try:
            report = door.review(ctx, change, request, progress.begin)
        except UserError as error:
            if error.exit_status != FATAL:  # a mistake, or a signal: no question of policy
                raise
            return error
    _file(ctx, report)
    return report


def _file(ctx: Context, report: ReviewReport) -> None:
    try:
        door.file(ctx, report)
    except UserError as error:
        warn(error.message, error.hints)
