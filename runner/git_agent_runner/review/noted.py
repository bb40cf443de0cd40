"""Verdicts in notes: one line `- {json}` for each, under refs/notes/agent-reviews, on the commit that was reviewed.

Anyone who can push may have written one, so a line is read with suspicion, and whether it counts is `door`'s question.
A verdict is about content, not about a commit: `content` says which, and an amend that changes it leaves the line void.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from git_agent_runner.core.clock import moment
from git_agent_runner.core.model import Repository
from git_agent_runner.core.secrets import redacted
from git_agent_runner.review.verdict import ReviewVerdict, as_object, of_object
from git_agent_runner.store import notes
from git_agent_runner.store.files.layout import HEX, is_handle

SCHEMA = 1
KEYS = ("content", "engine", "handle", "reviewedAt", "host")
_LARGEST = 32 << 10  # bytes of a line; a note of them stays small enough to be read
_TEXT = 2000  # characters of a finding, or of the summary


class Noted(NamedTuple):
    """A verdict, on the content whose name `memory.content` gives. `handle` names the run of the clone on `host`."""

    content: str
    engine: str
    handle: str
    reviewed_at: str
    host: str
    verdict: ReviewVerdict


def render(noted: Noted) -> str:
    """Its line; findings for which there is no room are left out."""
    from git_agent_runner.store.records import json_line  # for writers only

    verdict = noted.verdict
    own = [found._replace(text=redacted(found.text)[:_TEXT], file=found.file[:_TEXT]) for found in verdict.findings]
    while True:
        short = ReviewVerdict(verdict.blocks, redacted(verdict.summary)[:_TEXT], tuple(own))
        facts = dict(zip(KEYS, noted[:-1], strict=True))
        line = f"- {json_line({'schema': SCHEMA, **facts, **as_object(short)})}"
        if not own or len(line.encode("utf-8", "replace")) <= _LARGEST:
            return line
        own = own[: len(own) // 2]


def parse_line(line: str) -> Noted | None:
    """The verdict that this line is, None for anything else."""
    if not line.startswith("- {") or len(line.encode("utf-8", "surrogateescape")) > _LARGEST:
        return None
    try:
        return _checked(json.loads(line[2:]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _checked(known: dict[str, Any]) -> Noted:
    """Raises ValueError, KeyError or TypeError for anything but a verdict."""
    texts = [known[name] for name in KEYS]
    if type(known["schema"]) is not int or not all(type(text) is str and text.isprintable() for text in texts):
        raise TypeError(known)
    content, engine, handle, reviewed_at, host = texts
    verdict = of_object(known)
    if (
        not host
        or not content
        or content.strip(HEX)
        or not is_handle(handle)
        or moment(reviewed_at) is None
        or verdict is None
    ):
        raise ValueError(known)
    json.dumps(as_object(verdict), ensure_ascii=False).encode()  # no lone surrogates
    return Noted(content, engine, handle, reviewed_at, host, verdict)


def _known(line: str) -> tuple[str, float] | None:
    noted = parse_line(line)
    return (f"{noted.content} {noted.engine} {noted.host}", moment(noted.reviewed_at) or 0.0) if noted else None


REVIEWS = notes.Ref("refs/notes/agent-reviews", _known)


def write(repo: Repository, commit: str, noted: Noted) -> None:
    """Raises NoteFailed."""
    from git_agent_runner.store.notes import writing

    writing.write_line(repo, REVIEWS, commit, render(noted))
    notes.merge_by_lines(repo, REVIEWS)  # it is not to copy them through an amend: see `content`


def read(repo: Repository, commits: Sequence[str]) -> dict[str, list[Noted]]:
    """The verdicts on these commits, the newest of each first."""
    return {commit: _of(text) for commit, text in notes.texts(repo, commits, REVIEWS.name).items()}


def every(repo: Repository) -> tuple[str, ...]:
    """The commits that have a note of a review."""
    return notes.listed(repo, REVIEWS.name)


def _of(text: str) -> list[Noted]:
    found = [noted for line in text.split("\n") if (noted := parse_line(line))]
    return sorted(found, key=lambda noted: moment(noted.reviewed_at) or 0.0, reverse=True)
