"""Notes: one line per run under refs/notes/agent, read with suspicion. `noting` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_agent_runner import git
from git_agent_runner.core.model import Note, Repository
from git_agent_runner.git.refs import NOTES
from git_agent_runner.git.settings import Config
from git_agent_runner.store import gitconfig
from git_agent_runner.store.notes import promised
from git_agent_runner.store.notes.noteline import age, is_to_come, parse, parse_line, render

__all__ = [
    "age",
    "is_to_come",
    "parse",
    "render",
]  # re-exported: who reads and writes notes need not know of their lines


class Ref(NamedTuple):
    """A ref of notes whose lines are ours. `known` tells what a line is about, and its age; None for any other line."""

    name: str
    known: Callable[[str], tuple[str, float] | None]


def _run(line: str) -> tuple[str, float] | None:
    note = parse_line(line)
    return (note.handle, age(note)) if note else None


REF = NOTES
RUNS = Ref(REF, _run)
NOTE_LIMIT = 1 << 20
BATCH_LIMIT = 16 << 20  # what one `cat-file` may print
MISSING = -1  # as a size
NEAR = 32  # commits; the nearest note is nearly always on one of these, and only their folders are listed then
FIRST_BATCH = 256  # notes; else it is nearly always among these


class Wrong(NamedTuple):
    """What could not be read of a commit's note, in words."""

    commit: str
    what: str
    comes: bool = False  # of a partial clone: what is not here is at its remote

    @property
    def problem(self) -> str:
        return f"note on {self.commit[:12]}: {self.what}"

    @property
    def fix(self) -> str:
        if self.comes:
            return "nothing: it is fetched by the next command that can reach the remote of this partial clone"
        return f"git notes --ref=agent edit {self.commit[:12]}"


class Notes(NamedTuple):
    """Commit -> its runs, newest first, and what could not be read."""

    by_commit: dict[str, tuple[Note, ...]]
    problems: tuple[Wrong, ...]


def exists(repo: Repository) -> bool:
    """Is there a notes ref at all? A fresh clone has none."""
    return bool(tip(repo, REF))


def read(repo: Repository) -> Notes:
    """All noted runs, in two git processes. A note whose commit is gone is read too."""
    return contents(repo, listing(repo))


def near(repo: Repository, commits: Sequence[str]) -> Notes:
    """The runs noted on these few commits; other notes are not looked at."""
    return contents(repo, listing(repo, commits[:NEAR]))


def nearest(repo: Repository, commits: Sequence[str], wanted: Callable[[Note], bool]) -> tuple[Note, ...]:
    """The wanted runs on the first of `commits` that has any, newest first."""
    for part in _parts(commits, NEAR):
        found = listing(repo, part)
        for batch in _parts([commit for commit in part if commit in found], FIRST_BATCH):
            notes = contents(repo, {commit: found[commit] for commit in batch}).by_commit
            for commit in batch:
                if runs := tuple(note for note in notes.get(commit, ()) if wanted(note)):
                    return runs
    return ()


def _parts(commits: Sequence[str], first: int) -> list[Sequence[str]]:
    """The first that many, and the rest."""
    return [part for part in (commits[:first], commits[first:]) if part]


class NoteBlob(NamedTuple):
    """One blob in a tree of notes. `size` is in bytes, MISSING where the object is not there: a damaged repository, or
    a partial clone whose remote is gone.
    """

    path: str
    oid: str
    size: int

    @property
    def commit(self) -> str:
        return self.path.replace("/", "")


def entries(repo: Repository, tip: str, places: Iterable[str] = (), *, check: bool = False) -> Iterator[NoteBlob]:
    """What the tree of notes holds, at these paths or all of it; what is no note is left out.

    Raises GitError where a part of it cannot be read and `check`; otherwise it is what can be.
    """
    lost = promised.lost(repo, tip)
    tree = shared(repo, "ls-tree", "-r", "-z", *(() if lost else ("-l",)), tip, *places, check=check)
    found = [(path, facts.split()) for facts, _, path in (entry.partition("\t") for entry in tree.out.split("\0")[:-1])]
    here = promised.sizes(repo, [facts[2] for _, facts in found if facts[2] not in lost]) if lost else {}
    for path, (_, kind, oid, *size) in found:
        known = here.get(oid, MISSING) if lost else int(size[0]) if size[0].isdigit() else MISSING
        entry = NoteBlob(path, oid, known)
        if kind == "blob" and len(entry.commit) == len(oid) and not entry.commit.strip("0123456789abcdef"):
            yield entry


