"""`git-agent-message`: an agent proposes the commit message that a person is about to edit.

It is shown the change as text, and works in a copy. Where it has none in time, a comment in the file says why.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from git_agent_extractors import ordinary
from git_agent_hooks.fired import Fired
from git_agent_runner.console.aloud import say_past
from git_agent_runner.context import Context, load
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.text import CONTROL, shown
from git_agent_runner.git import in_repo

if TYPE_CHECKING:
    from git_agent_runner.review.content import Change

TIMEOUT = 20.0  # seconds that a person waits for the editor
LARGEST = 16 << 20  # bytes of git's file, which holds the change after `git commit -v`
LONGEST = 16 << 10  # characters of a message
DIFF = 200 << 10  # bytes of the change that are shown
SUBJECTS = 10  # of the last commits: how messages are written here
_TASK = """{style}
Write the message of the commit that is about to be made here: a subject line, and where it needs one an empty line and
a body that says why. Write it as the last messages are written. Answer with the message alone, without a code fence.
Change no file.
"""
_FENCE = re.compile(r"\s*```[^\n]*\n(.*?)\n```\s*", re.DOTALL)
_LATER = ":"  # what git calls the editor where it opens none


class Style(NamedTuple):
    """`words` are the team's own, on how messages are written."""

    words: str
    engine: str | None
    timeout: float | None


def wanted(fired: Fired) -> bool:
    """Is the message still empty, and will a person see it in an editor?"""
    source = fired.args[1] if len(fired.args) > 1 else ""
    return bool(fired.args and fired.args[0]) and not source and fired.environ.get("GIT_EDITOR") != _LATER


def propose(fired: Fired, style: Style) -> int:
    """Write the proposed message into git's file; 1 if there is none. Raises UserError if the file cannot be
    written."""
    ctx = load()
    path = os.path.join(ctx.repo.top, fired.args[0])
    mark = _comment(ctx)
    try:
        text, status = _cleaned(_asked(ctx, style), mark), 0
    except UserError as error:
        text, status = f"{mark} git-agent: no message: {shown(error.message)}\n", 1
    try:
        before = ordinary.whole(path, LARGEST)
        added = text.encode("utf-8", "replace")
        after = _commented(before, added, mark.encode()) if status else added + before
        atomic.write(path, after, stat.S_IMODE(os.stat(path).st_mode))
    except OSError as error:
        raise UserError(f"cannot read the message: {error.strerror}", code="write_failed") from error
    return status


def _asked(ctx: Context, style: Style) -> str:
    """The agent's answer. Raises UserError."""
    from git_agent_runner.process.parent import git_gone
    from git_agent_runner.review import content
    from git_agent_runner.review.fixing import held
    from git_agent_runner.review.fixing.check import Checked
    from git_agent_runner.review.fixing.door import FixRequest, Ways, after, make
    from git_agent_runner.review.fixing.snapshot import snapshot

    if hold := held.hold(ctx.environ, ctx.repo.git_dir, ctx.repo.common_dir, held.above()):
        raise UserError(f"{hold.manager} has set your unstaged changes aside", code="held")
    limit = style.timeout or TIMEOUT
    line = f"writes a commit message, for at most {limit:g} s; Ctrl-C ends it"
    ways = Ways(git_gone(), lambda engine: say_past(f"{engine} {line}", ctx.environ), after(limit))
    change = content.staged(ctx)
    request = FixRequest(engine=style.engine, prompt=_prompt(ctx, change, style.words), role="message")
    with snapshot(ctx, content.commit_to_see(ctx, change), style.engine) as snap:
        made = make(ctx, snap, request, ways, Checked(True, ""))
    if made.status != "completed":
        raise UserError(f"{made.engine}, run {made.handle}: {made.status}", code="no_message")
    return made.words or ""


def _prompt(ctx: Context, change: Change, words: str) -> str:
    from git_agent_runner.core.data import fenced
    from git_agent_runner.review import content

    seen = content.shown(ctx, change, (), DIFF)
    log = ("log", f"-{SUBJECTS}", "--no-show-signature", "--format=%s", "HEAD", "--")
    parts = [_TASK.format(style=words.rstrip()).lstrip(), fenced("the change", seen.patch)]
    if seen.left_out:
        parts.append(fenced("a list of what is not shown", "\n".join(map(shown, seen.left_out))))
    if subjects := in_repo(ctx.repo, *log, check=False).out:
        parts.append(fenced("the subjects of the last commits", subjects))
    return "".join(parts)


def _comment(ctx: Context) -> str:
    """What begins a comment in git's file. If it is to be chosen by the message, there is none yet."""
    for key in ("core.commentString", "core.commentChar"):
        if found := in_repo(ctx.repo, "config", "--get", key, check=False).out.strip("\n"):
            return "#" if found == "auto" else found
    return "#"


def _cleaned(words: str, mark: str) -> str:
    """The message as git would clean it: a line that begins like a comment is dropped. Raises UserError if nothing is
    left."""
    fence = _FENCE.fullmatch(words)
    text = (fence[1] if fence else words).replace("\r\n", "\n").strip()[:LONGEST]
    text = CONTROL.sub(lambda found: found[0] if found[0] in "\n\t" else "", text)
    if not text.strip():
        raise UserError("the agent proposed none", code="no_message")
    return "".join(f" {line}\n" if line.startswith(mark) else f"{line}\n" for line in text.split("\n"))


def _commented(before: bytes, comment: bytes, mark: bytes) -> bytes:
    """The message as comments above git's own comments; below git's scissors line they would not count."""
    lines = before.splitlines(keepends=True)
    place = next((place for place, line in enumerate(lines) if line.startswith(mark)), len(lines))
    place += place < len(lines) and b" >8 " in lines[place]
    return b"".join([*lines[:place], comment, *lines[place:]])
