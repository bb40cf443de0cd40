"""What every command starts from: the repository, its runs, the person's settings. Read once, then passed on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from git_agent_runner.core.clock import moment
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository, Settings
from git_agent_runner.git import discover
from git_agent_runner.git import settings as reading
from git_agent_runner.git.embedded import refuse_tracked_runs
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records.document import ignore
from git_agent_runner.store.records.index import Index

if TYPE_CHECKING:
    from git_agent_runner.engines.probe import Probe
    from git_agent_runner.engines.spec import Engine


_LATEST = 253402300800.0 - 2 * 86400  # seconds since the epoch; four digits of a year, and room for a day


class Context(NamedTuple):
    """`cwd` is the real path of the person's directory; `environ` is the person's environment, untouched."""

    repo: Repository
    layout: Layout
    runs: Index
    settings: Settings
    config: reading.Config
    environ: Mapping[str, str]
    cwd: str


def load(
    environ: Mapping[str, str] = os.environ,
    refused: Callable[[UserError], None] | None = None,
    warn: Callable[[str], None] = ignore,
    *,
    tell: bool = True,
) -> Context:
    """Load it. Raises UserError if there is no repository with a work tree, or a setting is invalid.

    `refused` gets such settings instead, and they count as not set. `warn`: see Index. `tell`: a line on stderr for
    each review that has ended in the background.
    """
    _refuse_odd_clock()
    cwd = _here()
    repo = discover(cwd, environ)
    settings, config = reading.load(repo, environ, refused)
    layout = Layout(repo.common_dir)
    refuse_tracked_runs(repo, layout.root)
    if tell:
        _tell_reviews(layout)
    ctx = Context(repo, layout, Index(layout, warn), settings, config, environ, cwd)
    if os.path.isdir(f"{layout.root}/snapshots"):  # a killed git-agent's, or one at work
        from git_agent_runner.store import spare_trees

        spare_trees.clean(repo, layout)
    return ctx


def look() -> Context:
    """For commands that only read: an invalid setting is only a warning. One that is not the person's own is still
    refused.
    """
    return load(refused=_warned, warn=once())


def once() -> Callable[[str], None]:
    """A function that prints each warning only once: a record is read more than once."""
    printed: set[str] = set()

    def warn(text: str) -> None:
        from git_agent_runner.console import lines

        if text not in printed:
            printed.add(text)
            lines.warn(text, ("git agent doctor",))

    return warn


def _warned(error: UserError) -> None:
    from git_agent_runner.console.lines import warn

    if error.code != "invalid_setting":
        raise error
    warn(f"{error.message}; it is ignored", error.hints)


def _tell_reviews(layout: Layout) -> None:
    if not os.path.isdir(f"{layout.root}/verdicts/untold"):
        return
    from git_agent_runner.console.lines import say
    from git_agent_runner.store import untold

    for line in untold.take(layout):
        say(line)


def _refuse_odd_clock() -> None:
    """Raises UserError `clock_wrong` for a time that no record can hold."""
    now = time.time()
    if not 0 <= now < _LATEST:
        year = time.gmtime(now).tm_year
        raise UserError(
            f"this machine's clock is in the year {year}", code="clock_wrong", hints=("set it, for example: date -s",)
        )


def _here() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except FileNotFoundError:
        raise UserError(
            "the current directory no longer exists", code="directory_gone", hints=("cd to one that does",)
        ) from None


def find_program(ctx: Context, engine: Engine) -> Probe:
    """The engine's program and version, by the person's settings. Raises UserError as `probe` does."""
    from git_agent_runner.engines.probe import probe, user_cache_dir  # a list needs no engine

    setting = ctx.settings.binaries.get(engine.name)
    return probe(engine, setting, ctx.environ, user_cache_dir(ctx.environ), ctx.repo.top)


def own_value(ctx: Context, key: str) -> str | None:
    """Git's setting `key`, unless it comes from a file in a work tree."""
    from git_agent_runner.git.refs import worktrees
    from git_agent_runner.git.settings import inside_work_tree

    entry = next((entry for entry in reversed(ctx.config.entries) if entry.key == key), None)
    if entry is None or any(inside_work_tree(ctx.repo, entry.file, tree.path) for tree in worktrees(ctx.repo)):
        return None
    return entry.value


def later(*before: str, than: float | None = None) -> str:
    """The current timestamp (or `than`, in seconds since the epoch), never earlier than the last of `before`: the
    clock may have been set back. A clock that is wrong by more than a day is not believed.
    """
    now = time.time()
    seen = [then for then in map(moment, before) if then is not None and then < now + 86400]
    return timestamp(datetime.fromtimestamp(max([now if than is None else than, *seen]), UTC))


def timestamp(moment: datetime | None = None) -> str:
    """A moment (now) as records keep it: ISO 8601, UTC, milliseconds, a trailing Z."""
    return f"{(moment or datetime.now(UTC)).astimezone(UTC).isoformat(timespec='milliseconds')[:-6]}Z"
