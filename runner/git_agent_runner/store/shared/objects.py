"""Conversations in git's object store: read with suspicion, written with plumbing, never through an index.

refs/agent/sessions/<handle>                    at a remote: a commit for each state that was pushed
refs/agent/sessions-remote/<remote>/<handle>    here: that ref, as it was fetched or pushed last
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote as escaped

from git_agent_runner import git
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.model import Repository
from git_agent_runner.core.text import shown
from git_agent_runner.store import notes
from git_agent_runner.store.files.layout import is_handle
from git_agent_runner.store.shared import form
from git_agent_runner.store.shared.form import Manifest

SESSIONS = "refs/agent/sessions/"
_COMMIT = 64 << 10  # bytes
_TREE = 8 << 20


class SharedState(NamedTuple):
    """One commit of a conversation: what it says, and git's names of the pieces that its tree holds."""

    commit: str
    manifest: Manifest
    blobs: Mapping[str, str]  # SHA-256 -> object name


class Sender(NamedTuple):
    """Who made a commit and when, as it says itself, and whose good signature it has, if any."""

    name: str
    when: str
    signed: str
    signers: tuple[str, ...]


def tracking(remote: str, handle: str = "") -> str:
    """A remote may be called what no ref may: anything odd is written as `%XX`."""
    name = escaped(remote, safe="").replace(".", "%2E").replace("~", "%7E")
    return f"{SESSIONS.removesuffix('/')}-remote/{name}/{handle}"


def here(repo: Repository, remote: str) -> dict[str, str]:
    """Handle -> commit, of all conversations that were fetched from that remote."""
    prefix = tracking(remote)
    told = notes.shared(repo, "for-each-ref", "--format=%(objectname) %(refname)", prefix).out
    pairs = (line.partition(" ") for line in told.splitlines())
    return {ref.removeprefix(prefix): commit for commit, _, ref in pairs if is_handle(ref.removeprefix(prefix))}


def read(repo: Repository, commit: str, handle: str) -> SharedState:
    """Raises UserError `conversation_refused` for what is not a state of that run's conversation."""
    try:
        return _state(repo, commit, handle)
    except ValueError as error:
        raise refused(handle, error) from error


def refused(handle: str, why: object) -> UserError:
    return UserError(
        f"the conversation of run {handle} that was fetched cannot be used: {shown(str(why))}",
        code="conversation_refused",
        hints=("nothing of it was put anywhere; ask who pushed it to push it again",),
    )


def _state(repo: Repository, commit: str, handle: str) -> SharedState:
    asked = (commit, f"{commit}^{{tree}}")
    sizes = notes.shared(
        repo, "cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin="".join(f"{one}\n" for one in asked)
    ).out.splitlines()
    for line, kind, most in zip(sizes, ("commit", "tree"), (_COMMIT, _TREE), strict=False):
        found, _, size = line.partition(" ")
        if found != kind or int(size) > most:
            raise ValueError(f"there is no {kind} of usual size")
    entries = _entries(repo, commit)
    name, length = entries.pop(form.MANIFEST, ("", -1))
    if not 0 <= length <= form.LONGEST:
        raise ValueError("it has no manifest of usual size")
    manifest = form.parse(_blobs(repo, {name: length})[name], handle)
    wanted = {part.sha256: part.size for file in manifest.files for part in file.parts}
    for sum_, expected in wanted.items():
        if entries.get(sum_, ("", -1))[1] != expected:
            raise ValueError(f"piece {sum_[:12]} is missing, or of another size than it says")
    return SharedState(commit, manifest, {sum_: entries[sum_][0] for sum_ in wanted})


def _entries(repo: Repository, commit: str) -> dict[str, tuple[str, int]]:
    """Name -> (object, size) of the ordinary files in the tree."""
    listed = notes.shared(repo, "ls-tree", "-z", "-l", commit).out.split("\0")[:-1]
    found = ((facts.split(), name) for facts, _, name in (entry.partition("\t") for entry in listed))
    return {
        name: (facts[2], int(facts[3]))
        for facts, name in found
        if facts[:2] == ["100644", "blob"] and facts[3].isdigit()
    }


def contents(repo: Repository, state: SharedState) -> dict[str, bytes]:
    """Path -> what the file holds. Raises UserError `conversation_refused` where a piece is not what its name says."""
    sizes = {state.blobs[part.sha256]: part.size for file in state.manifest.files for part in file.parts}
    found = _blobs(repo, sizes)
    whole = {}
    for file in state.manifest.files:
        pieces = [found.get(state.blobs[part.sha256], b"") for part in file.parts]
        if form.file(file.path, pieces) != file:
            raise refused(state.manifest.handle, f"a piece of '{file.path}' is damaged")
        whole[file.path] = b"".join(pieces)
    return whole


