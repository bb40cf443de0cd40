"""`git agent review --show` and `--fix`: what came of a review, and handing it to whoever wrote the change."""

from __future__ import annotations

from git_agent_runner.console.lines import print_json, warn
from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import refs
from git_agent_runner.review import content, form, noted, outcomes, queue
from git_agent_runner.review.outcomes import ReviewOutcome
from git_agent_runner.review.prompt import findings
from git_agent_runner.review.report import BLOCK, NO_VERDICT, print_verdict


def show(ctx: Context, revision: str, block: str | None, *, trusted: bool, as_json: bool) -> int:
    """Print it; the exit status is the verdict."""
    commit = content.commit_of(ctx, revision)
    outcome = _outcome(ctx, commit)
    outcomes.seen(ctx.layout, outcome)
    verdict = outcome.verdict
    blocked = bool(verdict and verdict.blocked(block))
    if as_json:
        print_json({"schema": form.SCHEMA, "reviews": [form.of_outcome(outcome, blocked=blocked)]})
    elif verdict:
        source = f"{outcome.engine}, run {outcome.handle}{f', noted by {outcome.host}' if outcome.host else ''}"
        print_verdict(verdict, block, f"commit {commit[:12]}", source, outcome.handle)
    elif outcome.error:
        warn(f"commit {commit[:12]} was not reviewed: {outcome.error[1]}", outcome.error[2])
    if blocked:
        return BLOCK
    return 0 if verdict and (trusted or _is_ours(ctx, outcome)) else NO_VERDICT


def fix(ctx: Context, revision: str, *, trusted: bool, as_json: bool) -> int:
    """Resume the session of the commit's branch with the findings; the exit status is that of `git agent resume`.

    Raises UserError `untrusted` for findings from a note, unless they are trusted, and `no_branch`.
    """
    from git_agent_runner.adopt.found import found
    from git_agent_runner.attempt.go import Request, configured, go
    from git_agent_runner.find.lookup import Where

    commit = content.commit_of(ctx, revision)
    outcome = _outcome(ctx, commit)
    verdict = outcome.verdict
    if verdict is None or not (verdict.blocks or verdict.findings):
        raise UserError(f"the review of {commit[:7]} has no findings", code="nothing_found")
    if not (trusted or _is_ours(ctx, outcome)):
        raise UserError(
            f"the verdict on {commit[:7]} is known from a note by {outcome.host}",
            code="untrusted",
            hints=(
                f"read it: git agent review --show {commit[:7]}",
                f"to send it to the session: git agent review --trust --fix {commit[:7]}",
            ),
        )
    outcomes.seen(ctx.layout, outcome)
    other = outcome.branch if outcome.branch != ctx.repo.branch else None
    if other and not refs.commit_of(ctx.repo, f"refs/heads/{other}"):
        hint = "to hand the findings to another branch's session: git agent resume --branch NAME '<message>'"
        raise UserError(
            f"branch '{other}', which the commit was made on, no longer exists", code="no_branch", hints=(hint,)
        )
    where = Where(branch=other)
    request = Request(message=findings(commit, verdict), as_json=as_json)
    return go(ctx, request, configured(ctx), found(ctx, where, request, trusted=False))


def _is_ours(ctx: Context, outcome: ReviewOutcome) -> bool:
    """Was the verdict made here, or does the person trust those of notes?"""
    return outcome.host is None or ctx.settings.review_trust


def _outcome(ctx: Context, commit: str) -> ReviewOutcome:
    """What came of it here, else the newest note. Raises UserError where there is neither."""
    if found := outcomes.read(ctx.layout, commit):
        return found
    for one in noted.read(ctx.repo, [commit]).get(commit, []):
        facts = (commit, None, one.reviewed_at, one.engine, one.handle, one.content, one.verdict)
        return ReviewOutcome(*facts, host=one.host)
    if any(one.commit == commit for one in queue.waiting(ctx)):
        raise UserError(f"the review of {commit[:7]} is still running", code="review_pending")
    raise UserError(
        f"{commit[:7]} was not reviewed", code="not_reviewed", hints=(f"git agent review --commit {commit[:7]}",)
    )
