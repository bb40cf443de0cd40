"""Notes: one line per run under refs/notes/agent, read with suspicion and written by compare-and-swap."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_agent_runner import git
from git_agent_runner.errors import UserError
from git_agent_runner.model import Note, Record, Repository
from git_agent_runner.settings import Config
from git_agent_runner.store import gitconfig, locks
from git_agent_runner.store.layout import Layout
from git_agent_runner.store.noteline import age, parse, parse_line, render

__all__ = ["age", "parse", "render"]  # re-exported: who reads and writes notes need not know of their lines

REF = "refs/notes/agent"
# Where a note is made before the swap. One name is enough under our lock, and what a killed writer left is overwritten.
PRIVATE = "refs/notes/agent-write"

NOTE_LIMIT = 1 << 20
BATCH_LIMIT = 16 << 20  # what one `cat-file` may print
NEAR = 32  # commits; the nearest note is nearly always on one of these, and only their folders are listed then
FIRST_BATCH = 256  # notes; else it is nearly always among these
PAUSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
LOCK_WAIT = 30.0


class NoteFailed(UserError):  # noqa: N818  named for what happened, as the callers read it
    """The note could not be written. The run stands all the same; the caller makes one warning of it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the note could not be written: {reason}", code="note_failed")
        self.reason = reason


class Notes(NamedTuple):
    """Commit -> its runs, newest first, and what could not be read, in words."""

    by_commit: dict[str, tuple[Note, ...]]
    problems: tuple[str, ...]


def exists(repo: Repository) -> bool:
    """Is there a notes ref at all? A fresh clone has none."""
    return bool(_tip(repo, REF))


def read(repo: Repository) -> Notes:
    """All noted runs, in two git processes. A note whose commit is gone is read too."""
    return _contents(repo, _listing(repo))


def nearest(repo: Repository, commits: Sequence[str], wanted: Callable[[Note], bool]) -> tuple[Note, ...]:
    """The wanted runs on the first of `commits` that has any, newest first."""
    for part in _parts(commits, NEAR):
        found = _listing(repo, part)
        for batch in _parts([commit for commit in part if commit in found], FIRST_BATCH):
            notes = _contents(repo, {commit: found[commit] for commit in batch}).by_commit
            for commit in batch:
                if runs := tuple(note for note in notes.get(commit, ()) if wanted(note)):
                    return runs
    return ()


def _parts(commits: Sequence[str], first: int) -> list[Sequence[str]]:
    """The first so many, and the rest."""
    return [part for part in (commits[:first], commits[first:]) if part]


class _Blob(NamedTuple):
    oid: str
    size: int


def _listing(repo: Repository, commits: Sequence[str] | None = None) -> dict[str, list[_Blob]]:
    """Commit (these, or all) -> note blobs: two where a merge left a flat and a fanned-out entry side by side."""
    found: dict[str, list[_Blob]] = {} if commits is None else {commit: [] for commit in commits}
    places = {place for commit in found for place in (commit, commit[:2])} if len(found) <= NEAR else ()
    tree = _shared(repo, "ls-tree", "-r", "-z", "-l", REF, *places, check=False)
    for entry in tree.out.split("\0")[:-1]:
        facts, _, path = entry.partition("\t")
        commit = path.replace("/", "")
        if commits is not None and commit not in found:
            continue
        _, kind, oid, size = facts.split()
        if kind == "blob" and len(commit) == len(oid) and not commit.strip("0123456789abcdef"):
            found.setdefault(commit, []).append(_Blob(oid, int(size)))
    return {commit: blobs for commit, blobs in found.items() if blobs}


def _contents(repo: Repository, listing: Mapping[str, list[_Blob]]) -> Notes:
    problems = [
        f"note on {commit[:12]}: larger than {NOTE_LIMIT >> 20} MiB, not read"
        for commit, blobs in listing.items()
        if any(blob.size > NOTE_LIMIT for blob in blobs)
    ]
    fit = {blob.oid: blob.size for blobs in listing.values() for blob in blobs if blob.size <= NOTE_LIMIT}
    texts = {oid: text for batch in _batches(fit) for oid, text in _blobs(repo, batch)}
    by_commit = {}
    for commit, blobs in listing.items():
        notes, wrong = parse("\n".join(texts.get(blob.oid, "") for blob in blobs), commit)
        problems += [f"note on {commit[:12]}: {text}" for text in wrong]
        if notes:
            by_commit[commit] = tuple(notes)
    return Notes(by_commit, tuple(problems))


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    batch: list[str] = []
    total = 0
    for oid, size in sizes.items():
        if batch and total + size > BATCH_LIMIT:
            yield batch
            batch, total = [], 0
        batch.append(oid)
        total += size
    if batch:
        yield batch


def _blobs(repo: Repository, oids: list[str]) -> Iterator[tuple[str, str]]:
    data = _shared(repo, "cat-file", "--batch", stdin="\n".join(oids) + "\n").out.encode("utf-8", "surrogateescape")
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        oid, _, size = data[start:end].decode().partition(" ")
        if not size.startswith("blob "):  # `<oid> missing`: a partial clone, or a damaged repository
            start = end + 1
            continue
        stop = end + 1 + int(size.removeprefix("blob "))
        yield oid, data[end + 1 : stop].decode("utf-8", "surrogateescape")
        start = stop + 1


