"""All sequences of at most four operations on two branch names, against an oracle that knows branches by identity.

Faults A15, A16. Names, commits and reflogs are git's, the clock is ours: each operation has a second of its own. The
oracle is held to planted faults. A branch is switched to where an operation needs that. Not walked, since they ask
nothing new: a first branch called `b` rather than `a`, a commit as the last operation, sequences without a run. Two
beginnings that take three or four operations are continued for two more.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from git_agent_runner import git
from git_agent_runner.core.errors import UserError
from git_agent_runner.find import identity
from git_agent_runner.find import resolve as resolve_module
from git_agent_runner.find.identity import Identities, Life, Span
from git_agent_runner.find.search import Resolved, Search
from git_agent_runner.git import settings
from git_agent_runner.git.refs import ReflogEntry
from git_agent_runner.store.files.layout import Layout
from git_agent_runner.store.records.index import Index
from git_agent_runner.store.records.listing import listing
from support.branching import Op, Oracle, git_words
from support.gitrepo import EPOCH, GitRepo, dates, make
from support.runs import leave

NAMES = ("a", "b")
LENGTH = 4
PARTS = 4  # for as many workers
STEP = 1000  # seconds between two operations
BEGINNINGS = (
    (),
    (Op("new", "a"), Op("start", "a"), Op("new", "b"), Op("start", "b")),
    (Op("new", "a"), Op("start", "a"), Op("new", "b"), Op("delete", "a")),
)


class Node(NamedTuple):
    repo: GitRepo
    oracle: Oracle
    done: tuple[Op, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.done))


def grown(node: Node, op: Op, path: Path) -> Node:
    """The repository after one more operation, in a copy."""
    shutil.copytree(node.repo.path, path, symlinks=True)
    repo, oracle = GitRepo(path), node.oracle.fork()
    when = EPOCH + STEP * (len(node.done) + 1)
    if where := oracle.switched(op):
        repo.git(*git_words(Op("switch", where), oracle), env=dates(when - 1))
        oracle.head = where
    handle = f"{len(node.done):08x}"
    if op.verb == "start":
        began, ended = (datetime.fromtimestamp(when + seconds, UTC) for seconds in (0, 5))
        run_id = f"{began:%Y%m%dT%H%M%SZ}-codex-{handle}"
        leave(
            repo,
            handle,
            run_id=run_id,
            run_directory=f"agent/runs/{run_id}",
            created_at=f"{began:%Y-%m-%dT%H:%M:%S}.000Z",
            updated_at=f"{ended:%Y-%m-%dT%H:%M:%S}.000Z",
        )
    else:
        repo.git(*git_words(op, oracle), env=dates(when))
    oracle.apply(op, handle)
    return Node(repo, oracle, (*node.done, op))


def worth(node: Node, op: Op, length: int) -> bool:
    last = len(node.done) == length - 1
    if not node.done:
        return op.verb in ("new", "origin") and op.name == "a"
    return not last or (op.verb != "commit" and any(one.verb == "start" for one in (*node.done, op)))


def walk(node: Node, room: Path, length: int, part: int | None) -> Iterator[Node]:
    """Every sequence that begins with this one, depth first; a repository lives while those after it are visited.

    Of what begins with two operations from nothing a `part` of PARTS is continued; None: all.
    """
    for number, op in enumerate(node.oracle.possible(NAMES)):
        if not worth(node, op, length) or (part is not None and len(node.done) == 1 and number % PARTS != part):
            continue
        path = room / f"{len(node.done)}-{number}"
        after = grown(node, op, path)
        if any(one.verb == "start" for one in after.done):
            yield after
        if len(after.done) < length:
            yield from walk(after, room, length, part)
        shutil.rmtree(path)


def walks(root: Node, room: Path, part: int) -> Iterator[Node]:
    for number, beginning in enumerate(BEGINNINGS):
        if not beginning:
            yield from walk(root, room, LENGTH, part)
        elif number == part:
            yield from walk(after_all(root, beginning, room), room, len(beginning) + 2, None)


def after_all(node: Node, ops: tuple[Op, ...], room: Path) -> Node:
    for op in ops:
        node = grown(node, op, room / f"beginning-{len(node.done)}")
    return node


@contextmanager
def asked_once(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing changes while we ask: the same question to git is asked once."""
    spawn = git._spawn
    known: dict[Any, git.Result] = {}

    def answer(words: Any, cwd: Any, stdin: Any, environ: Any) -> git.Result:
        key = (tuple(words), cwd, stdin)
        if key not in known:
            known[key] = spawn(words, cwd, stdin, environ)
        return known[key]

    with patch.context() as inner:
        inner.setattr(git, "_spawn", answer)
        yield


