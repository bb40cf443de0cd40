"""What came of the reviews of commits, below `agent/verdicts/commits`: for `git agent reviews`, and to say once."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, NamedTuple

from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.review.verdict import ReviewVerdict, as_object, of_object
from git_agent_runner.store import untold
from git_agent_runner.store.files.layout import HEX, Layout

_LARGEST = 1 << 20  # bytes


class ReviewOutcome(NamedTuple):
    """Of one commit: a verdict on `content`, or the `error` that kept the reviewer from one, as (code, message, hints).

    `unread` until somebody has looked at it; `host` where it was made, if a note says so; `noted`: the
    note has been written.
    """

    commit: str
    branch: str | None
    at: str
    engine: str | None = None
    handle: str | None = None
    content: str | None = None
    verdict: ReviewVerdict | None = None
    error: tuple[str, str, tuple[str, ...]] | None = None
    unread: bool = False
    host: str | None = None
    noted: bool = False

    @property
    def line(self) -> str | None:
        """For a person who did not wait; None where there is nothing to do."""
        which = self.commit[:7]
        if self.error:
            return f"{which} was not reviewed: {self.error[1]}"
        if self.verdict is None or not (self.verdict.blocks or self.verdict.findings):
            return None
        count = len(self.verdict.findings)
        findings = "1 finding" if count == 1 else f"{count} findings"
        word = "block" if self.verdict.blocks else "pass"
        return f"review of {which}: {word}, {findings}: git agent review --show {which}"


def save(layout: Layout, outcome: ReviewOutcome) -> None:
    """What cannot be written is only not listed. Of an unread one a person is told at the next command."""
    verdict = as_object(outcome.verdict) if outcome.verdict else None
    data = json.dumps({**outcome._asdict(), "verdict": verdict}).encode("utf-8", "replace")
    with suppress(UserError):
        atomic.make_dir(f"{layout.root}/verdicts/commits")
        atomic.write(_path(layout, outcome.commit), data)
        if outcome.unread and outcome.line:
            untold.add(layout, outcome.commit, outcome.line)


def read(layout: Layout, commit: str) -> ReviewOutcome | None:
    """None where there is none that we would have written."""
    from git_agent_extractors import ordinary

    try:
        found: Any = json.loads(ordinary.whole(_path(layout, commit), _LARGEST))
        verdict = of_object(found["verdict"]) if found["verdict"] else None
        code, message, hints = found["error"] or (None, "", ())
        error = (str(code), str(message), tuple(map(str, hints))) if code else None
        texts = [*(found[name] for name in ("branch", "at", "engine", "handle", "content")), found.get("host")]
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    if not all(text is None or type(text) is str for text in texts) or texts[1] is None or not (verdict or error):
        return None
    branch, at, engine, handle, content, host = texts
    return ReviewOutcome(
        commit,
        branch,
        at,
        engine,
        handle,
        content,
        verdict,
        error,
        found.get("unread") is True,
        host=host,
        noted=found.get("noted") is True,
    )


def every(layout: Layout) -> list[ReviewOutcome]:
    """The newest first."""
    folder = f"{layout.root}/verdicts/commits"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = [read(layout, name[:-5]) for name in names if name.endswith(".json") and _is_oid(name[:-5])]
    return sorted((one for one in found if one), key=lambda one: one.at, reverse=True)


def seen(layout: Layout, outcome: ReviewOutcome) -> None:
    if outcome.unread:
        save(layout, outcome._replace(unread=False))
    untold.drop(layout, outcome.commit)


def _path(layout: Layout, commit: str) -> str:
    return f"{layout.root}/verdicts/commits/{commit}.json"


def _is_oid(text: str) -> bool:
    return len(text) in (40, 64) and not text.strip(HEX)
