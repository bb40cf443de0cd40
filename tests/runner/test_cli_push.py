"""`git agent push` and `fetch`: two clones, and what lies between them: a bare repository, and real git."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from git_agent_runner.store import notes
from git_agent_runner.store.notes import joining
from support.chaos import KILL, KNOWN, waiting
from support.cli import Cli
from support.gitrepo import GitRepo, make
from support.noted import line, noted, raw
from support.runs import leave

A, B, C = "aaaaaaaa", "bbbbbbbb", "cccccccc"
LOOK = "push -n"
EARLY, LATE = "2026-11-27T10:00:00.000Z", "2026-11-27T11:00:00.000Z"


@pytest.fixture
def two(cli: Cli, tmp_path: Path) -> tuple[Cli, Cli]:
    """Two clones of one remote, `origin`."""
    bare = make(tmp_path / "bare", "--bare")
    cli.repo.git("remote", "add", "origin", str(bare.path))
    cli.repo.git("push", "-q", "origin", "main")
    return cli, Cli(GitRepo(bare.path).clone(tmp_path / "clone"), cli.home)


def shared(cli: Cli, word: str) -> tuple[int, int]:
    """(fetched, pushed), or (to push, to fetch)."""
    done = cli.ok(*word.split(), "--json").json
    return (done["toPush"], done["toFetch"]) if word == LOOK else (done["fetched"], done["pushed"])


def test_a_run_goes_to_another_clone(two: tuple[Cli, Cli]) -> None:
    one, other = two
    begun = one.begin("codex")
    assert (shared(one, LOOK), shared(other, LOOK)) == ((1, 0), (0, 0))
    assert one.ok("push").out == "fetched 0 runs from origin, pushed 1 run\n"
    assert (shared(one, LOOK), shared(other, LOOK)) == ((0, 0), (0, 1))
    assert other.noted() == [], "it changes nothing here"
    done = other.ok("fetch")
    assert done.out == "fetched 1 run from origin, pushed 0 runs\n"
    way = f"if codex has its session here: git agent adopt {begun.handle}"
    assert done.lines[-1] == f"hint: run {begun.handle} belongs to branch 'main'; {way}"
    listed = other.ok("list")  # faults B8
    assert listed.out.splitlines()[1].split()[:4] == [begun.handle, "codex", "main", "noted"]
    assert listed.lines == ["hint: `noted` runs are known only from notes; to adopt one: git agent adopt HANDLE"]
    assert other.noted() == [begun.handle]
    assert other.repo.git("config", "--get-all", "notes.rewriteRef") == notes.REF
    assert shared(other, "fetch") == shared(other, "push") == (0, 0)
    assert other.run("resume", "x").lines[0].startswith(f"fatal: run {begun.handle} is known only from its note")


def test_a_run_whose_git_agent_was_killed_is_noted_before_notes_are_pushed(two: tuple[Cli, Cli]) -> None:
    """Another clone would take the branch's older run for its newest (a walk of `make chaos` found it)."""
    one, other = two
    older = one.begin("codex")
    one.run("start", "-e", "codex", "work", FAKE_CMD=f"{waiting(KNOWN)}; {KILL}")
    (killed,) = {row["handle"] for row in one.ok("list", "--json").json["runs"]} - {older.handle}
    done = one.ok("push")
    assert f"git-agent could not settle attempt 1 of run {killed}" in done.err
    assert done.out == "fetched 0 runs from origin, pushed 2 runs\n"
    other.ok("fetch")
    refused = other.run("resume", "x")
    assert f"fatal: run {killed} is known only from its note" in refused.err


def test_both_sides_keep_all(two: tuple[Cli, Cli]) -> None:
    one, other = two
    leave(one.repo, A, "note")
    leave(other.repo, B, "note")
    assert shared(one, "push") == (0, 1)
    assert shared(other, "push") == (1, 1)
    assert shared(one, "push") == (1, 0)
    assert raw(one.repo) == raw(other.repo)
    assert sorted(one.noted()) == [A, B]
    tips = {cli.repo.git("rev-parse", notes.REF) for cli in two}
    assert len(tips) == 1, "nobody goes on joining what is the same"
    assert one.repo.git("log", "--format=%p", "-1", notes.REF).count(" ") == 1, "both histories are in it"


