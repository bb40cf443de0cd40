"""What is reviewed: a commit, or the one that git is about to make, and its difference from what was there before."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

from git_agent_runner.context import Context
from git_agent_runner.core import atomic
from git_agent_runner.core.errors import UserError
from git_agent_runner.core.secrets import redacted
from git_agent_runner.git import Result, refs, run

# The work of nobody: this commit is only ever seen by a reviewer.
_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "git-agent review"), ("EMAIL", "review@git-agent.invalid"), ("DATE", "@0 +0000"))
}
_FORM = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "-M", "--src-prefix=a/", "--dst-prefix=b/", "-p"),
    # Else a tracked setting hides a submodule, and the length of names depends on the clone.
    *("--ignore-submodules=none", "--full-index"),
)
_HEAD = re.compile(r"^diff --git ", re.MULTILINE)
_NONE = "0" * 40
_FOLDERS = 500  # that many names fit into a command line
_NO_OID = re.compile(r"0+")
_NO_BRANCH = ("refs/tags/", "refs/notes/", "refs/agent/")


class Change(NamedTuple):
    """From one commit or tree to another. `parents` are those that the new one has, or will have; `commit` is the new
    one, where it is a commit.
    """

    base: str
    new: str
    parents: tuple[str, ...]
    what: str
    commit: str | None = None


class Shown(NamedTuple):
    """What a reviewer is shown: the patch as text, the files in it, and those left out, each with the reason.

    `hidden` are names that are not in the reviewer's work tree either; `unseen` are checksums of the patches that had
    no room, whose files can be read there.
    """

    patch: str
    files: int
    left_out: tuple[str, ...]
    hidden: tuple[str, ...]
    unseen: tuple[str, ...] = ()


def staged(ctx: Context) -> Change:
    """Of the index that git commits from, which for `commit -a` and `commit PATH` is one of their own."""
    head = ctx.repo.head
    merging = _merged(ctx) if head else ()
    return Change(head or _empty_tree(ctx), _written(ctx), (*((head,) if head else ()), *merging), "the staged change")


def of_commit(ctx: Context, revision: str) -> Change:
    """Of a commit, from its first parent."""
    commit = commit_of(ctx, revision)
    parents = _git(ctx, "rev-parse", f"{commit}^@").out.split()
    return Change(parents[0] if parents else _empty_tree(ctx), commit, tuple(parents), f"commit {commit[:12]}", commit)


def of_range(ctx: Context, text: str) -> Change:
    """Of `A..B`: what B has that A has not."""
    old, dots, new = text.partition("..")
    if not dots or new.startswith("."):
        raise UserError(f"{text!a} is not a range", code="unknown_revision", hints=("a range is A..B",))
    return between(ctx, commit_of(ctx, old or "HEAD"), commit_of(ctx, new or "HEAD"))


def by_pre_commit(ctx: Context) -> list[Change] | None:
    """Of what pre-commit was given: a push, or `--from-ref` and `--to-ref`. None where it was given neither."""
    names = ("LOCAL_BRANCH", "REMOTE_BRANCH", "FROM_REF", "TO_REF", "REMOTE_NAME", "CHECKOUT_TYPE")
    local, remote, old, new, name, checkout = (ctx.environ.get(f"PRE_COMMIT_{one}") for one in names)
    if checkout is not None:
        return []
    if local and remote:  # of a branch that is new there it tells no commits
        tip = commit_of(ctx, new or local)
        return pushed(ctx, [f"{local} {tip} {remote} {commit_of(ctx, old) if old else _NONE}"], name)
    return [between(ctx, commit_of(ctx, old), commit_of(ctx, new))] if old and new else None


def between(ctx: Context, old: str, new: str) -> Change:
    base = _git(ctx, "merge-base", old, new, check=False).out.split("\n")[0] or _empty_tree(ctx)
    return Change(base, new, (base,), f"{old[:12]}..{new[:12]}", new)


def pushed(ctx: Context, lines: Iterable[str], remote: str | None) -> list[Change]:
    """Of each branch in what git gives a pre-push hook. Deletions, tags and notes are nothing to review."""
    found = []
    for line in lines:
        words = line.rsplit(" ", 3)  # a name may have blanks of its own
        if len(words) != 4:
            raise UserError(f"git's line about the push cannot be read: {line!a}", code="push_unreadable")
        if _NO_OID.fullmatch(words[1]) or words[2].startswith(_NO_BRANCH):
            continue
        new, old = words[1], words[3]
        known = not _NO_OID.fullmatch(old) and refs.commit_of(ctx.repo, old)
        found.append(between(ctx, old, new) if known else _unpushed(ctx, new, remote))
    return found


def _unpushed(ctx: Context, new: str, remote: str | None) -> Change:
    """Of a branch that the remote has not: since what it has of any."""
    had = f"--remotes={remote}" if remote else "--remotes"
    own = _git(ctx, "rev-list", "--first-parent", new, "--not", had, "--").out.split()
    if not own:
        return Change(new, new, (), f"..{new[:12]}", new)
    parent = refs.commit_of(ctx.repo, f"{own[-1]}^")
    return Change(parent or _empty_tree(ctx), new, (), f"{(parent or '')[:12]}..{new[:12]}", new)


def shown(ctx: Context, change: Change, exclude: tuple[str, ...], limit: int) -> Shown:
    """The patch, at most `limit` bytes, whole files only."""
    every = _files(_diff(ctx, change, ()))
    unwanted = _unwanted(ctx, change.base, [unquoted(name) for name, _ in every])
    without = [
        *(f":(exclude,top,glob){glob}" for glob in exclude),
        *(f":(exclude,top,literal){one}" for one in unwanted),
    ]
    whole = _files(_diff(ctx, change, (":(top)", *without))) if without else every
    left_out = [f"{name}: excluded" for name in sorted({name for name, _ in every} - {name for name, _ in whole})]
    hidden = [line.rpartition(": ")[0] for line in left_out]
    unseen = []
    taken: list[str] = []
    room = limit
    for name, text in whole:
        clean = redacted(text)
        if clean != text:
            left_out.append(f"{name}: what looks like a secret is left out")
            hidden.append(name)
        size = len(clean.encode("utf-8", "replace"))
        if size > room:
            left_out.append(f"{name}: {size} bytes, over --max-diff")
            unseen.append(sha256(clean.encode("utf-8", "surrogateescape")).hexdigest())
            continue
        room -= size
        taken.append(clean)
    return Shown("".join(taken), len(taken), tuple(left_out), tuple(hidden), tuple(unseen))


def _unwanted(ctx: Context, base: str, names: list[str]) -> list[str]:
    """Those with the attribute `git-agent=-review`, as it was before the change: no change hides itself."""
    folders = {name[: place + 1] for name in names for place, char in enumerate(name) if char == "/"}
    places = [f"{folder}.gitattributes" for folder in ("", *folders)]
    if len(places) < _FOLDERS and not _git(ctx, "ls-tree", "-z", base, "--", *places).out:
        return []
    with _scratch_index(ctx) as index:
        _git(ctx, "read-tree", base, index=index)
        words = ("check-attr", "--cached", "-z", "--stdin", "git-agent")
        told = _git(ctx, *words, index=index, stdin="".join(f"{name}\0" for name in names)).out.split("\0")
    return [name for name, value in zip(told[::3], told[2::3], strict=False) if value == "-review"]


def _files(patch: str) -> list[tuple[str, str]]:
    """Name as git quotes it, and text, of each file in a patch."""
    starts = [found.start() for found in _HEAD.finditer(patch)]
    ends = [*starts[1:], len(patch)]
    pieces = [patch[start:end] for start, end in zip(starts, ends, strict=False)]
    return [(_name(piece), piece) for piece in pieces]


def _name(piece: str) -> str:
    """The new name, or the old one of a file that is gone."""
    head = piece.partition("\n@@")[0].split("\n")
    for start in ("+++ ", "--- ", "rename to ", "copy to "):
        for line in head:
            if line.startswith(start) and line != f"{start}/dev/null":
                name = line.removeprefix(start).removesuffix("\t")
                return re.sub(r'^("?)[ab]/', r"\1", name) if start in {"+++ ", "--- "} else name
    words = head[0].removeprefix("diff --git ")  # twice the same: only its mode has changed, or it is empty
    return re.sub(r'^("?)b/', r"\1", words[len(words) // 2 + 1 :])


def unquoted(name: str) -> str:
    """A path as git prints it within quotes, in Python's form."""
    if not name.startswith('"'):
        return name
    escaped = name[1:-1].encode("utf-8", "surrogateescape").decode("latin-1")
    return os.fsdecode(escaped.encode("latin-1").decode("unicode_escape").encode("latin-1"))


