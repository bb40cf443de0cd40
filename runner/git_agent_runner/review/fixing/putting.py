"""Putting what an agent changed into index and work tree of the person: all of it, where it is clean, or nothing."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.core.errors import UserError
from git_agent_runner.git import Result, run
from git_agent_runner.review.fixing import swap
from git_agent_runner.review.fixing.snapshot import ABSENT, ChangedPath
from git_agent_runner.review.fixing.swap import Busy, Content

PATIENCE = 2.0  # seconds that another git may take with the index
_LINK, _PROGRAM = "120000", "100755"


class Step(NamedTuple):
    path: str
    old: Content | None
    new: Content | None


def put(ctx: Context, entries: Sequence[ChangedPath], indexes: Sequence[str], spare: str) -> str | None:
    """Change these entries of the indexes, and the files of the work tree; why not, where it is not clean.

    Files are looked at as git has them, so that line ends and filters are as the person's. What the person has changed
    in a file stays, and so does what is written to it meanwhile.
    """
    try:
        with ExitStack() as held:
            hidden = [_change(ctx, held.enter_context(_locked(index)), entries) for index in indexes][-1]
            gone = {entry.path for entry in entries if entry.new_mode == ABSENT}
            _write(ctx, [_step(ctx, entry, gone) for entry in entries if entry.path not in hidden], spare)
    except Busy as error:
        return str(error)
    return None


@contextmanager
def _locked(index: str) -> Iterator[str]:
    """A copy of the index, in git's own lock of it, which takes its place afterwards."""
    lock = f"{index}.lock"
    until = time.monotonic() + PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))
            break
        except FileExistsError:
            if time.monotonic() > until:
                raise Busy("another git process is using the index") from None
            time.sleep(0.02)
    try:
        if os.path.exists(index):
            shutil.copyfile(index, lock)
        elif os.path.basename(index) == "index":  # nothing was ever staged
            os.unlink(lock)
        else:
            raise Busy("the index that git commits from is missing")
        yield lock
        os.rename(lock, index)
    except OSError as error:
        raise Busy(f"the index cannot be written: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock)


def _change(ctx: Context, index: str, entries: Sequence[ChangedPath]) -> set[str]:
    """The names whose files a sparse checkout leaves out."""
    env = {"GIT_INDEX_FILE": index, "GIT_LITERAL_PATHSPECS": "1"}
    names = [entry.path for entry in entries]
    now: dict[str, str] = {}
    hidden: set[str] = set()
    for line in _git(ctx, "ls-files", "-s", "-t", "-z", "--", *names, env=env).out.split("\0")[:-1]:
        facts, _, name = line.partition("\t")
        tag, _, now[name] = facts.partition(" ")
        if tag == "S":
            hidden.add(name)
    for entry in entries:
        expected = None if entry.old_mode == ABSENT else f"{entry.old_mode} {entry.old} 0"
        if now.get(entry.path) != expected:
            raise Busy(f"{entry.path}: something else has been staged since")
    lines = (f"{'0' if entry.new_mode == ABSENT else entry.new_mode} {entry.new}\t{entry.path}\0" for entry in entries)
    _git(ctx, "update-index", "-z", "--index-info", env=env, stdin="".join(lines))
    still = (f"{entry.path}\0" for entry in entries if entry.path in hidden and entry.new_mode != ABSENT)
    _git(ctx, "update-index", "-z", "--skip-worktree", "--stdin", env=env, stdin="".join(still))
    return hidden


def _write(ctx: Context, steps: Sequence[Step], spare: str) -> None:
    """All of them, what goes first, since a file may stand where a directory was. Where one fails, all are undone."""
    done: list[Step] = []
    try:
        for step in sorted(steps, key=lambda step: step.new is not None):
            now = _moved(ctx, step, spare)
            done.append(step._replace(new=now))
    except BaseException:
        for step in reversed(done):
            with suppress(Busy):  # somebody has continued what was put there
                _moved(ctx, Step(step.path, step.new, step.old), spare)
        raise


def _moved(ctx: Context, step: Step, spare: str) -> Content | None:
    """One of them; what is there then. Directories come and go with their files, as git has it."""
    full = f"{ctx.repo.top}/{step.path}"
    folder = os.path.dirname(full)
    try:
        if step.new:
            os.makedirs(folder, exist_ok=True)
        now = swap.put(full, _beside(folder, spare), step.old, step.new)
    except Busy as error:
        raise Busy(f"{step.path}: {error}") from error
    except OSError as error:
        raise Busy(f"{step.path}: {error.strerror}") from error
    finally:
        if step.old is None or step.new is None:
            with suppress(OSError):
                os.removedirs(folder)  # those that are empty
    return now


def _beside(folder: str, spare: str) -> str:
    """Files change places on one file system only."""
    return spare if os.stat(folder).st_dev == os.stat(spare).st_dev else folder


def _step(ctx: Context, entry: ChangedPath, gone: Set[str]) -> Step:
    full = f"{ctx.repo.top}/{entry.path}"
    _refuse_links(ctx, entry.path, gone)
    try:
        new_file = entry.old_mode == ABSENT and os.path.isdir(full) and not os.path.islink(full)
        now = None if new_file else swap.read(full)
        return Step(entry.path, now, _wanted(ctx, entry, now))
    except Busy as error:
        raise Busy(f"{entry.path}: {error}") from error


def _refuse_links(ctx: Context, path: str, gone: Set[str]) -> None:
    """git has no file below a link."""
    parts = path.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        name = "/".join(parts[:count])
        folder = f"{ctx.repo.top}/{name}"
        if name not in gone and os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder)):
            raise Busy(f"{path}: '{name}' is not a directory")