def test_of_two_lines_of_one_run_the_newest_counts(two: tuple[Cli, Cli]) -> None:
    one, other = two
    leave(one.repo, A, "note", updated_at=LATE, host="late")
    leave(other.repo, A, "note", updated_at=EARLY, host="early")
    shared(one, "push")
    assert shared(other, "push") == (1, 0)
    shared(one, "fetch")
    assert '"late"' in raw(one.repo) == raw(other.repo)
    assert '"early"' not in raw(one.repo)


def test_what_is_not_ours_is_kept(two: tuple[Cli, Cli]) -> None:
    """A line that a person wrote, and a note on a commit that this clone does not have."""
    one, other = two
    noted(one.repo, "a thought\n")
    noted(other.repo, "another\n" + line(B) + "\n")
    other.repo.switch_new("side")
    other.repo.commit("unpushed")
    leave(other.repo, C, "note")
    shared(one, "push")
    shared(other, "push")
    assert shared(one, "fetch") == (2, 0)
    assert raw(one.repo).splitlines() == sorted(["a thought", "another", line(B)])
    assert sorted(one.noted()) == [B, C]


def test_trees_that_are_fanned_out(two: tuple[Cli, Cli]) -> None:
    """Git deepens the tree as notes become many; both forms meet here, and git reads what comes of it."""
    one, other = two
    commits = [one.repo.commit(f"c{number}") for number in range(300)]
    one.repo.git("push", "-q", "origin", "main")
    other.repo.git("pull", "-q")
    blob = one.repo.git("hash-object", "-w", "--stdin", stdin=line(A) + "\n")
    orders = "".join(f"N {blob} {commit}\n" for commit in commits)
    one.repo.git("fast-import", "--quiet", stdin=f"commit {notes.REF}\ncommitter x <x@x> 1 +0000\ndata 1\nm\n{orders}")
    noted(other.repo, line(B) + "\n", commits[7])
    assert "/" in one.repo.git("ls-tree", "-r", "--name-only", notes.REF).splitlines()[0]
    assert shared(one, "push") == (0, 300)
    assert shared(other, "push") == (300, 1)
    assert shared(one, "fetch") == (1, 0)
    assert len(one.repo.git("notes", "--ref=agent", "list").splitlines()) == 300
    assert sorted(raw(one.repo, commits[7]).splitlines()) == sorted([line(A), line(B)])
    noted(one.repo, "git still writes\n", commits[8])
    assert len(one.repo.git("notes", "--ref=agent", "list").splitlines()) == 300


def test_a_push_that_another_clone_was_faster_than(two: tuple[Cli, Cli], tmp_path: Path) -> None:
    """The remote changes between our look and our push; the hook of the remote does it, once."""
    one, other = two
    leave(one.repo, A, "note")
    leave(other.repo, B, "note")
    shared(one, "push")
    faster = one.repo.git("rev-parse", notes.REF)
    one.repo.git("push", "-q", "origin", f":{notes.REF}", f"{faster}:refs/keep/it")
    hook = tmp_path / "bare/hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nrm -f '{hook}'\nunset GIT_QUARANTINE_PATH\ngit update-ref {notes.REF} {faster}\n")
    hook.chmod(0o755)
    assert shared(other, "push") == (1, 1)
    assert not hook.exists()
    assert shared(one, "fetch") == (1, 0)