def _diff(ctx: Context, change: Change, paths: tuple[str, ...]) -> str:
    with _scratch_index(ctx) as index:  # attributes as they were before the change: none hides its own text
        _git(ctx, "read-tree", change.base, index=index)
        words = ("-c", "core.quotePath=true", "diff-tree", "-r", *_FORM, change.base, change.new, "--", *paths)
        return _git(ctx, *words, index=index).out


def commit_to_see(ctx: Context, change: Change) -> str:
    """The commit that a reviewer is on: a tree gets one that no ref names."""
    if refs.commit_of(ctx.repo, change.new):
        return change.new
    parents = tuple(word for parent in change.parents for word in ("-p", parent))
    words = ("commit-tree", *parents, "-m", "The change under review", change.new)
    return run(words, git_dir=ctx.repo.git_dir, cwd=ctx.repo.common_dir, env=_NOBODY).out.strip()


def _written(ctx: Context) -> str:
    """The tree of the index, by way of a copy: git's own, and its lock, are not touched."""
    source = index_file(ctx.repo.git_dir, ctx.environ, ctx.repo.top)
    with _scratch_index(ctx) as copy:
        if os.path.isfile(source):
            with open(source, "rb") as old, open(copy, "wb") as new:
                new.write(old.read())
        return _git(ctx, "write-tree", index=copy).out.strip()


