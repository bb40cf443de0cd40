"""The way through a review: what is new, is it known, who looks at it, what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from git_agent_runner import refs
from git_agent_runner.context import Context, find_program
from git_agent_runner.engines.spec import Engine
from git_agent_runner.errors import UserError
from git_agent_runner.git import run as git
from git_agent_runner.plan import choose_engine
from git_agent_runner.review import content, memory
from git_agent_runner.review.content import Change, Shown
from git_agent_runner.review.memory import Known
from git_agent_runner.review.power import harmless, power, refuse_widening
from git_agent_runner.review.prompt import prompt
from git_agent_runner.review.verdict import Verdict, read

_RULES = 64 << 10  # bytes


class Wish(NamedTuple):
    """How to review. `again` asks though the verdict is known, `fresh` in a session of its own."""

    engine: str | None = None
    rules: str | None = None
    exclude: tuple[str, ...] = ()
    max_diff: int = 200_000
    timeout: float | None = None
    again: bool = False
    fresh: bool = False
    given: tuple[str, ...] = ()


class Report(NamedTuple):
    """Of one change. `verdict` is None where there was nothing to look at."""

    change: Change
    shown: Shown
    verdict: Verdict | None
    engine: str | None = None
    handle: str | None = None
    cached: bool = False


def review(ctx: Context, change: Change, wish: Wish, begun: Callable[[Report], None]) -> Report:
    """The verdict on a change. `begun` is called before a model is asked.

    Raises UserError where there is none: `no_verdict`, or what kept the engine from it; `interrupted` has an exit
    status of its own.
    """
    seen = content.shown(ctx, change, wish.exclude, wish.max_diff)
    report = Report(change, seen, None)
    if not seen.patch and not seen.left_out:
        return report
    if not seen.patch:
        raise UserError(f"nothing of it can be shown ({seen.left_out[0]})", code="nothing_shown")
    engine = choose_engine(ctx, wish.engine)
    refuse_widening(engine, wish.given)
    rules = rules_text(ctx, change, wish.rules)
    args = (*harmless(engine, ctx.settings.args.get(engine.name, ())), *wish.given)
    name = memory.key(engine.name, *args, "\0", rules or "", seen.patch, *seen.left_out)
    report = report._replace(engine=engine.name)
    if not wish.again and (known := memory.read(ctx, name)):
        return report._replace(verdict=known.verdict, handle=known.handle, cached=True)
    begun(report)
    known = _asked(ctx, engine, change, seen, rules, args, wish)
    memory.write(ctx, name, known)
    return report._replace(verdict=known.verdict, handle=known.handle)


def rules_text(ctx: Context, change: Change, path: str | None) -> str | None:
    """What the team asks for. A change is not judged by rules of its own: what its base has of them counts."""
    if path is None:
        return None
    full = os.path.realpath(os.path.join(ctx.cwd, path))
    if full.startswith(f"{ctx.repo.top}/"):
        name = f"{change.base}:{os.path.relpath(full, ctx.repo.top)}"
        found = git(("cat-file", "blob", name), git_dir=ctx.repo.git_dir, cwd=ctx.repo.common_dir, check=False)
        if found.status == 0:
            return _bounded(found.out, path)
    from git_agent_extractors import ordinary

    try:
        return ordinary.whole(full, _RULES).decode("utf-8", "replace")
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}", code="file_unreadable") from error


def _bounded(text: str, path: str) -> str:
    if len(text) > _RULES:
        raise UserError(f"cannot read '{path}': larger than {_RULES >> 10} KiB", code="file_unreadable")
    return text


def _asked(
    ctx: Context, engine: Engine, change: Change, seen: Shown, rules: str | None, args: tuple[str, ...], wish: Wish
) -> Known:
    """A reviewer's verdict, from a run of its own or the next attempt of the branch's last review."""
    from git_agent_runner.review import asking

    held = power(engine, find_program(ctx, engine).version)
    earlier = None if wish.fresh else memory.session(ctx, engine.name)
    last = memory.read(ctx, earlier.handle) if earlier else None
    before = (last.verdict, _since(ctx, last, change, wish)) if last else None
    ask = asking.Ask(engine, held, args, prompt(seen, rules, before), earlier if before else None, wish.timeout)
    done = asking.ask(ctx, ask, content.commit_to_see(ctx, change), tuple(map(content.unquoted, seen.hidden)))
    settled = done.settled
    handle = settled.record.handle
    if received := done.outcome.received:
        raise UserError("the review was ended", code="interrupted", exit_status=128 + received)
    if settled.verdict.status != "completed":
        why = f": {settled.transcript.error}" if settled.transcript.error else ""
        raise UserError(f"{engine.name}: {settled.verdict.status}{why}", code="review_failed", hints=_look(handle))
    verdict = read(settled.transcript.final_message or "")
    if verdict is None:
        raise UserError(f"{engine.name} gave no verdict", code="no_verdict", hints=_look(handle))
    known = Known(verdict, handle, change.new)
    memory.write(ctx, handle, known)
    memory.remember(ctx, handle)
    return known


def _since(ctx: Context, last: Known, change: Change, wish: Wish) -> str:
    if refs.missing(ctx.repo, [last.new]):
        return "(git has not kept what you saw then)"
    return content.shown(ctx, change._replace(base=last.new), wish.exclude, wish.max_diff).patch


def _look(handle: str) -> tuple[str, ...]:
    return (f"what it said: git agent log {handle}",)
