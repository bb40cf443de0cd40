"""What git knows of branches, work trees and commits: questions, one git process each, and nothing written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from git_agent_extractors import ordinary
from git_agent_runner.core.model import Repository
from git_agent_runner.git import HEADS, Result, in_repo, run, short_name

ORIGIN = "refs/remotes/origin/"
NOTES = "refs/notes/agent"


class Branches(NamedTuple):
    """Local branches, short name -> tip, and the branch that others start from.

    `default` is a short name, None when nothing tells; `bases` are the commits that its local and remote sides name.
    """

    heads: dict[str, str]
    default: str | None
    bases: tuple[str, ...]


class ReflogEntry(NamedTuple):
    """One entry of a reflog: when, in seconds since the epoch, and git's words for what was done."""

    when: int
    what: str


class Worktree(NamedTuple):
    """A work tree whose directory exists. `branch` is checked out there, or is being rebased or bisected there."""

    path: str
    branch: str | None


class CommitSummary(NamedTuple):
    """A commit for a person: full name, first line, author's name, author time in seconds since the epoch."""

    oid: str
    subject: str
    author: str
    when: int


class Base(NamedTuple):
    """What others start from: `default` and `bases` as of `Branches`, and the tip of the notes, empty without any."""

    default: str | None
    bases: tuple[str, ...]
    notes: str


def branches(repo: Repository, init_default: str | None) -> Branches:
    """All local branches. `init_default` is the configured init.defaultBranch."""
    found = _named(repo, HEADS, f"{ORIGIN}HEAD")
    heads = {name: oid for ref, (oid, _) in found.items() if (name := short_name(ref))}
    return _with_default(heads, found.get(f"{ORIGIN}HEAD", ("", "")), init_default)


def base(repo: Repository, init_default: str | None) -> Base:
    """As of `branches`, without looking at all of them."""
    likely = [HEADS + name for name in (init_default, "main", "master") if name]
    found = _named(repo, *likely, f"{ORIGIN}HEAD", NOTES)
    oid, target = found.get(f"{ORIGIN}HEAD", ("", ""))
    default = HEADS + target.removeprefix(ORIGIN) if target.startswith(ORIGIN) else None
    if default and default not in likely:
        found |= _named(repo, default)
    heads = {name: found[ref][0] for ref in (*likely, default) if ref in found and (name := short_name(ref))}
    known = _with_default(heads, (oid, target), init_default)
    return Base(known.default, known.bases, found.get(NOTES, ("", ""))[0])


def _named(repo: Repository, *patterns: str) -> dict[str, tuple[str, str]]:
    """Full name -> object, and for a symbolic one what it names."""
    out = in_repo(repo, "for-each-ref", "--format=%(refname) %(objectname) %(symref)", *patterns).out
    facts = (line.split(" ") for line in out.split("\n")[:-1])
    return {ref: (oid, target) for ref, oid, target in facts}


def _with_default(heads: dict[str, str], origin: tuple[str, str], init_default: str | None) -> Branches:
    oid, target = origin
    if target.startswith(ORIGIN):
        default = target.removeprefix(ORIGIN)
        local = (heads[default],) if default in heads else ()
        return Branches(heads, default, (*local, oid))
    for name in (init_default, "main", "master"):
        if name in heads:
            return Branches(heads, name, (heads[name],))
    return Branches(heads, None, ())


def worktrees(repo: Repository) -> list[Worktree]:
    """The main work tree, if there is one, and the linked ones."""
    return repo.once("worktrees", _worktrees)


def _worktrees(repo: Repository) -> list[Worktree]:
    out = in_repo(repo, "worktree", "list", "--porcelain", "-z").out
    found = []
    for number, block in enumerate(out.split("\0\0")[:-1]):
        facts = dict(line.partition(" ")[::2] for line in block.split("\0"))
        # Git takes the git directory of a submodule, or a separate one, for the path of its main work tree.
        own = number == 0 and repo.git_dir == repo.common_dir
        path = repo.top if own else facts["worktree"]
        if "bare" not in facts and path == repo.common_dir:
            path = run(("rev-parse", "--show-toplevel"), cwd=path, check=False).out.rstrip("\n")
        if "bare" in facts or not os.path.isdir(path) or (number and not _leads_back(path, repo)):
            continue
        git_dir = repo.git_dir if path == repo.top else _admin(path) if number else repo.common_dir
        found.append(Worktree(path, short_name(facts.get("branch", "")) or busy_branch(git_dir)))
    return found


