"""Where policies are read from, and which tracked file may be one of them.

Each of on_dead, on_error, on_idle and on_ci is taken whole from the first place that has it:

    agent.onDead, agent.onError and so on           git config, never from a file inside a work tree
    <common git dir>/agent/policies.toml           this repository, on this machine
    a tracked file                                 only after `git agent allow FILE`, and only as it was then
    <configuration directory>/git-agent/policies.toml
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import quote
from git_agent_runner.engines import added
from git_agent_runner.git.refs import worktrees
from git_agent_runner.git.settings import ConfigEntry, inside_work_tree
from git_agent_runner.unattended.policies import form
from git_agent_runner.unattended.policies.model import Policy, Trigger

FILE = "policies.toml"
_SETTINGS: dict[str, Trigger] = {
    "agent.ondead": "on_dead",
    "agent.onerror": "on_error",
    "agent.onidle": "on_idle",
    "agent.onci": "on_ci",
}


class Allowed(NamedTuple):
    """A tracked file that the person has allowed: its path from the top of the work tree, and what it held then."""

    path: str
    digest: str


def load(ctx: Context, warn: Callable[[str], None]) -> Policy:
    """All that is to be done here. Raises UserError `policy_invalid`, `policy_changed`, `policy_in_repository`."""
    merged = Policy()
    for found in _found(ctx, warn):
        fresh = {
            name: value
            for name, value in found._asdict().items()
            if name != "origins" and value and not getattr(merged, name)
        }
        if fresh:
            merged = merged._replace(**fresh, origins=(*merged.origins, *found.origins))
    return merged


def _found(ctx: Context, warn: Callable[[str], None]) -> Iterator[Policy]:
    """In the order in which they count."""
    for trigger in _SETTINGS.values():
        yield _of_settings(ctx, trigger, warn)
    for path in (os.path.join(ctx.layout.root, FILE), users_file(ctx)):
        if path == users_file(ctx) and (allowed := allowed_file(ctx)):
            yield _of_tracked(ctx, allowed, warn)
        if os.path.lexists(path):
            _refuse_tracked(ctx, path)
            yield form.read(_text(path), path, warn)


def users_file(ctx: Context) -> str:
    return os.path.join(os.path.dirname(added.folder(ctx.environ)), FILE)


def _of_settings(ctx: Context, trigger: Trigger, warn: Callable[[str], None]) -> Policy:
    """The last value counts, as with all of git's; of `agent.onError` each value of that file is a rule."""
    entries = [entry for entry in ctx.config.entries if _SETTINGS.get(entry.key) == trigger]
    if not entries:
        return Policy()
    last = entries[-1]
    rows = [entry for entry in entries if (entry.scope, entry.file) == (last.scope, last.file)]
    if trigger != "on_error":
        rows = [last]
    found = [form.read_setting(trigger, entry.value or "", _origin(entry), warn) for entry in rows]
    return found[-1]._replace(on_error=tuple(rule for one in found for rule in one.on_error))


def _origin(entry: ConfigEntry) -> str:
    section, _, name = entry.key.partition(".")
    spelled = {"ondead": "onDead", "onerror": "onError", "onidle": "onIdle", "onci": "onCi"}[name]
    return f"{section}.{spelled} in '{entry.file}'" if entry.file else f"{section}.{spelled} on the command line"


def _of_tracked(ctx: Context, allowed: Allowed, warn: Callable[[str], None]) -> Policy:
    path = os.path.join(ctx.repo.top, allowed.path)
    if not os.path.lexists(path):
        return Policy()  # another branch may not have it
    text = _text(path)
    if _digest(text) != allowed.digest:
        raise UserError(
            f"'{allowed.path}' has changed since you approved it",
            code="policy_changed",
            hints=(f"read it, then: git agent allow {quote(allowed.path)}", "or do without it: git agent allow --none"),
        )
    return form.read(text, allowed.path, warn)


def allow(ctx: Context, path: str, warn: Callable[[str], None]) -> tuple[Allowed, Policy]:
    """Record that the file, as it is now, may say what is to be done. Raises UserError for what is no policy."""
    real = os.path.realpath(os.path.join(ctx.cwd, path))
    relative = os.path.relpath(real, ctx.repo.top)
    if relative.startswith(os.pardir + os.sep):
        raise UserError(
            f"'{path}' is not in this work tree",
            code="policy_elsewhere",
            hints=(f"your own policies file is '{users_file(ctx)}'",),
        )
    text = _text(real)
    found = form.read(text, relative, warn)
    allowed = Allowed(relative, _digest(text))
    atomic.make_dir(ctx.layout.root)
    atomic.write(_allowed_path(ctx), f"{allowed.digest} {relative}\n".encode("utf-8", "surrogateescape"))
    return allowed, found


def allow_none(ctx: Context) -> None:
    atomic.remove(_allowed_path(ctx))


def allowed_file(ctx: Context) -> Allowed | None:
    try:
        text = ordinary.whole(_allowed_path(ctx), 1 << 16).decode("utf-8", "surrogateescape")
        digest, _, path = text.rstrip("\n").partition(" ")
    except OSError:
        return None
    return Allowed(path, digest) if path else None


def _allowed_path(ctx: Context) -> str:
    return os.path.join(ctx.layout.root, "allowed-policies")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(path: str) -> str:
    try:
        content = ordinary.head(path, form.LARGEST + 1)
        text = content.decode()
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8") from None
    if len(content) > form.LARGEST:
        raise _unreadable(path, f"it is larger than {form.LARGEST >> 10} KiB")
    return text


def _unreadable(path: str, reason: str) -> UserError:
    return UserError(
        f"cannot read '{path}': {reason}", code="policy_invalid", hints=("it must be a readable file of UTF-8 text",)
    )


def _refuse_tracked(ctx: Context, path: str) -> None:
    if any(inside_work_tree(ctx.repo, path, tree.path) for tree in worktrees(ctx.repo)):
        raise UserError(
            f"'{path}' leads into a work tree, whose content must not choose what runs",
            code="policy_in_repository",
            hints=("allow that file itself: git agent allow FILE",),
        )