def test_a_remote_that_says_no(two: tuple[Cli, Cli], tmp_path: Path) -> None:
    one, _ = two
    leave(one.repo, A, "note")
    hook = tmp_path / "bare/hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no notes here >&2\nexit 1\n")
    hook.chmod(0o755)
    done = one.run("push", "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "git_failed")
    assert "remote: no notes here" in done.err  # faults B17: the server's own reason
    assert one.noted() == [A]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["fetch", "nope"], "fatal: there is no remote 'nope'", id="unknown"),
        pytest.param(["push", "--", "--force"], "fatal: there is no remote '--force'", id="a flag"),
        pytest.param(["fetch", "/tmp"], "fatal: there is no remote '/tmp'", id="a path"),
    ],
)
def test_remotes_that_are_none(two: tuple[Cli, Cli], words: list[str], said: str) -> None:
    done = two[0].run(*words)
    assert (done.status, done.lines) == (128, [said, "hint: remotes are: origin"])


@pytest.mark.parametrize("name", ["up stream", "a/b.lock", "x..y~1", "ünï"])
def test_remotes_with_odd_names(two: tuple[Cli, Cli], name: str) -> None:
    one, other = two
    leave(one.repo, A, "note")
    shared(one, "push")
    other.repo.git("config", f"remote.{name}.url", other.repo.git("config", "remote.origin.url"))
    done = other.ok("fetch", name, "--json").json
    counts = {"fetched": 1, "pushed": 0, "fetchedReviews": 0, "pushedReviews": 0}
    assert done == {"schema": 1, "remote": name, **counts, "conversations": []}


def test_without_a_remote(cli: Cli) -> None:
    assert cli.run("push").lines[0] == "fatal: this repository has no remote"


def test_a_remote_that_is_gone(two: tuple[Cli, Cli], tmp_path: Path) -> None:
    (tmp_path / "bare").rename(tmp_path / "moved")
    done = two[0].run("fetch", "--json")
    assert (done.status, done.json["error"]["code"]) == (128, "git_failed")


def test_a_hostile_remote(two: tuple[Cli, Cli]) -> None:
    """Large notes, other files and escapes come along; they are not read, not printed, and harm no run of ours."""
    one, other = two
    leave(one.repo, A, "note")
    other.repo.switch_new("side")
    other.repo.commit("theirs")
    noted(other.repo, "- {" + "x" * (2 << 20) + "\n", "HEAD~1")
    noted(other.repo, "\x1b[2J\n" + line(B, host="\x1b[2J") + "\n")
    tree = other.repo.git("ls-tree", notes.REF)
    junk = other.repo.git("hash-object", "-w", "--stdin", stdin="junk")
    made = other.repo.git("mktree", stdin=f"{tree}\n100644 blob {junk}\tevil.sh\n")
    other.repo.git("update-ref", notes.REF, other.repo.git("commit-tree", made, "-m", "x"))
    other.repo.git("push", "-q", "origin", notes.REF)
    for word in (LOOK, "fetch"):
        done = one.ok(*word.split())
        assert "\x1b" not in done.out + done.err
    assert sorted(one.noted()) == [A, B], "ours on that commit stands, theirs is too large"
    assert "evil.sh" not in one.repo.git("ls-tree", "-r", "--name-only", notes.REF)


def many(seed: int) -> str:
    chance = random.Random(seed)
    lines: list[str] = []
    for _ in range(chance.randrange(6)):
        changes: dict[str, Any] = {"updatedAt": chance.choice([EARLY, LATE]), "host": chance.choice("xyz")}
        lines.append(chance.choice([line(chance.choice([A, B, C]), **changes), "free text", ""]))
    return "".join(f"{one}\n" for one in lines)


@pytest.mark.parametrize("seed", range(40))
def test_the_union_is_one_whoever_joins(seed: int) -> None:
    x, y, z = (many(3 * seed + number) for number in range(3))
    assert joining.union(x, y) == joining.union(y, x)
    assert joining.union(joining.union(x, y), z) == joining.union(x, joining.union(y, z))
    once = joining.union(x, y)
    assert joining.union(once, x) == joining.union(once, once) == once
    handles = re.findall(r'"handle": "(\w+)"', once)
    assert sorted(handles) == sorted(set(re.findall(r'"handle": "(\w+)"', x + y)))