@contextmanager
def _scratch_index(ctx: Context) -> Iterator[str]:
    """The path of an index that is nobody's."""
    atomic.make_dir(f"{ctx.layout.root}/reviews")
    path = f"{ctx.layout.root}/reviews/index-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        yield path
    finally:
        for name in (path, f"{path}.lock"):
            if os.path.lexists(name):
                os.unlink(name)


def index_file(git_dir: str, environ: Mapping[str, str], top: str) -> str:
    """The index that git commits from. In a hook its name is relative to the work tree's root."""
    return os.path.join(top, environ.get("GIT_INDEX_FILE") or f"{git_dir}/index")


def _merged(ctx: Context) -> tuple[str, ...]:
    path = f"{ctx.repo.git_dir}/MERGE_HEAD"
    if not os.path.isfile(path):
        return ()
    with open(path, encoding="ascii", errors="replace") as file:
        return tuple(word for word in file.read(1 << 16).split() if refs.is_oid(word))


def commit_of(ctx: Context, revision: str) -> str:
    """Raises UserError `unknown_revision`."""
    commit = refs.commit_of(ctx.repo, revision)
    if commit is None:
        raise UserError(f"{revision!a} is not a commit", code="unknown_revision")
    return commit


def _empty_tree(ctx: Context) -> str:
    return _git(ctx, "hash-object", "-w", "-t", "tree", "--stdin").out.strip()


def _git(ctx: Context, *words: str, check: bool = True, index: str | None = None, stdin: str | None = None) -> Result:
    env = {"GIT_INDEX_FILE": index} if index else {}
    return run(words, git_dir=ctx.repo.git_dir, cwd=ctx.repo.common_dir, check=check, stdin=stdin, env=env)