def _wanted(ctx: Context, entry: ChangedPath, now: Content | None) -> Content | None:
    """What the file is to be. Raises Busy where that does not go together with what it is."""
    if now is None or entry.old_mode == ABSENT:
        if (now is None) != (entry.old_mode == ABSENT):
            raise Busy("you have deleted it" if now is None else "it is there already")
        return _checked_out(ctx, entry, entry.new)
    if stat.S_ISLNK(now.mode) != (entry.old_mode == _LINK):
        raise Busy("you have changed its type")
    mine = _blob(ctx, entry.path, now)
    if mine == entry.old:
        return _as_it_ends(ctx, entry, now, _checked_out(ctx, entry, entry.new))
    if entry.new_mode == ABSENT or _LINK in (entry.old_mode, entry.new_mode):
        raise Busy("you have changed it as well")
    blobs = [_content(ctx, oid) for oid in (entry.old, entry.new, mine)]
    both = swap.merged(blobs[0], blobs[1], blobs[2])
    if both is None:
        raise Busy("your changes conflict with these")
    oid = _git(ctx, "hash-object", "-w", "--stdin", stdin=both.decode("utf-8", "surrogateescape")).out.strip()
    return _as_it_ends(ctx, entry, now, _checked_out(ctx, entry, oid))


def _as_it_ends(ctx: Context, entry: ChangedPath, now: Content, new: Content | None) -> Content | None:
    """With the person's permissions, and, where git does not care, his line ends."""
    if new is None or _LINK in (entry.old_mode, entry.new_mode):
        return new
    mode = now.mode
    if entry.old_mode != entry.new_mode:
        mode = mode | (mode & 0o444) >> 2 if entry.new_mode == _PROGRAM else mode & ~0o111
    new = new._replace(mode=mode)
    if b"\r\n" in now.data and now.data.count(b"\n") == now.data.count(b"\r\n") and b"\r" not in new.data:
        ended = new._replace(data=new.data.replace(b"\n", b"\r\n"))
        if _blob(ctx, entry.path, ended) == _blob(ctx, entry.path, new):
            return ended
    return new


def _checked_out(ctx: Context, entry: ChangedPath, oid: str) -> Content | None:
    """As git would write it."""
    if entry.new_mode == ABSENT:
        return None
    if entry.new_mode == _LINK:
        return Content(_content(ctx, oid), stat.S_IFLNK | 0o777)
    mask = os.umask(0)
    os.umask(mask)
    text = _git(ctx, "cat-file", "--filters", f"--path={entry.path}", oid).out
    mode = stat.S_IFREG | (0o777 if entry.new_mode == _PROGRAM else 0o666) & ~mask
    return Content(text.encode("utf-8", "surrogateescape"), mode)


def _blob(ctx: Context, path: str, content: Content) -> str:
    """The name of what git would store."""
    text = content.data.decode("utf-8", "surrogateescape")
    filters = ("--no-filters",) if stat.S_ISLNK(content.mode) else (f"--path={path}",)
    words = ("-c", "core.safecrlf=false", "hash-object", "-w", "--stdin", *filters)
    return _git(ctx, *words, stdin=text).out.strip()


def _content(ctx: Context, oid: str) -> bytes:
    return _git(ctx, "cat-file", "blob", oid).out.encode("utf-8", "surrogateescape")


def _git(ctx: Context, *words: str, env: dict[str, str] | None = None, stdin: str | None = None) -> Result:
    top = ctx.repo.top
    try:
        return run(words, git_dir=ctx.repo.git_dir, cwd=top, env={"GIT_WORK_TREE": top, **(env or {})}, stdin=stdin)
    except UserError as error:
        raise Busy(error.message) from error