def write(repo: Repository, commit: str | None, record: Record, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Put the record's line into the note of `commit`, in place of an older line of its handle. Raises NoteFailed.

    All other lines stay byte for byte. Our own lock saves retries; the swap also protects what others write.
    """
    if commit is None:
        raise NoteFailed("there is no commit yet")
    try:
        with locks.locked(Layout(repo.common_dir).lock("notes"), wait=LOCK_WAIT):
            _write(repo, commit, record, sleep)
    except git.GitError as error:
        raise NoteFailed(git.reason(error.result)) from None
    except UserError as error:
        raise error if isinstance(error, NoteFailed) else NoteFailed(error.message) from None


def _write(repo: Repository, commit: str, record: Record, sleep: Callable[[float], None]) -> None:
    line = render(record)
    if parse_line(line) is None:
        raise NoteFailed("its line would be too long, or lacks what a note must say")
    for pause in PAUSES:
        sleep(pause)
        try:
            old = _tip(repo, REF)
            new = _make(repo, old, commit, record.handle, line)
            _swap(repo, old, new)
        except git.GitError as error:
            failed = error
            continue
        if line in _note_text(repo, REF, commit).split("\n"):
            return
        raise NoteFailed(f"another program has removed it from {REF}")
    raise NoteFailed(f"{REF} cannot be updated: {git.reason(failed.result)}")


def _make(repo: Repository, old: str, commit: str, handle: str, line: str) -> str:
    """A notes commit on top of `old`, under the private ref; its name."""
    _shared(repo, "update-ref", *((PRIVATE, old) if old else ("-d", PRIVATE)))
    text = _replaced(_note_text(repo, PRIVATE, commit), handle, line)
    blob = _shared(repo, "hash-object", "-w", "--stdin", stdin=text).out.strip()
    # -C takes the blob as it is; -F would trim blanks and squeeze the empty lines of others.
    added = _shared(repo, "notes", f"--ref={PRIVATE}", "add", "-f", "-C", blob, commit, check=False)
    if added.status and _shared(repo, "var", "GIT_COMMITTER_IDENT", check=False).status:
        raise NoteFailed("git does not know who you are; set user.name and user.email")
    if added.status:
        raise NoteFailed(git.reason(added))
    return _tip(repo, PRIVATE)


def _swap(repo: Repository, old: str, new: str) -> None:
    """Move the ref from `old` to `new` and drop the private one, both or neither."""
    orders = f"update {REF}\0{new}\0{old or '0' * len(new)}\0delete {PRIVATE}\0{new}\0"
    _shared(repo, "update-ref", "-z", "--stdin", stdin=orders)


def _replaced(text: str, handle: str, line: str) -> str:
    """The note with our line where the handle's first one was, or at the end."""
    whole = text if text.endswith("\n") or not text else f"{text}\n"
    lines: list[str] = []
    pending = [f"{line}\n"]
    for old in re.findall(r".*\n", whole):  # not splitlines: that also splits at U+2028 and others
        if (note := parse_line(old)) and note.handle == handle:
            lines, pending = [*lines, *pending], []
        else:
            lines.append(old)
    return "".join([*lines, *pending])


def _note_text(repo: Repository, ref: str, commit: str) -> str:
    blob = _shared(repo, "notes", f"--ref={ref}", "list", commit, check=False).out.strip()
    if not blob:
        return ""
    if int(_shared(repo, "cat-file", "-s", blob).out) > NOTE_LIMIT:
        raise NoteFailed(f"the note on {commit[:12]} is larger than {NOTE_LIMIT >> 20} MiB")
    return _shared(repo, "cat-file", "blob", blob).out


def _tip(repo: Repository, ref: str) -> str:
    return _shared(repo, "rev-parse", "-q", "--verify", ref, check=False).out.strip()


def _shared(repo: Repository, *words: str, stdin: str | None = None, check: bool = True) -> git.Result:
    """Notes belong to all work trees, so they do not need this one: an engine may have removed it."""
    return git.run(words, git_dir=repo.common_dir, cwd=repo.common_dir, stdin=stdin, check=check)


def ensure_config(repo: Repository) -> bool:
    """Let git carry notes through amend and rebase, and merge them line by line. True if something was added."""
    rewrite = gitconfig.put(repo, "notes.rewriteRef", REF, enough=_covers, add=True)
    return gitconfig.put(repo, "notes.agent.mergeStrategy", "cat_sort_uniq", enough=bool, add=True) or rewrite


def carried(config: Config) -> bool:
    """Does git carry our notes through amend and rebase already?"""
    return _covers(list(config.all("notes.rewriteref")))


def show_notes(repo: Repository) -> bool:
    """Let `git log` show our notes. True if something was added."""
    return gitconfig.put(repo, "notes.displayRef", REF, enough=_covers, add=True)


def _covers(values: list[str]) -> bool:
    """Do these refs and patterns, some perhaps the person's own, name our ref already?"""
    from fnmatch import fnmatchcase

    return any(fnmatchcase(REF, value) for value in values)
