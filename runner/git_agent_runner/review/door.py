"""The way through a review: what is new, is it known, who looks at it, what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.context import Context, timestamp
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import in_repo, refs
from git_agent_runner.review import content, memory
from git_agent_runner.review.content import Change, Shown
from git_agent_runner.review.memory import KnownVerdict
from git_agent_runner.review.verdict import ReviewVerdict

if TYPE_CHECKING:
    from git_agent_runner.review.noted import Noted
    from git_agent_runner.review.outcomes import ReviewOutcome

_RULES = 64 << 10  # bytes
# The branch's last review is running: another session is asked.
_BUSY = {"review_live", "run_live", "session_held"}


class ReviewRequest(NamedTuple):
    """How to review. `again` asks though the verdict is known, `fresh` in its own session; `trust`: verdicts in
    notes count, whoever wrote them. `hook`: no person has asked for this one. `watched`: it ends with the git that
    asked for it.
    """

    engine: str | None = None
    rules: str | None = None
    exclude: tuple[str, ...] = ()
    max_diff: int = 200_000
    timeout: float | None = None
    max_cost: float | None = None
    again: bool = False
    fresh: bool = False
    trust: bool = False
    hook: bool = False
    given: tuple[str, ...] = ()
    watched: bool = False


class ReviewReport(NamedTuple):
    """Of one change. `verdict` is None where there was nothing to look at. `content` names what was looked at, `host`
    where, if the verdict comes from a note.
    """

    change: Change
    shown: Shown
    verdict: ReviewVerdict | None = None
    engine: str | None = None
    handle: str | None = None
    cached: bool = False
    content: str | None = None
    host: str | None = None


class Question(NamedTuple):
    """A change, made ready for whoever is asked."""

    change: Change
    shown: Shown
    engine: str | None
    rules: str | None
    args: tuple[str, ...]
    content: str

    @property
    def key(self) -> str | None:
        return memory.key(self.engine, *self.args, self.content) if self.engine else None


def review(ctx: Context, change: Change, request: ReviewRequest, begun: Callable[[ReviewReport], None]) -> ReviewReport:
    """The verdict on a change. `begun` is called before a model is asked.

    Raises UserError where there is none: `no_verdict`, or what kept the engine from it; `interrupted` has an exit
    status of its own.
    """
    seen = content.shown(ctx, change, request.exclude, request.max_diff)
    report = ReviewReport(change, seen)
    if not seen.patch and not seen.left_out:
        return report
    if not seen.patch:
        raise UserError(f"nothing of it can be shown ({seen.left_out[0]})", code="nothing_shown")
    question = _question(ctx, change, seen, request)
    if not request.again and (known := _known(ctx, question, request)):
        return known
    report = report._replace(engine=question.engine, content=question.content)
    try:
        found = _asked(ctx, question, request, lambda: begun(report))
    except UserError as error:
        error.hints = (*error.hints, *_untrusted(ctx, question))
        raise
    memory.write(ctx, question.key or found.handle, found)
    return report._replace(verdict=found.verdict, handle=found.handle)


def known(ctx: Context, change: Change, request: ReviewRequest) -> ReviewReport | None:
    """The verdict on a change, where no model has to be asked; None where one has to. Raises UserError."""
    seen = content.shown(ctx, change, request.exclude, request.max_diff)
    if not seen.patch:
        return None if seen.left_out else ReviewReport(change, seen)
    return _known(ctx, _question(ctx, change, seen, request), request)


def _question(ctx: Context, change: Change, seen: Shown, request: ReviewRequest) -> Question:
    """No engine has to be there, nor be loaded, for what is known."""
    engine = request.engine or ctx.settings.engine
    args: tuple[str, ...] = ()
    if engine and (request.given or engine in ctx.settings.args):
        from git_agent_runner.engines import load
        from git_agent_runner.review.power import harmless, refuse_widening

        refuse_widening(load(engine), request.given)
        args = (*harmless(load(engine), ctx.settings.args.get(engine, ())), *request.given)
    rules = rules_text(ctx, change, request.rules)
    return Question(change, seen, engine, rules, args, memory.content(rules, seen))


def _known(ctx: Context, question: Question, request: ReviewRequest) -> ReviewReport | None:
    """From a review made here, or from a note, where those count."""
    facts = (question.change, question.shown, None, question.engine, None, True, question.content)
    report = ReviewReport(*facts)
    if question.key and (found := memory.read(ctx, question.key)):
        return report._replace(verdict=found.verdict, handle=found.handle)
    if question.engine is None and (kept := _kept(ctx, question)):
        return report._replace(verdict=kept.verdict, handle=kept.handle, engine=kept.engine)
    if not (request.trust or ctx.settings.review_trust):
        return None
    for one in _noted(ctx, question):
        if request.engine in {None, one.engine}:
            return report._replace(verdict=one.verdict, handle=one.handle, engine=one.engine, host=one.host)
    return None


def _kept(ctx: Context, question: Question) -> ReviewOutcome | None:
    """The review of this commit here, by whatever engine."""
    from git_agent_runner.review import outcomes

    commit = question.change.commit
    kept = outcomes.read(ctx.layout, commit) if commit else None
    return kept if kept and kept.host is None and kept.content == question.content else None


def _noted(ctx: Context, question: Question) -> list[Noted]:
    commit = question.change.commit
    if commit is None:
        return []
    from git_agent_runner.review import noted

    found = noted.read(ctx.repo, [commit]).get(commit, [])
    return [one for one in found if one.content == question.content]


def _untrusted(ctx: Context, question: Question) -> tuple[str, ...]:
    """A verdict that somebody else has is named where we get none."""
    return tuple(
        f"{one.host} has noted a verdict, '{'block' if one.verdict.blocks else 'pass'}'; to accept it: --trust"
        for one in _noted(ctx, question)[:1]
    )


def file(ctx: Context, report: ReviewReport, *, unread: bool = False) -> None:
    """Keep the verdict on a commit, and note it; one on several is only noted, on the last. Raises NoteFailed."""
    commit, verdict = report.change.commit, report.verdict
    if commit is None or verdict is None or report.content is None:
        return
    from git_agent_runner.review import noted, outcomes
    from git_agent_runner.review.noted import Noted
    from git_agent_runner.review.outcomes import ReviewOutcome

    before = outcomes.read(ctx.layout, commit)
    if before and before.noted and (before.content, before.verdict) == (report.content, verdict):
        return
    own = (refs.commit_of(ctx.repo, f"{commit}^") or report.change.base) == report.change.base
    if report.cached and not own:
        return
    facts = (report.content, report.engine or "", report.handle or "", timestamp(), os.uname().nodename, verdict)
    failed = None
    try:
        if report.host is None:
            noted.write(ctx.repo, commit, Noted(*facts))
    except UserError as error:
        failed = error
    if own:
        kept = (commit, ctx.repo.branch, facts[3], report.engine, report.handle, report.content, verdict)
        outcomes.save(ctx.layout, ReviewOutcome(*kept, unread=unread, host=report.host, noted=failed is None))
    if failed:
        raise failed


def rules_text(ctx: Context, change: Change, path: str | None) -> str | None:
    """What the team asks for. A change is not judged by rules of its own: what its base has of them counts, and a file
    that it brings does not.
    """
    if path is None:
        return None
    full = os.path.abspath(os.path.join(ctx.cwd, path))
    if full.startswith(f"{ctx.repo.top}/"):
        name = os.path.relpath(full, ctx.repo.top)
        before, now = (_tracked(ctx, f"{tree}:{name}") for tree in (change.base, change.new))
        if before is not None or now is not None:
            return None if before is None else _bounded(before, path)
    from git_agent_extractors import ordinary

    try:
        return ordinary.whole(full, _RULES).decode("utf-8", "replace")
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}", code="file_unreadable") from error


def _tracked(ctx: Context, name: str) -> str | None:
    """The text of a file in a tree, by way of links within it."""
    told = in_repo(ctx.repo, "cat-file", "--batch", "--follow-symlinks", stdin=f"{name}\n").out
    head, _, text = told.partition("\n")
    return text.removesuffix("\n") if head.split(" ")[1:2] == ["blob"] else None


def _bounded(text: str, path: str) -> str:
    if len(text) > _RULES:
        raise UserError(f"cannot read '{path}': larger than {_RULES >> 10} KiB", code="file_unreadable")
    return text


def _asked(ctx: Context, question: Question, request: ReviewRequest, begun: Callable[[], None]) -> KnownVerdict:
    """A reviewer's verdict, from a run of its own or the next attempt of the branch's last review."""
    from git_agent_runner.attempt.plan import choose_engine
    from git_agent_runner.review import asking  # with all that starts an engine

    engine = choose_engine(ctx, question.engine)
    earlier = None if request.fresh or request.max_cost is not None else memory.session(ctx, engine.name)
    try:
        return asking.verdict(ctx, question, engine, earlier, request, begun)
    except UserError as error:
        if earlier is None or error.code not in _BUSY:
            raise
    return asking.verdict(ctx, question, engine, None, request, begun)
