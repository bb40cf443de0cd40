"""Joining the notes of two clones: every run of both, and of two lines of one run the one that was written last.

Done with git's plumbing: `git notes merge` has crashed on trees that mix flat and fanned-out entries, and knows nothing
of times. Lines are sorted, so that two clones that join each other's notes end with the same.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from git_agent_runner import git
from git_agent_runner.core.model import Repository
from git_agent_runner.store import notes
from git_agent_runner.store.notes import RUNS, NoteBlob, Ref, writing

Tree = Mapping[str, list[NoteBlob]]  # commit -> its note: two entries where a merge left a flat and a fanned-out one


class Joined(NamedTuple):
    """What joining means. `texts` and `blobs`: commit -> its note, new or theirs as it is. `got` and `lacking` count
    the lines of runs that ours, and theirs, gain by it.
    """

    texts: dict[str, str]
    blobs: dict[str, str]
    got: int
    lacking: int


def compare(repo: Repository, ours: str, theirs: str, ref: Ref = RUNS) -> Joined:
    """Either may be empty: no notes at all."""
    mine, other = _tree(repo, ours), _tree(repo, theirs)
    differing = [commit for commit in {**mine, **other} if _oids(mine, commit) != _oids(other, commit)]
    sizes = {entry.oid: entry.size for side in (mine, other) for commit in differing for entry in side.get(commit, [])}
    known = notes.blob_texts(repo, {oid: size for oid, size in sizes.items() if 0 <= size <= notes.NOTE_LIMIT})
    joined = Joined({}, {}, 0, 0)
    for commit in differing:
        joined = _joined(joined, commit, mine.get(commit, []), other.get(commit, []), known, ref)
    return joined


def _joined(
    done: Joined, commit: str, mine: list[NoteBlob], other: list[NoteBlob], known: Mapping[str, str], ref: Ref
) -> Joined:
    """A note that is too large to be read is kept where it is, and taken where there is none."""
    if any(entry.oid not in known for entry in (*mine, *other)):
        return done if mine else done._replace(blobs={**done.blobs, commit: other[0].oid})
    ours = "\n".join(known[entry.oid] for entry in mine)
    theirs = "\n".join(known[entry.oid] for entry in other)
    text = union(ours, theirs, ref)
    got, lacking = len(_own(text, ref) - _own(ours, ref)), len(_own(text, ref) - _own(theirs, ref))
    done = done._replace(got=done.got + got, lacking=done.lacking + lacking)
    if text == ours or not other:
        return done
    if len(other) == 1 and text == theirs:
        done.blobs[commit] = other[0].oid
    else:
        done.texts[commit] = text
    return done


def union(ours: str, theirs: str, ref: Ref = RUNS) -> str:
    """The lines of both, each once; of two lines about the same, such as a run, the newer one."""
    chosen: dict[str, tuple[float, str]] = {}
    for line in (*ours.split("\n"), *theirs.split("\n")):
        known = ref.known(line)
        key, rank = (known[0], (known[1], line)) if known else (line, (0.0, line))
        if line.strip() and (key not in chosen or rank > chosen[key]):
            chosen[key] = rank
    return "".join(f"{line}\n" for line in sorted(line for _, line in chosen.values()))


def join(repo: Repository, theirs: str, remote: str, ref: Ref = RUNS) -> Joined:
    """Let our ref hold all of both, with both as its history, so that it can be pushed. Raises NoteFailed."""
    done = Joined({}, {}, 0, 0)

    def make(old: str) -> str:
        nonlocal done
        done = compare(repo, old, theirs, ref)
        new = theirs if not old else _merged(repo, old, theirs, done, remote)
        if new != old:
            notes.shared(repo, "update-ref", writing.PRIVATE, new)
        return new

    writing.update(repo, make, lambda: _is_behind(repo, theirs, ref.name), ref=ref.name)
    return done


def _merged(repo: Repository, ours: str, theirs: str, joined: Joined, remote: str) -> str:
    tree = _written(repo, ours, joined)
    if _is_behind(repo, theirs, ours) and tree == _tree_of(repo, ours):
        return ours
    if _is_behind(repo, ours, theirs) and tree == _tree_of(repo, theirs):
        return theirs
    words = ("commit-tree", tree, "-p", ours, "-p", theirs, "-m", f"notes of {remote}")
    made = notes.shared(repo, *words, check=False)
    if made.status:
        raise writing.NoteFailed(git.reason(made))
    return made.out.strip()


def _written(repo: Repository, ours: str, joined: Joined) -> str:
    """The tree of ours with what is joined in, made in an index of its own."""
    if not (joined.texts or joined.blobs):
        return _tree_of(repo, ours)
    mine = _tree(repo, ours)
    depth = next((entries[0].path.count("/") for entries in mine.values()), 0)
    blobs = {**joined.blobs, **{commit: _blob(repo, text) for commit, text in joined.texts.items()}}
    orders = [f"0 {'0' * len(ours)}\t{entry.path}\0" for commit in blobs for entry in mine.get(commit, [])]
    orders += [f"100644 {oid}\t{_path(commit, depth)}\0" for commit, oid in blobs.items()]
    with tempfile.TemporaryDirectory(prefix="git-agent-") as folder:
        env = {"GIT_INDEX_FILE": os.path.join(folder, "index")}

        def index(*words: str, stdin: str | None = None) -> str:
            own = ("-c", "core.splitIndex=false", *words)
            return git.run(own, git_dir=repo.common_dir, cwd=repo.common_dir, stdin=stdin, env=env).out.strip()

        index("read-tree", ours)
        index("update-index", "-z", "--index-info", stdin="".join(orders))
        return index("write-tree", "--missing-ok")  # an object that is lost here may be whole elsewhere


def _path(commit: str, depth: int) -> str:
    """As deep as the others: `ab/cd/ef…` is two."""
    heads = [commit[2 * level : 2 * level + 2] for level in range(depth)]
    return "/".join([*heads, commit[2 * depth :]])


def _blob(repo: Repository, text: str) -> str:
    return notes.shared(repo, "hash-object", "-w", "--stdin", stdin=text).out.strip()


def _tree_of(repo: Repository, commit: str) -> str:
    return notes.shared(repo, "rev-parse", f"{commit}^{{tree}}").out.strip()


def _is_behind(repo: Repository, old: str, new: str) -> bool:
    return notes.shared(repo, "merge-base", "--is-ancestor", old, new, check=False).status == 0


def _tree(repo: Repository, tip: str) -> Tree:
    """Anything but notes in it is not looked at."""
    found: dict[str, list[NoteBlob]] = {}
    for entry in notes.entries(repo, tip) if tip else ():
        found.setdefault(entry.commit, []).append(entry)
    return found


def _oids(tree: Tree, commit: str) -> list[str]:
    return sorted(entry.oid for entry in tree.get(commit, []))


def _own(text: str, ref: Ref) -> set[str]:
    return {line for line in re.findall(r"[^\n]+", text) if ref.known(line)}
