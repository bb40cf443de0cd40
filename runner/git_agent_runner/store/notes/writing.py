"""Writing notes: by compare-and-swap, under our own lock, and read back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from git_agent_runner import git
from git_agent_runner.core import checkpoints
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Record, Repository
from git_agent_runner.store import notes
from git_agent_runner.store.files import locks
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.notes import noteline

# Where a note is made before the swap. One name is enough under our lock, and what a killed writer left is overwritten.
PRIVATE = "refs/notes/agent-write"
PAUSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
LOCK_WAIT = 30.0


class NoteFailed(UserError):  # noqa: N818  named for what happened, as the callers read it
    """The note could not be written. The run stands anyway; the caller makes one warning of it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the note could not be written: {reason}", code="note_failed")
        self.reason = reason


def write(
    repo: Repository,
    commit: str | None,
    record: Record,
    *,
    sleep: Callable[[float], None] = time.sleep,
    wait: float = LOCK_WAIT,
) -> None:
    """Put the record's line into the note of `commit`, in place of an older line of its handle. Raises NoteFailed.

    All other lines stay byte for byte. `wait` is in seconds, for another that writes notes. A run with another role
    than work is in no note: elsewhere it would be taken for the branch's.
    """
    if record.role != "work":
        return
    if commit is None:
        raise NoteFailed("there is no commit yet")
    write_line(repo, notes.RUNS, commit, noteline.render(record), sleep=sleep, wait=wait)


def write_line(
    repo: Repository,
    ref: notes.Ref,
    commit: str,
    line: str,
    *,
    sleep: Callable[[float], None] = time.sleep,
    wait: float = LOCK_WAIT,
) -> None:
    """Put a line into the note of `commit`, in place of an older one about the same. Raises NoteFailed."""
    if ref.known(line) is None:
        raise NoteFailed("its line would be too long, or lacks a required key")

    made = ""

    def make(old: str) -> str:
        nonlocal made
        before = note_text(repo, ref.name, commit)
        if line in before.split("\n"):
            return old
        begin(repo, old)
        made = put(repo, commit, _replaced(before, ref, line))
        return notes.tip(repo, PRIVATE)

    update(repo, make, lambda: not made or _blob(repo, ref.name, commit) == made, sleep, wait=wait, ref=ref.name)


def update(
    repo: Repository,
    make: Callable[[str], str],
    landed: Callable[[], bool],
    sleep: Callable[[float], None] = time.sleep,
    *,
    wait: float = LOCK_WAIT,
    ref: str = notes.REF,
) -> None:
    """Let the ref name the notes commit that `make` gives, on top of the old one, and ask whether it `landed`.

    Our own lock saves retries; the swap also protects what others write. Raises NoteFailed.
    """
    try:
        with locks.locked(Layout(repo.common_dir).lock("notes"), wait=wait):
            checkpoints.at("note-locked")
            _update(repo, make, landed, sleep, ref)
            checkpoints.at("note-written")
    except git.GitError as error:
        raise NoteFailed(git.reason(error.result)) from None
    except UserError as error:
        raise error if isinstance(error, NoteFailed) else NoteFailed(error.message) from None


def _update(
    repo: Repository, make: Callable[[str], str], landed: Callable[[], bool], sleep: Callable[[float], None], ref: str
) -> None:
    for pause in PAUSES:
        sleep(pause)
        try:
            old = standing(repo, ref)
            if (new := make(old)) != old:
                checkpoints.at("note-made")
                _swap(repo, ref, old, new)
        except git.GitError as error:
            failed = error
            continue
        if landed():
            return
        raise NoteFailed(f"another program has removed it from {ref}")
    raise NoteFailed(f"{ref} cannot be updated: {git.reason(failed.result)}")


def standing(repo: Repository, ref: str = notes.REF) -> str:
    """The notes commit, empty for none. Raises NoteFailed where the ref stands for another: that would be moved."""
    told = notes.shared(repo, "for-each-ref", "--format=%(objectname) %(symref)", ref, check=False).out
    line = next((line for line in told.split("\n") if line), "")
    old, _, target = line.partition(" ")
    if target or (not old and (target := _link(repo, ref))):
        raise NoteFailed(f"{ref} is a symbolic ref to {target}; remove it: git symbolic-ref -d {ref}")
    return old


def _link(repo: Repository, ref: str) -> str:
    return notes.shared(repo, "symbolic-ref", "-q", ref, check=False).out.rstrip("\n")


def begin(repo: Repository, old: str) -> None:
    """Let the private ref stand where ours does."""
    notes.shared(repo, "update-ref", *((PRIVATE, old) if old else ("-d", PRIVATE)))


def put(repo: Repository, commit: str, text: str) -> str:
    """Make `text`, byte for byte, the note of `commit` under the private ref; its blob. Raises NoteFailed, GitError."""
    blob = notes.shared(repo, "hash-object", "-w", "--stdin", stdin=text).out.strip()
    # -C takes the blob as it is; -F would trim blanks and squeeze the empty lines of others.
    added = notes.shared(repo, "notes", f"--ref={PRIVATE}", "add", "-f", "-C", blob, commit, check=False)
    if added.status and notes.shared(repo, "var", "GIT_COMMITTER_IDENT", check=False).status:
        raise NoteFailed("git does not know who you are; set user.name and user.email")
    if added.status:
        raise NoteFailed(git.reason(added))
    return blob


def _swap(repo: Repository, ref: str, old: str, new: str) -> None:
    """Move the ref from `old` to `new` and drop the private one, both or neither."""
    orders = f"update {ref}\0{new}\0{old or '0' * len(new)}\0delete {PRIVATE}\0{new}\0"
    notes.shared(repo, "update-ref", "-z", "--stdin", stdin=orders)


def _replaced(text: str, ref: notes.Ref, line: str) -> str:
    """The note with our line where the first one about the same was, or at the end."""
    whole = text if text.endswith("\n") or not text else f"{text}\n"
    lines: list[str] = []
    pending = [f"{line}\n"]
    about = (ref.known(line) or ("",))[0]
    for old in re.findall(r".*\n", whole):  # not splitlines: that also splits at U+2028 and others
        if (known := ref.known(old.removesuffix("\n"))) and known[0] == about:
            lines, pending = [*lines, *pending], []
        else:
            lines.append(old)
    return "".join([*lines, *pending])


def _blob(repo: Repository, ref: str, commit: str) -> str:
    return notes.shared(repo, "notes", f"--ref={ref}", "list", commit, check=False).out.strip()


def note_text(repo: Repository, ref: str, commit: str) -> str:
    """The whole note under that ref; empty when there is none. Raises NoteFailed for one that is too large."""
    blob = _blob(repo, ref, commit)
    if not blob:
        return ""
    if int(notes.shared(repo, "cat-file", "-s", blob).out) > notes.NOTE_LIMIT:
        raise NoteFailed(f"the note on {commit[:12]} is larger than {notes.NOTE_LIMIT >> 20} MiB")
    return notes.shared(repo, "cat-file", "blob", blob).out