def wrong(node: Node) -> list[str]:
    """What the program answers otherwise than the oracle: for each branch, and for each run by its handle."""
    facts, oracle = node.repo.facts(), node.oracle
    config, now = settings.read(facts), EPOCH + 100.0 * STEP
    index = Index(Layout(facts.common_dir))
    found = []
    got: str | None
    for name in oracle.ids:
        try:
            run = resolve_module.resolve(facts, config, index, now, branch=name)
            got = run.handle
            if run.record and run.record.branch != name:  # a resume would refuse to go on here
                found.append(f"{node}: {name} has {got}, as a run of {run.record.branch}")
        except UserError as error:
            got = None if error.code == "no_run" else error.message
        if got not in oracle.right(name):
            found.append(f"{node}: {name} has {got}, not {oracle.right(name)}")
    rows = listing(index.layout, now).rows
    identities = Identities(facts, config, now, {row.handle: row for row in rows}.get)
    listed = {row.handle: row.branch for row in identities.current(rows)}
    for row in rows:
        owners = {oracle.owner(row.handle)} if oracle.owner(row.handle) else {None, *oracle.heirs(row.handle)}
        got = identities.owner(row)
        if got not in owners or (got and listed[row.handle] != got):
            found.append(f"{node}: {row.handle} is of {got}, listed as {listed[row.handle]}, not of {owners}")
    return found


lived, had = identity.lived, identity._had


def from_any_remote(first: ReflogEntry, name: str, remotes: tuple[str, ...]) -> tuple[float, bool]:
    return (-inf if "origin/" in first.what else first.when), True


def renamed_is_a_name(name: str, entries: list[ReflogEntry], *rest: Any) -> Life:
    """As if a branch had had its present name from its birth on."""
    life = lived(name, entries, *rest)
    return life._replace(spans=(*life.spans, Span(name, life.spans[0].since)))


def renamed_is_forgotten(*words: Any) -> Life:
    """Only the run that the pointer names follows a rename."""
    life = lived(*words)
    return life._replace(spans=life.spans[-1:], source=(*life.source, *life.spans))


def copied_is_renamed(name: str, entries: list[ReflogEntry], *rest: Any) -> Life:
    return lived(name, [entry._replace(what=entry.what.replace(" copied ", " renamed ")) for entry in entries], *rest)


def no_birth(*words: Any) -> Life:
    return Life((Span(words[0], -inf),))


def last_pointer(search: Search) -> Resolved | None:
    handles = search.identities.pointers.get(search.branch or "", ())
    record = search.record(handles[-1]) if handles else None
    return Resolved(record.handle, record, None, "") if record else None


def held_is_had(run: Any, life: Life, spans: tuple[Span, ...], *, held: bool) -> bool:
    return held or had(run, life, spans, held=held)


