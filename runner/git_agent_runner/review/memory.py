"""What reviews leave behind, below `agent/reviews`: verdicts by what they are about, and the session of each branch."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record
from git_agent_runner.review.content import Shown
from git_agent_runner.review.verdict import ReviewVerdict, as_object, of_object
from git_agent_runner.store import gitconfig
from git_agent_runner.store.files.layout import is_handle

_LARGEST = 1 << 20  # bytes
_PIECE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_PLACE = re.compile(r"^index .*\n|(?<=^@@).*", re.MULTILINE)
_KEY = "agentreview"


class KnownVerdict(NamedTuple):
    """A verdict, the run it came from, and what was reviewed: a commit or a tree."""

    verdict: ReviewVerdict
    handle: str
    new: str


def key(*parts: str) -> str:
    """The name for a verdict on exactly this: engine, flags, content."""
    return sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]


def content(rules: str | None, shown: Shown) -> str:
    """The name for what is looked at: rules, the patch wherever in its files it lies, and what is left out of it."""
    pieces = (_bare(patch) if "\n@@ " in patch else patch for patch in _PIECE.split(shown.patch))
    return key(rules or "", *pieces, "\0", *shown.left_out, *shown.unseen)


def _bare(patch: str) -> str:
    """Without line numbers, and without the names of the whole files; a binary file has nothing but those."""
    return _PLACE.sub("", patch)


def read(ctx: Context, name: str) -> KnownVerdict | None:
    """None where there is none that we would have written."""
    try:
        found: Any = json.loads(ordinary.whole(f"{ctx.layout.root}/reviews/{name}.json", _LARGEST))
        verdict, handle, new = of_object(found["verdict"]), found["handle"], found["new"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    good = verdict is not None and type(handle) is str and is_handle(handle) and type(new) is str
    return KnownVerdict(verdict, handle, new) if good and verdict is not None else None


def write(ctx: Context, name: str, known: KnownVerdict) -> None:
    """What cannot be written is only asked for again."""
    value = {"verdict": as_object(known.verdict), "handle": known.handle, "new": known.new}
    with suppress(UserError):
        atomic.make_dir(f"{ctx.layout.root}/reviews")
        atomic.write(f"{ctx.layout.root}/reviews/{name}.json", json.dumps(value).encode("utf-8", "replace"))


def session(ctx: Context, engine: str) -> Record | None:
    """The run that reviewed this branch last, if that engine can continue it."""
    own, name = f"{ctx.repo.common_dir}/config", f"branch.{ctx.repo.branch}.{_KEY}"
    handles = [entry.value for entry in ctx.config.entries if (entry.file, entry.key) == (own, name)]
    if ctx.repo.branch is None or not handles or not is_handle(handles[-1] or ""):
        return None
    with suppress(UserError):
        record = ctx.runs.read(handles[-1] or "")
        ours = record.role == "review" and os.path.dirname(record.cwd) == f"{ctx.layout.root}/reviews"
        return record if ours and record.agent_name == engine and record.session.value else None
    return None


def remember(ctx: Context, handle: str) -> None:
    """Git moves this key with the branch and removes it with it, as it does the pointer."""
    if ctx.repo.branch:
        with suppress(UserError):
            gitconfig.put(
                ctx.repo, f"branch.{ctx.repo.branch}.agentReview", handle, enough=lambda values: values == [handle]
            )