class Stray(NamedTuple):
    """A linked work tree that git lists and that does not lead back: `copied`, it is that of another repository."""

    path: str
    copied: bool


def astray(repo: Repository, branch: str) -> Stray | None:
    """Where git believes a branch to be checked out, wrongly, after this repository was moved or copied."""
    out = in_repo(repo, "worktree", "list", "--porcelain", "-z").out
    for block in out.split("\0\0")[1:-1]:
        facts = dict(line.partition(" ")[::2] for line in block.split("\0"))
        if facts.get("branch") == HEADS + branch and (stray := stray_at(repo, facts["worktree"])):
            return stray
    return None


def stray_at(repo: Repository, path: str) -> Stray | None:
    """The linked work tree at that path, if one is there that does not lead back here."""
    if not os.path.isfile(f"{path}/.git") or _leads_back(path, repo):
        return None
    return Stray(path, os.path.isdir(_admin(path)))


def _admin(path: str) -> str:
    """The administrative directory that a linked work tree names."""
    return os.path.realpath(os.path.join(path, _first_line(f"{path}/.git").removeprefix("gitdir: ")))


def newest(repo: Repository, oids: list[str]) -> str | None:
    """One of these commits that none of the others comes from; None where nothing has any of them."""
    orders = "".join(f"{oid}\n" for oid in sorted({*oids} - missing(repo, oids)))
    words = ("rev-list", "--topo-order", "--max-count=1", "--stdin")
    return (in_repo(repo, *words, stdin=orders, check=False).out.rstrip("\n") or None) if orders else None


def _leads_back(path: str, repo: Repository) -> bool:
    """Is the linked work tree this repository's? To a copied repository git lists those of the original."""
    return path == repo.top or os.path.dirname(_admin(path)) == f"{os.path.realpath(repo.common_dir)}/worktrees"


def is_nested(path: str, top: str) -> bool:
    """Does this directory of a work tree lie in another repository inside of it: a submodule, a clone?"""
    while path not in (top, os.path.dirname(path)):
        if os.path.lexists(os.path.join(path, ".git")):
            return True
        path = os.path.dirname(path)
    return False


def busy_branch(git_dir: str) -> str | None:
    """The branch that a work tree with a detached HEAD is rebasing or bisecting.

    Git tells it only in translated prose, so its own state files are read; they are no ref storage.
    """
    for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
        if branch := short_name(_first_line(f"{git_dir}/{name}")):
            return branch
    start = _first_line(f"{git_dir}/BISECT_START")  # a branch's short name, or a commit
    return start if start and not is_oid(start) else None


def busy_commit(git_dir: str) -> str | None:
    """The commit that HEAD was detached at before the rebase or bisect that continues."""
    for name in ("rebase-merge/orig-head", "rebase-apply/orig-head", "BISECT_START"):
        if is_oid(oid := _first_line(f"{git_dir}/{name}")):
            return oid
    return None


def _first_line(path: str) -> str:
    try:
        return ordinary.head(path, 1 << 16).decode("utf-8", "surrogateescape").partition("\n")[0]
    except OSError:
        return ""


def is_oid(text: str) -> bool:
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")