def test_a_sha256_repository(tmp_path: Path, isolated: Path) -> None:
    one = make(tmp_path / "one", "--object-format=sha256")
    one.commit("c")
    bare = make(tmp_path / "bare", "--bare", "--object-format=sha256")
    one.git("remote", "add", "origin", "../bare")
    leave(one, A, "note")
    cli = Cli(one, isolated)
    assert cli.ok("push").out == "fetched 0 runs from origin, pushed 1 run\n"
    assert bare.git("notes", "--ref=agent", "show", one.head())


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_a_remote_whose_notes_are_no_commit(two: tuple[Cli, Cli], kind: str) -> None:
    """Ours would become the same, and git refuse to write any note then."""
    one, other = two
    one.repo.git("tag", "-a", "-m", "x", "tagged")
    odd = {"blob": "HEAD:" + one.repo.git("ls-files").split()[0], "tree": "HEAD^{tree}", "tag": "tagged"}[kind]
    one.repo.git("push", "-q", "origin", f"{one.repo.git('rev-parse', odd).strip()}:{notes.REF}")
    for word in ("fetch", "push", LOOK):
        done = other.run(*word.split(), "--json")
        assert (done.status, done.json["error"]["code"]) == (128, "notes_odd"), done
        assert f" is a {kind}, not a commit" in done.lines[0]
    assert not other.repo.git("for-each-ref", "refs/notes")
    begun = other.begin("codex")
    assert other.noted() == [begun.handle]


def test_several_pushes_at_once(two: tuple[Cli, Cli]) -> None:
    """Faults C8: git fails where two fetch into one ref."""
    one, _ = two
    leave(one.repo, A, "note")
    at_once = [one.start("push", "--json") for _ in range(6)]
    ends = [(process.communicate(), process.returncode) for process in at_once]
    assert [status for _, status in ends] == [0] * 6, ends
    assert sum(json.loads(out)["pushed"] for (out, _), _ in ends) == 1


@pytest.mark.parametrize("word", [LOOK, "fetch", "push"])
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_note_whose_object_is_missing(two: tuple[Cli, Cli], word: str, side: str) -> None:
    """Faults C9: it is skipped, or git's own reason is given; the other notes are joined."""
    one, other = two
    leave(other.repo, B, "note")
    other.ok("push")
    one.repo.commit("c3", h="h\n")
    leave(one.repo, A, "note")
    if side == "theirs":
        one.ok("push")
        lose(other.repo, other.repo.git("rev-parse", f"{notes.REF}:{other.repo.head()}"))
        assert other.run(*word.split()).status in (0, 128)
        assert other.noted() == ([] if word == LOOK else [A])
        return
    lose(one.repo, one.repo.git("rev-parse", f"{notes.REF}:{one.repo.head()}"))
    done = one.run(*word.split())
    assert done.status == (128 if word == "push" else 0), done
    if word == "fetch":
        assert one.noted() == [B]


def lose(repo: GitRepo, blob: str) -> None:
    """Delete a loose object."""
    path = repo.path / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.unlink()


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59Z", "2999-01-01T00:00:00.000Z"])
def test_a_time_to_come_wins_no_join(two: tuple[Cli, Cli], when: str) -> None:
    """Faults C11: a forged line cannot push out the real one for ever, and doctor names it."""
    one, other = two
    noted(other.repo, line(A, updatedAt=when, host="forged") + "\n")
    other.ok("push")
    noted(one.repo, line(A, updatedAt=EARLY, host="real") + "\n")
    for word in ("push", "fetch"):
        one.ok(*word.split())
    other.ok("fetch")
    for cli in two:
        assert '"host": "real"' in raw(cli.repo)
        assert "forged" not in raw(cli.repo)
    noted(one.repo, line(A, updatedAt=when) + "\n")
    (problem,) = (row["problem"] for row in one.run("doctor", "--json").json["problems"] if "future" in row["problem"])
    assert f"run {A} is dated {when}" in problem