A, B = "a", "b"
# What is planted, and a sequence that it is wrong after.
FAULTS: dict[str, tuple[tuple[Any, str, Callable[..., Any]], tuple[Op, ...]]] = {
    "made from a remote branch is as old as that": (
        (identity, "_beginning", from_any_remote),
        (Op("new", A), Op("start", A), Op("delete", A), Op("origin", A)),
    ),
    "a rename takes the dead name's runs": (
        (identity, "lived", renamed_is_a_name),
        (Op("new", A), Op("copy", A, B), Op("start", A), Op("rename", B, A)),
    ),
    "a rename leaves older runs behind": (
        (identity, "lived", renamed_is_forgotten),
        (Op("new", A), Op("start", A), Op("rename", A, B), Op("copy", B, A)),
    ),
    "a copy is taken for the branch": (
        (identity, "lived", copied_is_renamed),
        (Op("new", A), Op("rename", A, B), Op("start", B), Op("copy", B, A)),
    ),
    "a branch has no age": (
        (identity, "lived", no_birth),
        (Op("new", A), Op("rename", A, B), Op("start", B), Op("rename", B, A)),
    ),
    "the last pointer of a section wins": (
        (resolve_module, "_by_pointer", last_pointer),
        (Op("new", A), Op("rename", A, B), Op("start", B), Op("copy", B, A)),
    ),
    "a pointer always counts": (
        (identity, "_had", held_is_had),
        (Op("new", A), Op("rename", A, B), Op("start", B), Op("copy", B, A)),
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Node:
    """A repository with a commit on `main`, and what a clone knows of its remote."""
    repo = make(tmp_path / "root")
    repo.commit("c1")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("config", "remote.origin.url", str(tmp_path / "nowhere"))
    repo.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    return Node(repo, Oracle(), ())


# Each run draws one of two halves, of every second part.
@pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.one_of(f"{part % 2}")) for part in range(PARTS)])
def test_every_branch_has_its_own_run_and_every_run_its_own_branch(
    root: Node, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 0
    for node in walks(root, tmp_path, part):
        with asked_once(monkeypatch):
            assert wrong(node) == []
        seen += 1
    assert seen > 20


# Beyond four operations: a branch is moved onto one that bears a name of its past, and that has a pointer.
LONGER = (
    (Op("new", A), Op("rename", A, B), Op("new", A), Op("start", A), Op("rename", B, A)),
    (Op("new", A), Op("start", A), Op("rename", A, B), Op("new", A), Op("start", A), Op("rename", B, A)),
    (Op("new", A), Op("start", A), Op("copy", A, B), Op("start", B), Op("copy", B, A)),
    (Op("new", A), Op("start", A), *(Op("copy", A, B), Op("start", B), Op("copy", B, A)), Op("delete", B)),
    (Op("new", B), *(Op("start", B), Op("copy", B, A)) * 2, Op("delete", B)),
    # A copy with a run of its own, moved onto its original, which by then has another name and a newer run.
    (
        *(Op("new", "c"), Op("copy", "c", A), Op("start", A), Op("start", "c")),
        *(Op("rename", "c", B), Op("rename", A, B)),
    ),
)


@pytest.mark.parametrize("ops", LONGER, ids=lambda ops: ", ".join(map(str, ops)))
def test_a_pointer_of_a_branch_that_was_overwritten_is_no_claim(
    root: Node, ops: tuple[Op, ...], tmp_path: Path
) -> None:
    """Faults A15, A16: a resume on the branch went on with the run of the one that it was moved onto."""
    assert wrong(after_all(root, ops, tmp_path)) == []


def test_a_branch_that_is_back_under_its_first_name_goes_on_with_what_it_did_under_another(
    root: Node, tmp_path: Path
) -> None:
    """The pointer's run was taken for the copy's, and refused (a walk of `make chaos` found it)."""
    ops = (
        Op("new", B),
        Op("rename", B, "c"),
        Op("start", "c"),
        Op("copy", "c", A),
        Op("origin", B),
        Op("rename", "c", B),
    )
    assert wrong(after_all(root, ops, tmp_path)) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracle_notices(root: Node, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted, ops = FAULTS[fault]
    node = after_all(root, ops, tmp_path)
    assert wrong(node) == []
    monkeypatch.setattr(*planted)
    assert wrong(node)