def _blobs(repo: Repository, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Object -> its bytes. Their sizes were asked for before: git unpacks no more than that."""
    return {oid: text.encode("utf-8", "surrogateescape") for oid, text in notes.blob_texts(repo, sizes).items()}


def sender(repo: Repository, commit: str) -> Sender:
    words = ("show", "-s", "--no-show-signature", "--format=%cn <%ce>%x00%cI%x00%G?%x00%GS%x00%GF%x00%GK", commit)
    name, when, signed, *signers = notes.shared(repo, *words, check=False).out.rstrip("\n").split("\0")
    return Sender(name, when, signed, tuple(signers))


def write(
    repo: Repository, manifest: Manifest, pieces: Mapping[str, bytes], parents: tuple[SharedState, ...], *, sign: bool
) -> str:
    """Make a commit of this state; of the pieces, those that no parent has are stored. Raises GitError."""
    known = {sum_: oid for state in parents for sum_, oid in state.blobs.items()}
    new = {sum_: data for sum_, data in pieces.items() if sum_ not in known}
    made = _stored(repo, {form.MANIFEST: form.render(manifest), **new})
    wanted = {part.sha256 for file in manifest.files for part in file.parts}
    entries = {form.MANIFEST: made[form.MANIFEST], **{sum_: made.get(sum_) or known[sum_] for sum_ in wanted}}
    lines = "".join(f"100644 blob {oid}\t{name}\0" for name, oid in entries.items())
    tree = notes.shared(repo, "mktree", "-z", stdin=lines).out.strip()
    return commit(repo, tree, [state.commit for state in parents], f"conversation of run {manifest.handle}", sign=sign)


def joined(repo: Repository, first: str, other: str, handle: str, *, sign: bool) -> str:
    """A commit that leaves the first state as it is, and keeps the other one in its history. Raises GitError."""
    message = f"run {handle} went different ways; this is the first one's"
    return commit(repo, f"{first}^{{tree}}", [first, other], message, sign=sign)


def commit(repo: Repository, tree: str, parents: list[str], message: str, *, sign: bool) -> str:
    above = [word for parent in parents for word in ("-p", parent)]
    return notes.shared(repo, "commit-tree", tree, *above, "-m", message, *(["-S"] if sign else [])).out.strip()


def _stored(repo: Repository, named: Mapping[str, bytes]) -> dict[str, str]:
    """Name -> object, by one git for all of them."""
    with tempfile.TemporaryDirectory(prefix="git-agent-") as folder:
        for name, data in named.items():
            path = os.path.join(folder, name)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
        paths = "".join(f"{folder}/{name}\n" for name in named)
        made = notes.shared(repo, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths).out.split()
    return dict(zip(named, made, strict=True))


def at_remote(repo: Repository, remote: str, handle: str = "*") -> dict[str, str]:
    """Handle -> commit, as the remote has them now. Raises GitError."""
    told = git.run(("ls-remote", "--quiet", remote, f"{SESSIONS}{handle}"), git_dir=repo.git_dir, cwd=repo.top).out
    pairs = (line.partition("\t") for line in told.splitlines())
    found = {ref.removeprefix(SESSIONS): oid for oid, _, ref in pairs if ref.startswith(SESSIONS)}
    return {name: oid for name, oid in found.items() if is_handle(name)}


def fetch(repo: Repository, remote: str, wanted: Mapping[str, str]) -> None:
    """Bring these (handle -> commit) here, those that are not. A partial clone gets them whole. Raises GitError."""
    known = here(repo, remote)
    lacking = [handle for handle, oid in wanted.items() if known.get(handle) != oid]
    if lacking:
        own = ("--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--no-filter")
        refspecs = "".join(f"+{SESSIONS}{handle}:{tracking(remote, handle)}\n" for handle in lacking)
        words = ("fetch", "--quiet", *own, "--stdin", remote)
        git.run(words, git_dir=repo.git_dir, cwd=repo.top, stdin=refspecs)


def push(repo: Repository, remote: str, new: Mapping[str, str]) -> dict[str, str]:
    """Handle -> why the server did not take that ref, of those that it did not; "" in `new` deletes it.

    What it took is what we know of it from then on.
    """
    words = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", remote)
    specs = (f"{oid}:{SESSIONS}{handle}" for handle, oid in new.items())
    done = git.run((*words, *specs), git_dir=repo.git_dir, cwd=repo.top, check=False)
    told = {}
    for line in done.out.splitlines():
        flag, _, rest = line.partition("\t")
        refs, _, summary = rest.partition("\t")
        handle = refs.partition(":")[2].removeprefix(SESSIONS)
        if handle in new:
            told[handle] = "" if flag in (" ", "*", "=", "-", "+") else summary
    failed = {handle: told.get(handle, git.reason(done)) for handle in new if told.get(handle, "-")}
    orders = "".join(
        f"update {tracking(remote, handle)}\0{oid}\0\0" if oid else f"delete {tracking(remote, handle)}\0\0"
        for handle, oid in new.items()
        if handle not in failed
    )
    notes.shared(repo, "update-ref", "-z", "--stdin", stdin=orders)
    return failed