def commit_of(repo: Repository, revision: str) -> str | None:
    """The full name of the commit a person's revision means, None if there is no such commit."""
    words = ("rev-parse", "-q", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    return in_repo(repo, *words, check=False).out.rstrip("\n") or None


def is_shallow(repo: Repository) -> bool:
    """Is the history cut off, as `git clone --depth` leaves it?"""
    return in_repo(repo, "rev-parse", "--is-shallow-repository").out == "true\n"


def missing(repo: Repository, oids: Iterable[str]) -> set[str]:
    """Those of these full object names that nothing has any more, in one process."""
    asked = list(dict.fromkeys(oids))
    if not asked:
        return set()
    out = in_repo(repo, "cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in asked)).out
    return {oid for oid, line in zip(asked, out.split("\n"), strict=False) if line == f"{oid} missing"}


def reachable(repo: Repository, oids: Iterable[str], tip: str) -> set[str]:
    """Those of these commits that are the tip or behind it, in two processes, however many are asked for."""
    asked = {oid for oid in oids if is_oid(oid)}
    asked -= missing(repo, asked)
    if not asked:
        return set()
    orders = "".join(f"{oid}\n" for oid in asked) + f"^{tip}\n"
    beyond = in_repo(repo, "rev-list", "--stdin", stdin=orders, check=False)
    return asked - set(beyond.out.split("\n")) if beyond.status == 0 else set()


def merged(repo: Repository, bases: Iterable[str]) -> set[str]:
    """The short names of the branches whose every commit one of these has."""
    found = set()
    for base in bases:
        out = in_repo(repo, "for-each-ref", "--format=%(refname)", f"--merged={base}", HEADS).out
        found |= {name for line in out.split("\n") if (name := short_name(line))}
    return found


def history(repo: Repository, tip: str, without: Iterable[str] = (), limit: int | None = None) -> list[str]:
    """Commits reachable from `tip` and not from `without`, newest first; all of them, or the first `limit`."""
    count = () if limit is None else (f"--max-count={limit}",)
    done = in_repo(repo, "rev-list", *count, "--end-of-options", tip, *(f"^{base}" for base in without), check=False)
    return done.out.split("\n")[:-1]


def trunk(repo: Repository, tip: str) -> list[str]:
    """The commits that a branch with this tip has named, as far as its first parents tell."""
    done = in_repo(repo, "rev-list", "--first-parent", "--end-of-options", tip, check=False)
    return done.out.split("\n")[:-1]


def reflog(repo: Repository, branch: str) -> list[ReflogEntry] | None:
    """What was done to this branch, the oldest first; empty where nothing was written down, None without a branch."""
    done = _reflog(repo, HEADS + branch)
    return None if done.status else _entries(done.out).get(branch, [])


def begins_at(repo: Repository, branch: str, since: float) -> bool:
    """Was the branch made at that second, with which its reflog begins? Other programs than git leave no words that
    say so; before the first entry of one of which some have expired there was a commit.
    """
    entries = reflog(repo, branch)
    if not entries or entries[0].when != since:
        return False
    words = ("rev-parse", "-q", "--verify", f"{HEADS}{branch}@{{{len(entries)}}}")
    return in_repo(repo, *words, check=False).status != 0


def reflogs(repo: Repository, names: Iterable[str] | None = None) -> dict[str, list[ReflogEntry]]:
    """As `reflog`, of these branches, all of which must exist, or of all branches, in one process."""
    asked = [f"--glob={HEADS}*"] if names is None else [HEADS + name for name in names]
    return _entries(_reflog(repo, *asked).out) if asked else {}


def _reflog(repo: Repository, *asked: str) -> Result:
    words = ("log", "-g", "--no-show-signature", "--format=%gD %gs", "--date=unix", *asked, "--")
    return in_repo(repo, *words, check=False)


def _entries(out: str) -> dict[str, list[ReflogEntry]]:
    found: dict[str, list[ReflogEntry]] = {}
    for line in reversed(out.split("\n")[:-1]):
        selector, _, what = line.partition(" ")
        ref, _, when = selector.rstrip("}").rpartition("@{")
        if (name := short_name(ref)) and when.isdigit():
            found.setdefault(name, []).append(ReflogEntry(int(when), what))
    return found


def heads(repo: Repository, names: Iterable[str]) -> set[str]:
    """Those of these names that a branch has."""
    asked = [HEADS + name for name in names]
    out = in_repo(repo, "for-each-ref", "--format=%(refname)", *asked).out if asked else ""
    return {name for line in out.split("\n") if line in asked and (name := short_name(line))}


def likenesses(repo: Repository, oids: Iterable[str]) -> list[tuple[str, str, str]]:
    """Of each commit its author and author's time, its tree, and its subject."""
    orders = "".join(f"{oid}\n" for oid in oids)
    words = ("log", "--no-walk=unsorted", "--stdin", "--no-show-signature", "--format=%at %ae %an%x00%T%x00%s")
    told = in_repo(repo, *words, stdin=orders, check=False).out.split("\n")[:-1]
    return [(who, tree, subject) for who, tree, subject in (line.split("\0") for line in told)]


def commit_summary(repo: Repository, oid: str) -> CommitSummary | None:
    """A commit for a person, by its full name; None if it is gone, or no commit."""
    if not is_oid(oid):
        return None
    words = (
        "log",
        "--no-walk",
        "--no-show-signature",
        "--encoding=UTF-8",
        "--format=%H%x00%s%x00%an%x00%at",
        "--end-of-options",
        oid,
        "--",
    )
    facts = in_repo(repo, *words, check=False).out.rstrip("\n").split("\0")
    if len(facts) != 4:
        return None
    name, subject, author, when = facts
    return CommitSummary(name, subject, author, int(when))