def listing(
    repo: Repository, commits: Sequence[str] | None = None, ref: str = REF, *, check: bool = False
) -> dict[str, list[NoteBlob]]:
    """Commit (these, or all) -> note blobs: two where a merge left a flat and a fanned-out entry side by side."""
    found: dict[str, list[NoteBlob]] = {} if commits is None else {commit: [] for commit in commits}
    places = {place for commit in found for place in (commit, commit[:2])} if len(found) <= NEAR else ()
    for entry in entries(repo, ref, places, check=check):
        if commits is None or entry.commit in found:
            found.setdefault(entry.commit, []).append(entry)
    return {commit: blobs for commit, blobs in found.items() if blobs}


def listed(repo: Repository, ref: str = REF) -> tuple[str, ...]:
    """The commits that have a note, whatever it says."""
    return tuple(listing(repo, ref=ref))


def texts(repo: Repository, commits: Sequence[str], ref: str = REF) -> dict[str, str]:
    """The notes of these commits as they stand, without those that are too large; a commit without one is left out."""
    return _texts(repo, listing(repo, commits, ref))


def _texts(repo: Repository, listing: Mapping[str, list[NoteBlob]]) -> dict[str, str]:
    fit = {blob.oid: blob.size for blobs in listing.values() for blob in blobs if 0 <= blob.size <= NOTE_LIMIT}
    found = blob_texts(repo, fit)
    return {commit: "\n".join(found.get(blob.oid, "") for blob in blobs) for commit, blobs in listing.items()}


def blob_texts(repo: Repository, sizes: Mapping[str, int]) -> dict[str, str]:
    """Blob -> its text, of blobs whose sizes in bytes are known; one that is missing is left out."""
    return {oid: text for batch in _batches(sizes) for oid, text in _blobs(repo, batch)}


def contents(repo: Repository, listing: Mapping[str, list[NoteBlob]]) -> Notes:
    """What these notes say."""
    blobs = [(commit, blob) for commit, blobs in listing.items() for blob in blobs]
    large = f"larger than {NOTE_LIMIT >> 20} MiB, not read"
    problems = [Wrong(commit, large) for commit, blob in blobs if blob.size > NOTE_LIMIT]
    lost = [(commit, f"its object {blob.oid[:12]} is missing") for commit, blob in blobs if blob.size < 0]
    problems += [Wrong(*facts, comes=promised.is_partial(repo)) for facts in lost]
    by_commit = {}
    for commit, text in _texts(repo, listing).items():
        notes, wrong = parse(text, commit)
        problems += [Wrong(commit, what) for what in wrong]
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
    data = shared(repo, "cat-file", "--batch", stdin="\n".join(oids) + "\n").out.encode("utf-8", "surrogateescape")
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        oid, _, size = data[start:end].decode().partition(" ")
        if not size.startswith("blob "):  # `<oid> missing`: a partial clone, or a damaged repository
            start = end + 1
            continue
        stop = end + 1 + int(size.removeprefix("blob "))
        yield oid, data[end + 1 : stop].decode("utf-8", "surrogateescape")
        start = stop + 1


def tip(repo: Repository, ref: str) -> str:
    """The object that a ref names, empty when it does not exist."""
    return shared(repo, "rev-parse", "-q", "--verify", ref, check=False).out.strip()


def shared(repo: Repository, *words: str, stdin: str | None = None, check: bool = True) -> git.Result:
    """Notes belong to all work trees, so they do not need this one: an engine may have removed it."""
    return git.run(words, git_dir=repo.common_dir, cwd=repo.common_dir, stdin=stdin, check=check)


def ensure_config(repo: Repository) -> bool:
    """Let git carry notes through amend and rebase, and merge them line by line. True if something was added."""
    rewrite = gitconfig.put(repo, "notes.rewriteRef", REF, enough=_covers, add=True)
    return merge_by_lines(repo, RUNS) or rewrite


def merge_by_lines(repo: Repository, ref: Ref) -> bool:
    """Let git merge these notes line by line. True if that was added."""
    key = f"notes.{ref.name.removeprefix('refs/notes/')}.mergeStrategy"
    return gitconfig.put(repo, key, "cat_sort_uniq", enough=bool, add=True)


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
